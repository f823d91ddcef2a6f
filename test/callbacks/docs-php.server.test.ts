// The receiver in PHP of docs/callbacks.md, run by PHP's own server, hears real callbacks.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { createAddressGuard } from '../../src/callbacks/address-guard.ts';
import { createSender } from '../../src/callbacks/sender.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { freePort } from '../support/free-port.ts';

const page = readFileSync(new URL('../../docs/callbacks.md', import.meta.url), 'utf8');
const receiver = /```php\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
const secretOf = (text: string) => `whsec_${Buffer.from(text).toString('base64')}`;
const secret = secretOf('documentation secret of 32 bytes');

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

it('the receiver in PHP takes genuine callbacks and refuses others', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tillgate-php-'));
  closing.push(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'receiver.php'), receiver);
  const place = `127.0.0.1:${await freePort()}`;
  const env = { ...process.env, CALLBACK_SECRET: secret, PUBLIC_ADDRESS: `http://${place}` };
  const php = spawn('php', ['-S', place, join(dir, 'receiver.php')], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  closing.push(() => php.kill('SIGKILL'));
  await new Promise<void>((resolve, reject) => {
    php.once('exit', (code) => reject(new Error(`PHP ended with ${code}.`)));
    php.stderr.on('data', (chunk: Buffer) => chunk.includes('started') && resolve());
  });
  const guard = createAddressGuard({ clock: systemClock, allow: ['127.0.0.0/8'] });
  const sender = createSender({ clock: systemClock, guard, attemptTimeoutMs: 5_000, socketsPerHost: 2 });
  closing.push(() => sender.close());
  const url = `http://${place}/tillgate?invoice=o-1&receipt=R%261`;
  const send = async (secrets: string[]) =>
    (await sender.send({ id: 'one', sequence: 3, url, secrets }, new AbortController().signal)).status;
  expect(await send([secret])).toBe(200);
  expect(await send([secretOf('the secret that is replaced soon'), secret])).toBe(200);
  expect(await send([secretOf('a secret of somebody else, 32 b.')])).toBe(401);
  expect((await fetch(url)).status).toBe(401);
  const [id, timestamp] = ['one', '1700000000'];
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'tillgate-sequence': '3', 'webhook-signature': 'v1,x' };
  expect((await fetch(url, { headers })).status).toBe(401);
});
