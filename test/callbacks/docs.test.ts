// The receiver in docs/callbacks.md is run as it stands there and hears real callbacks.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../src/callbacks/address-guard.ts';
import { createSender } from '../../src/callbacks/sender.ts';
import { checkTemplate, expandTemplate } from '../../src/callbacks/template.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { freePort } from '../support/free-port.ts';
import { specifiedDelaysS } from './harness.ts';

const page = readFileSync(new URL('../../docs/callbacks.md', import.meta.url), 'utf8');
const example = /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
const template = /^ {4}(https:\/\/erp\.example\S+)$/m.exec(page)?.[1] ?? '';
const secret = `whsec_${Buffer.from('documentation secret of 32 bytes').toString('base64')}`;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** The example as a program of its own; `lines` is what it prints. */
async function runExample(): Promise<{ base: string; lines: string[] }> {
  const dir = mkdtempSync(join(tmpdir(), 'tillgate-docs-'));
  closing.push(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'receiver.mjs'), example);
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const env = { ...process.env, CALLBACK_SECRET: secret, PUBLIC_ADDRESS: base, PORT: String(port) };
  const receiver = spawn(process.execPath, [join(dir, 'receiver.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  closing.push(() => receiver.kill('SIGKILL'));
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    receiver.once('exit', (code) => reject(new Error(`The example ended with ${code}.`)));
    receiver.stdout.on('data', (chunk: Buffer) => {
      lines.push(...chunk.toString().trim().split('\n'));
      resolve();
    });
  });
  return { base, lines };
}

describe('docs/callbacks.md', () => {
  it('has an example that takes genuine callbacks once and refuses others', async () => {
    checkTemplate(template);
    const { base, lines } = await runExample();
    const guard = createAddressGuard({ clock: systemClock, allow: ['127.0.0.0/8'] });
    const sender = createSender({ clock: systemClock, guard, attemptTimeoutMs: 5_000, socketsPerHost: 2 });
    closing.push(() => sender.close());
    const url = expandTemplate(template.replace('https://erp.example', base), {
      OID: 'o-1',
      State: 'Payed',
      ReceiptID: 'R&1 #State#',
      DeviceID: 'd',
    });
    const send = (id: string, key: string) => sender.send({ id, sequence: 1, url, secrets: [key] }, new AbortController().signal);
    expect((await send('one', secret)).status).toBe(200);
    expect((await send('one', secret)).status).toBe(200);
    expect((await send('two', `${secret.slice(0, -4)}AAAA`)).status).toBe(401);
    expect((await fetch(url)).status).toBe(401);
    expect((await send('three', secret)).status).toBe(200);
    expect(lines).toEqual(['listening', 'invoice o-1 is Payed', 'invoice o-1 is Payed']);
  });

  it('documents the specified schedule', () => {
    expect(specifiedDelaysS).toEqual([60, 300, 1800, 3600, 21_600]);
    expect(page.replaceAll('\n', ' ')).toContain('after 1 minute, 5 minutes, 30 minutes, 1 hour and 6 hours');
  });
});
