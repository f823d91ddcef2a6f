// A running gateway serves the API document of the package, with its own address. Building the document from the routes takes a second of
// the main thread, in which payments wait, so no request builds it.
import { readFile } from 'node:fs/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { adminToken, base, createSample } from './sample-server.ts';

vi.mock('@fastify/swagger', () => {
  throw new Error('The document is being built.');
});

let sample: ReturnType<typeof createSample>;
afterEach(() => sample.server.stop(0));

type Document = Record<'servers' | 'tags', object[]> & { paths: object; components: Record<string, object> };
const packaged = async (name: string) => JSON.parse(await readFile(new URL(`../../openapi/${name}`, import.meta.url), 'utf8')) as Document;

async function get(path: string, host = 'localhost', options = {}): Promise<Document> {
  sample = createSample(options);
  const answer = await sample.server.app.inject({ url: `${base}${path}`, headers: { authorization: `Bearer ${adminToken}`, host } });
  expect(answer.statusCode).toBe(200);
  return answer.json<Document>();
}

it.each([
  ['/docs/openapi.json', 'v1.json'],
  ['/docs/cabinet.json', 'cabinet.json'],
])('%s is openapi/%s, at the address of this gateway', async (path, file) => {
  expect(await get(path)).toEqual({ ...(await packaged(file)), servers: [{ url: base }] });
});

it('/openapi.json has the calls and components of both files', async () => {
  const [erp, cabinet, whole] = [await packaged('v1.json'), await packaged('cabinet.json'), await get('/openapi.json')];
  expect(whole.servers).toEqual([{ url: `http://localhost${base}` }]);
  expect(whole.paths).toEqual({ ...erp.paths, ...cabinet.paths });
  expect(whole.tags).toEqual([...erp.tags, ...cabinet.tags]);
  expect(Object.keys(whole.components).sort()).toEqual(
    [...new Set([...Object.keys(erp.components), ...Object.keys(cabinet.components)])].sort(),
  );
  for (const [kind, parts] of Object.entries(whole.components))
    expect(parts).toEqual({ ...erp.components[kind], ...cabinet.components[kind] });
});

it('/openapi.json, which people store for generators, names the whole address: as it was called, or the public one', async () => {
  const servers = async (...of: Parameters<typeof get>) => (await get(...of)).servers;
  expect(await servers('/openapi.json', '127.0.0.1:8080')).toEqual([{ url: `http://127.0.0.1:8080${base}` }]);
  await sample.server.stop(0);
  expect(await servers('/openapi.json', 'a"b')).toEqual([{ url: base }]);
  await sample.server.stop(0);
  const publicUrl = 'https://pay.example/gate';
  expect(await servers('/openapi.json', 'inner:8080', { publicUrl })).toEqual([{ url: publicUrl }]);
});
