// The committed documents are what the code generates today, and linters of the trade accept them.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { deviceDocument } from '../../scripts/asyncapi.ts';
import { textOf } from '../../scripts/generated-file.ts';
import { apiDocument, cabinetDocument } from '../../scripts/openapi.ts';
import { answerTypes } from '../../scripts/web-types.ts';
import { errorCodes } from '../../src/kernel/error-codes.ts';
import { operationNames, operations } from '../../src/kernel/operations.ts';
import { documentedOperations } from '../support/documented-operations.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const committed = (path: string) => readFileSync(`${root}${path}`, 'utf8');
const run = promisify(execFile);
const slow = { timeout: 120_000 };

interface Operation {
  tags: string[];
  operationId: string;
  callbacks?: Record<string, Record<string, { get: { parameters: { $ref: string }[]; responses: object } }>>;
  requestBody?: { content: Record<string, { example?: object; examples?: object; schema: { example?: object } }> };
  responses: Record<string, { content: Record<string, { examples?: Record<string, { value: { errorCode: number } }> }> }>;
}

describe('web/src/api/answers.ts', () => {
  it('is what openapi/cabinet.json says', slow, () => {
    expect(committed('web/src/api/answers.ts') === answerTypes(), 'stale: run npm run openapi').toBe(true);
  });
});

