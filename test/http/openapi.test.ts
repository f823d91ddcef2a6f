// The OpenAPI document. The page that shows it: test/browser/api-page.server.test.ts.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeApi } from '../../src/http/openapi.ts';
import { errorResponses } from '../../src/http/schemas.ts';
import { base, createSample, type Sample } from './sample-server.ts';

interface Operation {
  security: object[];
  parameters?: { name: string; in: string }[];
  requestBody?: { content: { 'application/json': { example?: object } } };
  responses: Record<
    string,
    { content: Record<string, { examples?: Record<string, { value: { errorCode: number; errorMessage: string } }> }> }
  >;
}
interface Document {
  components: Record<string, Record<string, object>>;
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
}

/** The document with all references resolved. */
function resolved<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(resolved) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const { $ref: reference } = value as { $ref?: string };
  if (reference === undefined) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item)])) as Value;
  const [, , kind = '', name = ''] = reference.split('/');
  return resolved(document.components[kind]?.[name]) as Value;
}

let sample: Sample;
let document: Document;
beforeAll(async () => {
  sample = createSample();
  document = (await describeApi(sample.server)) as Document;
});
afterAll(() => sample.server.stop(0));

describe('the document', () => {
  it('is OpenAPI 3.0.3 with paths relative to the base path', async () => {
    expect(document.openapi).toBe('3.0.3');
    expect(document.servers).toEqual([{ url: base }]);
    expect(Object.keys(document.paths)).toContain('/Device/sample/Pay');
    expect(Object.keys(document.paths).filter((path) => path.startsWith(base) || path.includes('docs'))).toEqual([]);
  });

  it('has an example of the request and of every outcome, under its HTTP status', () => {
    const pay = resolved(document.paths['/Device/sample/Pay']?.['post']);
    expect(pay?.requestBody?.content['application/json'].example).toHaveProperty('amount');
    const examples = Object.entries(pay?.responses ?? {}).map(([status, { content }]) => [
      status,
      Object.entries(content['application/json']?.examples ?? {}).map(([name, { value }]) => `${value.errorCode} ${name}`),
    ]);
    expect(Object.fromEntries(examples)).toEqual({
      200: [
        '0 Success',
        '10 Invalid_API_Key',
        '11 API_Key_Wrong_Product',
        '30 Device_Offline',
        '31 Device_Busy',
        '3 Timeout_or_no_response',
        '1 Internal_error',
        '2 Error_Connection_Database',
      ],
      400: ['40 Invalid_Request'],
      429: ['41 Too_Many_Requests'],
      503: [],
      default: [],
    });
    expect(pay?.parameters?.map(({ name, in: place }) => `${place} ${name}`)).toEqual(['header Idempotency-Key']);
    expect(Object.keys(document.paths['/cabinet/api/things']?.['post']?.responses ?? {})).toEqual(['200', '400', '401', '403', '429']);
    expect(Object.keys(errorResponses('Device_Offline', 'Invalid_Request'))).toEqual(['200', '400']);
  });

  it('has the security scheme of each call', () => {
    const security = (path: string, method: string) => document.paths[path]?.[method]?.security.map((way) => Object.keys(way).join());
    expect(security('/Device/sample/Pay', 'post')).toEqual(['keyInHeader', '']);
    expect(security('/Device/sample/Status', 'get')).toEqual(['keyInHeader', '']);
    expect(security('/Invoice/sample', 'get')).toEqual(['keyInHeader', '']);
    expect(security('/cabinet/api/things', 'post')).toEqual(['session', 'adminToken']);
    expect(security('/health/live', 'get')).toEqual([]);
  });

  it('passes the linter without a warning', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tillgate-openapi-'));
    try {
      await writeFile(join(folder, 'v1.json'), JSON.stringify(document));
      const redocly = new URL('../../node_modules/.bin/redocly', import.meta.url).pathname;
      const { stdout, stderr } = await promisify(execFile)(redocly, ['lint', 'v1.json', '--extends', 'recommended', '--format', 'json'], {
        cwd: folder,
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      });
      expect(JSON.parse(stdout || stderr)).toMatchObject({ totals: { errors: 0, warnings: 0 }, problems: [] });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
