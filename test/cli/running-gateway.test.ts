// Which gateway a command calls, and that the token of the operator goes to no address that a file in the current directory names.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runningGateway } from '../../src/cli/running-gateway.ts';
import { serveOnLoopback } from '../../src/playground/erp/loopback.ts';
import { patienceMs, runProgram, temporaryDirectory } from '../support/gateway-process.ts';

const operatorsToken = 'the-token-of-the-production-gateway-0123456789';
const sandboxToken = 'token-that-the-sandbox-made';

function directoryWith(file: object | string): string {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'sandbox.json'), typeof file === 'string' ? file : JSON.stringify(file));
  return directory;
}

const sandbox = { baseUrl: 'http://127.0.0.1:9/tillgate', adminToken: sandboxToken };
const usual = 'http://127.0.0.1:8080/tillgate';

it.each([
  ['the sandbox, with its own token', sandbox, {}, sandbox],
  ['the same, if that token is set', sandbox, { TILLGATE_ADMIN_TOKEN: sandboxToken }, sandbox],
  ['the configured gateway, if another token is set', sandbox, { TILLGATE_ADMIN_TOKEN: operatorsToken }, { baseUrl: usual }],
  ['the configured gateway, if the file names no token', { baseUrl: sandbox.baseUrl }, { TILLGATE_ADMIN_TOKEN: operatorsToken }, {}],
  ['the configured gateway, if the file is no object', 'null', { TILLGATE_ADMIN_TOKEN: operatorsToken }, {}],
  [
    'the public address',
    sandbox,
    { TILLGATE_ADMIN_TOKEN: operatorsToken, TILLGATE_PUBLIC_URL: 'https://pay.md/t/' },
    { baseUrl: 'https://pay.md/t' },
  ],
])('calls %s', (_which, file, settings, called) => {
  const expected = { baseUrl: usual, adminToken: operatorsToken, ...called };
  expect(runningGateway({ TILLGATE_DATA_DIR: directoryWith(file), ...settings })).toEqual(expected);
});

it('never sends the token of the environment to the address in sandbox.json', { timeout: 2 * patienceMs }, async () => {
  const heard: string[] = [];
  const stranger = await serveOnLoopback(
    createServer((request, response) => {
      heard.push(String(request.headers.authorization));
      response.end('{"errorCode":0,"merchants":[]}');
    }),
    0,
  );
  const settings = { TILLGATE_DATA_DIR: directoryWith({ ...sandbox, baseUrl: `http://127.0.0.1:${stranger.port}/tillgate` }) };
  await runProgram(['merchant', 'list'], { ...settings, TILLGATE_ADMIN_TOKEN: operatorsToken, TILLGATE_PORT: '9' });
  expect(heard).toEqual([]);
  expect(await runProgram(['merchant', 'list'], settings)).toMatchObject({ code: 0 });
  expect(heard).toEqual([`Bearer ${sandboxToken}`]);
  await stranger.stop();
});

it('never sends a pairing code to the address in sandbox.json', { timeout: 2 * patienceMs }, async () => {
  const heard: string[] = [];
  const stranger = await serveOnLoopback(
    createServer((request, response) => {
      request.on('data', (bytes: Buffer) => heard.push(bytes.toString()));
      response.end('{"errorCode":0,"pairingCode":"CCCC-DDDD"}');
    }),
    0,
  );
  const baseUrl = `http://127.0.0.1:${stranger.port}/tillgate`;
  const settings = { TILLGATE_DATA_DIR: directoryWith({ ...sandbox, baseUrl }), TILLGATE_PORT: '9' };
  const answer = await runProgram(['simulate', '--kind', 'terminal', '--pair', 'AAAA-BBBB'], settings);
  expect(heard).toEqual([]);
  expect(answer).toMatchObject({ code: 1, err: expect.stringContaining('No gateway answers at http://127.0.0.1:9/tillgate/pairing.') });
  await stranger.stop();
});

it.each([['merchant list'], ['doctor'], ['simulate --kind terminal --pair AAAA-BBBB']])(
  '%s repeats no login of --url',
  { timeout: 2 * patienceMs },
  async (line) => {
    const settings = { TILLGATE_DATA_DIR: temporaryDirectory(), TILLGATE_ADMIN_TOKEN: operatorsToken };
    for (const url of ['http://canary-user:canary-word@127.0.0.1:9/tillgate', 'http://canary-word@127.0.0.1:9']) {
      const { code, out, err } = await runProgram([...line.split(' '), '--url', url], settings);
      expect(code).toBe(2);
      expect(err).toContain('--url must be an address such as http://127.0.0.1:8080/tillgate, without a login.');
      expect(out + err).not.toContain('canary');
    }
  },
);
