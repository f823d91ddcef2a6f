// The receiver in docs/callbacks.md is run as it stands there and hears real callbacks.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
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
const [example = '', withLibrary = ''] = [...page.matchAll(/```js\n([\s\S]*?)```/g)].map(([, text = '']) => text);
const template = /^ {4}(https:\/\/erp\.example\S+)$/m.exec(page)?.[1] ?? '';
const secret = `whsec_${Buffer.from('documentation secret of 32 bytes').toString('base64')}`;
const otherSecret = `whsec_${Buffer.from('the secret that is replaced soon').toString('base64')}`;

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

function loopbackSender() {
  const guard = createAddressGuard({ clock: systemClock, allow: ['127.0.0.0/8'] });
  const sender = createSender({ clock: systemClock, guard, attemptTimeoutMs: 5_000, socketsPerHost: 2 });
  closing.push(() => sender.close());
  return sender;
}

/** What the ERP gets of a real callback. */
async function received(template: string, key: string): Promise<{ url: string; headers: Record<string, string> }> {
  let request: IncomingMessage | undefined;
  const erp = createServer((given, response) => {
    request = given;
    response.end();
  });
  await new Promise<void>((resolve) => erp.listen(0, '127.0.0.1', resolve));
  closing.push(() => erp.close());
  const base = `http://127.0.0.1:${(erp.address() as AddressInfo).port}`;
  const sender = loopbackSender();
  const url = expandTemplate(template.replace('https://erp.example', base), {
    OID: 'o-1',
    State: 'Payed',
    ReceiptID: 'R&1',
    DeviceID: 'd',
  });
  await sender.send({ id: 'one', sequence: 3, url, secrets: [otherSecret, key] }, new AbortController().signal);
  return { url: `${base}${request?.url}`, headers: request?.headers as Record<string, string> };
}

describe('docs/callbacks.md', () => {
  it('has lines for the library of Standard Webhooks that accept genuine callbacks and no others', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'tillgate-docs-'));
    closing.push(() => rmSync(dir, { recursive: true, force: true }));
    writeFileSync(join(dir, 'lines.mjs'), withLibrary);
    symlinkSync(join(import.meta.dirname, '../../node_modules'), join(dir, 'node_modules'));
    const { isGenuine } = (await import(join(dir, 'lines.mjs'))) as { isGenuine: (...given: [string, string, object]) => boolean };
    const { url, headers } = await received(template, secret);
    expect(isGenuine(secret, url, headers)).toBe(true);
    expect(isGenuine(secret, `${url}1`, headers)).toBe(false);
    expect(isGenuine(secret, url, { ...headers, 'tillgate-sequence': '4' })).toBe(false);
    expect(isGenuine(secret, url, { ...headers, 'webhook-timestamp': '1700000000' })).toBe(false);
    expect(isGenuine(`${secret.slice(0, -4)}AAAA`, url, headers)).toBe(false);
  });

  it('has an example that takes genuine callbacks once and refuses others', async () => {
    checkTemplate(template);
    const { base, lines } = await runExample();
    const sender = loopbackSender();
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