describe('openapi/v1.json', () => {
  it('is what the routes generate', slow, async () => {
    expect(committed('openapi/v1.json') === textOf(await apiDocument()), 'stale: run npm run openapi').toBe(true);
  });

  it('has the 15 endpoints of v1 and one for each operation, each under its mode, and keeps all else apart', () => {
    const { paths } = JSON.parse(committed('openapi/v1.json')) as { paths: Record<string, Record<string, Operation>> };
    const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
    );
    const modes = ['Terminal status', 'POS Mode', 'QR Mode', 'Fiscal Mode'];
    const v1 = endpoints.filter(({ tags }) => tags.some((tag) => modes.includes(tag)));
    const named = ({ method, path }: { method: string; path: string }) => `${method.toUpperCase()} ${path}`;
    const ofSpecification = [
      'GET /Device/Device/Status',
      'POST /Device/payment/Pay',
      'GET /Device/payment/LastTransaction',
      'POST /Device/payment/CloseDoc',
      'POST /Device/payment/closeDay',
      'POST /Device/payment/Refund',
      'POST /Device/payment/CancelTransaction',
      'POST /Invoice/Create',
      'GET /Invoice/Status',
      'GET /Invoice/Get',
      'GET /Invoice/Payd',
      'POST /Device/Money/In',
      'POST /Device/Money/Out',
      'POST /Device/Report/Create',
      'POST /Device/Invoice/Pay',
    ];
    expect(v1.map(named).sort()).toEqual([...new Set([...ofSpecification, ...documentedOperations().map(named)])].sort());
    expect(
      documentedOperations()
        .map(({ operation, method, tags }) => `${operation} ${method} ${tags.join()}`)
        .sort(),
    ).toEqual(operationNames.map((name) => `${name} post ${operations[name].mode} Mode`).sort());
    // One is ours, under a tag of its own [D64].
    const ours = endpoints.filter(({ path, tags }) => /^\/(device|invoice)\//i.test(path) && !modes.includes(tags[0] ?? ''));
    expect(ours.map(({ method, path, tags }) => `${method} ${path} ${tags.join()}`)).toEqual(['get /Device/Operation/Status Operations']);
    for (const { path, method, requestBody, responses } of v1) {
      const what = `${method} ${path}`;
      expect(responses['200']?.content['application/json']?.examples, what).toHaveProperty('Success');
      if (method === 'post') expect(JSON.stringify(requestBody), what).toContain('"example');
    }
  });

  it('declares each tag that it uses, and no two that a generator turns into nearly one name', () => {
    const { tags, paths } = JSON.parse(committed('openapi/v1.json')) as {
      tags: { name: string }[];
      paths: Record<string, Record<string, Operation>>;
    };
    const declared = tags.map(({ name }) => name);
    const used = Object.values(paths).flatMap((methods) => Object.values(methods).flatMap((operation) => operation.tags));
    expect([...new Set(used)].sort()).toEqual([...declared].sort());
    expect(new Set(declared.map((name) => name.toLowerCase().replace(/s$/, ''))).size).toBe(declared.length);
  });

  it('gives each enum its type: without one generators make no enum of it', () => {
    const untyped: string[] = [];
    const look = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      if ('enum' in value && !('type' in value)) untyped.push(path);
      for (const [key, item] of Object.entries(value)) if (key !== 'example' && key !== 'examples') look(item, `${path}/${key}`);
    };
    for (const document of ['openapi/v1.json', 'openapi/cabinet.json']) look(JSON.parse(committed(document)), document);
    expect(untyped).toEqual([]);
  });

  it('describes what pairing and pictures answer: an example of the request, 503 and 404', () => {
    const { paths } = JSON.parse(committed('openapi/v1.json')) as { paths: Record<string, Record<string, Operation>> };
    const { requestBody, responses } = paths['/pairing']?.['post'] ?? {};
    expect(requestBody?.content['application/json']).toHaveProperty('example.code');
    expect(Object.keys(responses?.['503']?.content['application/json']?.examples ?? {})).toEqual(['Internal_error', 'Too_Many_Requests']);
    for (const call of [paths['/pairing']?.['post'], paths['/qr/{file}']?.['get']])
      expect(Object.keys(call?.responses ?? {})).toEqual(expect.arrayContaining(['503', 'default']));
  });

  it('describes the 503 of the health addresses that can answer so', () => {
    const { paths } = JSON.parse(committed('openapi/v1.json')) as { paths: Record<string, Record<string, Operation>> };
    const errors = (path: string) => Object.keys(paths[path]?.['get']?.responses['503']?.content['application/json']?.examples ?? {});
    expect(errors('/health/live')).toEqual([]);
    expect(errors('/health/accepting')).toEqual(['Too_Many_Requests']);
    expect(errors('/health/ready')).toEqual(['Internal_error', 'Error_Connection_Database', 'Too_Many_Requests']);
  });

  it('writes everything once: small, with names, and none that nothing refers to', () => {
    const text = committed('openapi/v1.json');
    const { paths, components } = JSON.parse(text) as Record<'paths' | 'components', Record<string, Record<string, object>>>;
    expect(text.length / Object.keys(paths).length, 'characters for each path').toBeLessThan(7_500);
    const names = [
      'Failure',
      'ErrorCode',
      'Receipt',
      'FiscalReceipt',
      'Item',
      'Payment',
      'Invoice',
      'InvoiceStatus',
      'PayReport',
      'CashReport',
    ];
    expect(Object.keys(components['schemas'] ?? {})).toEqual(expect.arrayContaining(names));
    const all = Object.entries(components).flatMap(([kind, parts]) => Object.keys(parts).map((name) => `#/components/${kind}/${name}`));
    const unused = all.filter((name) => !name.includes('/securitySchemes/') && !text.includes(`"$ref": "${name}"`));
    expect(unused).toEqual([]);
  });

  it('tells of each call how long its device has, and of every status what it carries', () => {
    const { paths, info } = JSON.parse(committed('openapi/v1.json')) as {
      paths: Record<string, Record<string, Record<string, unknown>>>;
      info: { description: string };
    };
    const seconds = (path: string) => Object.values(paths[path] ?? {})[0]?.['x-device-timeout-s'];
    expect(seconds('/Device/Device/Status')).toBe(20);
    expect(seconds('/Device/payment/Pay')).toBe(300);
    expect(seconds('/Device/payment/LastTransaction')).toBe(30);
    for (const call of ['CloseDoc', 'closeDay', 'Refund', 'CancelTransaction']) expect(seconds(`/Device/payment/${call}`)).toBe(60);
    for (const call of ['Money/In', 'Money/Out', 'Report/Create']) expect(seconds(`/Device/${call}`)).toBe(20);
    expect(paths['/Device/Invoice/Pay']?.['post']).toMatchObject({ 'x-device-timeout-s': 300, 'x-device-timeout-without-card-s': 60 });
    for (const status of [401, 403, 404, 405, 429, 503]) expect(info.description).toMatch(new RegExp(`^\\| ${status} \\|`, 'm'));
    expect(Object.keys(paths['/Device/payment/Pay']?.['post']?.['responses'] as object)).toEqual(['200', '400', '429', '503', 'default']);
  });

  it('has an example of every error', () => {
    const { components } = JSON.parse(committed('openapi/v1.json')) as { components: { examples: Record<string, { value: object }> } };
    for (const [name, { code }] of Object.entries(errorCodes))
      if (code !== 0) expect(components.examples[name]?.value, name).toMatchObject({ errorCode: code });
  });

  it('describes the callbacks of Create and of every operation of a register', () => {
    const { paths, components } = JSON.parse(committed('openapi/v1.json')) as {
      paths: Record<string, Record<string, Operation>>;
      components: { parameters: Record<string, { name: string }> };
    };
    const called = Object.entries(paths).flatMap(([path, methods]) =>
      Object.values(methods).flatMap(({ callbacks }) => (callbacks === undefined ? [] : [[path, callbacks] as const])),
    );
    const ofRegisters = documentedOperations().flatMap(({ path, tags }) => (tags.includes('Fiscal Mode') ? [path] : []));
    expect(called.map(([path]) => path).sort()).toEqual([...ofRegisters, '/Invoice/Create'].sort());
    for (const [path, callbacks] of called) {
      const [addresses = {}] = Object.values(callbacks);
      const { get } = addresses['{$request.body#/CallbackURI}'] ?? {};
      const names = get?.parameters.map(({ $ref }) => components.parameters[$ref.split('/').at(-1) ?? '']?.name);
      expect(names, path).toEqual(['webhook-id', 'webhook-timestamp', 'webhook-signature', 'tillgate-sequence']);
      expect(Object.keys(get?.responses ?? {}), path).toContain('2XX');
    }
  });

  it('leaves the cabinet to a document of its own', slow, async () => {
    expect(committed('openapi/cabinet.json') === textOf(await cabinetDocument()), 'stale: run npm run openapi').toBe(true);
    expect(await lint('openapi/cabinet.json')).toMatchObject({ totals: { errors: 0, warnings: 0 } });
  });

  it('passes the linter', slow, async () => {
    expect(await lint('openapi/v1.json')).toMatchObject({ totals: { errors: 0, warnings: 0 } });
  });
});

describe('asyncapi/v1.json', () => {
  it('is what the schemas generate', () => {
    expect(committed('asyncapi/v1.json') === textOf(deviceDocument()), 'stale: run npm run asyncapi').toBe(true);
  });

  it('passes the linter', slow, async () => {
    expect(await lint('asyncapi/v1.json')).toMatchObject({ totals: { errors: 0, warnings: 0 } });
  });
});

describe('the check', () => {
  it('compares all three generated files', slow, async () => {
    const check = run(process.execPath, ['scripts/asyncapi.ts', '--check'], { cwd: root });
    await expect(check).resolves.toMatchObject({ stderr: '' });
    const { scripts } = JSON.parse(committed('package.json')) as { scripts: Record<string, string> };
    for (const script of ['openapi:check', 'asyncapi:check', 'config-docs:check']) expect(scripts['generated:check']).toContain(script);
    expect(committed('scripts/check.ts')).toContain("'generated:check'");
  });
});

async function lint(path: string): Promise<object> {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { stdout } = await run(`${root}node_modules/.bin/redocly`, ['lint', path, '--format', 'json'], { cwd: root, env }).catch(
    (failure: { stdout: string }) => failure,
  );
  return JSON.parse(stdout) as object;
}
