// The packages hold what they should, their examples do what they say against a sandbox, and both verify callbacks alike.
import { execFile, spawn } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signCallback } from '../../src/callbacks/signature.ts';
import { freePort } from '../support/free-port.ts';
import { patienceMs, type SandboxProcess, startSandboxProcess, temporaryDirectory } from '../support/gateway-process.ts';
import { createTill } from '../support/till.ts';
import { type Packed, packPython, packTypescript, python } from './packed.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const slowTest = { timeout: 3 * patienceMs };

let sandbox: SandboxProcess;
let typescript: Packed;
let inPython: Packed;
beforeAll(async () => {
  [typescript, inPython] = await Promise.all([packTypescript(), packPython()]);
  sandbox = await startSandboxProcess(temporaryDirectory(), { TILLGATE_CALLBACK_ALLOW: '127.0.0.0/8' });
}, 3 * patienceMs);
afterAll(() => sandbox?.kill9());

/** How an example is started: as a user would, with the package where he has it. */
function program(client: 'typescript' | 'python', name: string): { command: string; args: string[]; env: NodeJS.ProcessEnv } {
  const { PATH } = process.env;
  if (client === 'python') {
    const file = join(root, 'clients/python/examples', `${name}.py`);
    return { command: python, args: ['-B', file], env: { PATH, PYTHONPATH: inPython.place } };
  }
  const file = join(typescript.place, `${name}.ts`);
  copyFileSync(join(root, 'clients/typescript/examples', `${name}.ts`), file);
  return { command: process.execPath, args: [file], env: { PATH } };
}

const clients = ['typescript', 'python'] as const;

describe('the packages', () => {
  it('hold the built files, the types and nothing else', () => {
    const modules = ['callbacks', 'client', 'index', 'run', 'transport', 'types'];
    expect(typescript.files).toEqual(['README.md', ...modules.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]), 'package.json']);
    const own = inPython.files.filter((file) => file.startsWith('tillgate_client/'));
    expect(own.map((file) => file.replace('tillgate_client/', ''))).toEqual(
      ['__init__.py', 'callbacks.py', 'client.py', 'py.typed', 'run.py', 'transport.py', 'types.py'].sort(),
    );
  });

  it('have types that the examples compile against', slowTest, async () => {
    for (const name of ['sale', 'callbacks']) program('typescript', name);
    const options = [
      '--noEmit',
      '--strict',
      '--noUncheckedIndexedAccess',
      '--exactOptionalPropertyTypes',
      '--module',
      'nodenext',
      '--target',
      'es2022',
    ];
    const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types'), '--allowImportingTsExtensions'];
    await run(join(root, 'node_modules/.bin/tsc'), [...options, ...types, 'sale.ts', 'callbacks.ts'], { cwd: typescript.place });
  });

  it('depend on nothing, and have one version', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'clients/typescript/package.json'), 'utf8')) as Record<string, unknown>;
    expect(manifest).not.toHaveProperty('dependencies');
    const project = readFileSync(join(root, 'clients/python/pyproject.toml'), 'utf8');
    expect(project).toContain('dependencies = []');
    expect(project).toContain(`version = "${String(manifest['version'])}"`);
  });
});

describe.each(clients)('the examples in %s', (client) => {
  const sale = (index: number, settings: Record<string, string> = {}) => {
    const { command, args, env } = program(client, 'sale');
    const { baseUrl, apiKey, devices } = sandbox.file;
    const [TERMINAL = '', REGISTER = ''] = [devices[index]?.id, devices[4 + index]?.id];
    return run(command, args, { env: { ...env, TILLGATE_URL: baseUrl, TILLGATE_KEY: apiKey, TERMINAL, REGISTER, ...settings } });
  };

  it('sell: the money is taken, the document closed, the receipt printed', slowTest, async () => {
    const { stdout } = await sale(clients.indexOf(client));
    expect(stdout).toMatch(/^paid 70(\.0)?, rrn \d+\ndocument done\nreceipt \S+\n$/);
  });

  it('say so when a card is declined', slowTest, async () => {
    const declined = await sale(clients.indexOf(client), { AMOUNT: '20.61' }).catch((error: unknown) => error);
    expect(declined).toMatchObject({ code: 1, stdout: expect.stringMatching(/^not paid: refused, Refused_By_Device: /) });
  });

  it('take genuine callbacks once, and refuse others', slowTest, async () => {
    const PORT = String(await freePort());
    const publicAddress = `http://127.0.0.1:${PORT}`;
    const { command, args, env } = program(client, 'callbacks');
    const receiver = spawn(command, args, {
      env: { ...env, PORT, PUBLIC_ADDRESS: publicAddress, CALLBACK_SECRET: sandbox.file.callbackSecret },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    const says = (pattern: RegExp) =>
      new Promise<void>((resolve, reject) => {
        const look = () => void (pattern.test(output) && resolve());
        receiver.stdout.on('data', look);
        receiver.once('close', () => reject(new Error(`It ended after: ${output}`)));
        look();
      });
    receiver.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    try {
      await says(/listening/);
      const till = createTill(sandbox.file);
      const { QR, OID } = await till.post('/Invoice/Create', {
        CallbackURI: `${publicAddress}/erp?invoice=#OID#&state=#State#&note=a%20b`,
        Receipt: { Items: [{ Name: 'Tea', Quantity: 1, Price: 10 }] },
      });
      await till.get('/Invoice/Get', { QR: String(QR) });
      await says(new RegExp(`invoice ${String(OID)} is Scanned\n`));
      expect((await fetch(`${publicAddress}/erp?invoice=x&state=Payed`)).status).toBe(401);
      // Signed rightly, heard before, and by another secret.
      const url = `${publicAddress}/erp?invoice=again&state=Payed`;
      const send = async (secret: string) => {
        const atS = Math.floor(Date.now() / 1000);
        const headers = {
          'webhook-id': 'same',
          'webhook-timestamp': String(atS),
          'tillgate-sequence': '1',
          'webhook-signature': signCallback(secret, { id: 'same', timestampS: atS, sequence: 1, url }),
        };
        return (await fetch(url, { headers })).status;
      };
      expect(await send(sandbox.file.callbackSecret)).toBe(200);
      expect(await send(sandbox.file.callbackSecret)).toBe(200);
      expect(await send(`whsec_${Buffer.from('another secret of 32 bytes......').toString('base64')}`)).toBe(401);
      expect(output.match(/invoice again/g)).toHaveLength(1);
    } finally {
      receiver.kill('SIGKILL');
    }
  });
});
