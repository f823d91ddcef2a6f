// `tillgate serve`: configurations that it refuses, and its shutdown.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  patienceMs,
  runProgram,
  type Settings,
  serveSettings,
  startOnTerminal,
  startProgram,
  startServeProcess,
  temporaryDirectory,
} from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { createTill, eventually, reportOf } from '../support/till.ts';

const slowTest = { timeout: 3 * patienceMs };

describe('serve', () => {
  it.each<[string, Settings, RegExp]>([
    // config.test.ts has the other refusals of settings.
    ['no admin token', { TILLGATE_ADMIN_TOKEN: '' }, /TILLGATE_ADMIN_TOKEN.*openssl rand/],
    ['a missing certificate file', { TILLGATE_TLS_CERT: '/nowhere.pem', TILLGATE_TLS_KEY: '/nowhere.key' }, /cannot be read/],
    ['an unreachable database', { TILLGATE_DATABASE_URL: 'postgres://127.0.0.1:1/x' }, /ECONNREFUSED/],
    ['two mistakes at once', { TILLGATE_PORT: 'http', TILLGATE_RATE_LIMIT: '0' }, /TILLGATE_PORT[\s\S]*TILLGATE_RATE_LIMIT/],
    [
      'a file as data directory',
      { TILLGATE_DATA_DIR: fileURLToPath(import.meta.url) },
      /^TILLGATE_DATA_DIR: .*exists already and is not a directory.*EEXIST/,
    ],
  ])('refuses %s', slowTest, async (_what, settings, sentence) => {
    const dataDir = temporaryDirectory();
    const refused = await runProgram(['serve'], await serveSettings({ TILLGATE_DATA_DIR: dataDir, ...settings }));
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(sentence);
    expect(refused.err).not.toMatch(/^\s+at /m);
  });

  it('has no demo data, no open Payd, and writes no sandbox.json', slowTest, async () => {
    const dataDir = temporaryDirectory();
    const gateway = await startServeProcess(await serveSettings({ TILLGATE_DATA_DIR: dataDir }));
    const till = createTill({ ...gateway, apiKey: '' });
    expect(await till.admin('/merchants')).toMatchObject({ errorCode: 0, merchants: [] });
    expect(await till.admin('/devices')).toMatchObject({ errorCode: 0, devices: [] });
    const paid = await fetch(`${gateway.baseUrl}/Invoice/Payd?QR=x&ReceiptID=1&DeviceID=${randomUUID()}`);
    expect(await paid.json()).toMatchObject({ errorCode: 10 });
    expect(existsSync(join(dataDir, 'sandbox.json'))).toBe(false);
    expect(await gateway.terminate()).toEqual({ code: 0, signal: null });
  });

  it('shows the link for the first operator only on a terminal, once for all starts, and never in a log', slowTest, async () => {
    const settings = await serveSettings({ TILLGATE_DATA_DIR: temporaryDirectory(), TILLGATE_LOG_LEVEL: 'debug' });
    const piped = startProgram(['serve'], settings);
    const [, pipedUrl = ''] = await piped.prints(/"baseUrl":"([^"]+)".*the gateway is ready/);
    await fetch(`${pipedUrl}/nowhere`);
    expect(await piped.terminate()).toEqual({ code: 0, signal: null });
    expect(piped.out() + piped.err()).not.toContain('/cabinet/link#');
    // Standard output is line-delimited JSON, whatever is printed for a person.
    const lines = piped.out().trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('msg');
    expect(piped.err()).toContain(`Tillgate listens at ${pipedUrl}\n`);

    const first = startOnTerminal(['serve'], settings);
    const [, link = ''] = await first.prints(/Open this link once[^\n]*\n\s+(\S+)/);
    expect(link).toMatch(/\/tillgate\/cabinet\/link#[\w-]{43}$/);
    const logged = first
      .out()
      .split('\n')
      .filter((line) => line.startsWith('{'));
    expect(logged.length).toBeGreaterThan(0);
    expect(logged.join('\n')).not.toContain(link.split('#')[1]);
    await first.terminate();
    const second = startOnTerminal(['serve'], settings);
    await second.prints(/A link was shown within the last hour; `tillgate user create` shows a new one/);
    const [, baseUrl = ''] = await second.prints(/listens at (\S+)/);
    const use = { token: link.split('#')[1], password: 'bread and butter', name: 'Olga', email: 'olga@tillgate.md' };
    const headers = { 'content-type': 'application/json', 'x-tillgate-request': '1' };
    const used = await fetch(`${baseUrl}/cabinet/api/links/use`, { method: 'POST', headers, body: JSON.stringify(use) });
    expect(await used.json()).toMatchObject({ errorCode: 0, user: { role: 'operator' } });
    await second.terminate();
  });

  it('prints its addresses as JSON for programs', slowTest, async () => {
    const program = startProgram(['serve', '--json'], await serveSettings({ TILLGATE_DATA_DIR: temporaryDirectory() }));
    const [line] = await program.prints(/^\{"baseUrl".*\}$/m);
    const { baseUrl, mqttUrl, queueUrl } = JSON.parse(line) as Record<string, string>;
    expect([mqttUrl, queueUrl]).toEqual([expect.stringMatching(/^mqtt:/), expect.stringMatching(/^ws:.*\/queue$/)]);
    expect(await (await fetch(`${baseUrl}/health/ready`)).json()).toMatchObject({ errorCode: 0 });
    expect(await program.terminate()).toEqual({ code: 0, signal: null });
  });

  it('migrates the database at start or beforehand', slowTest, async () => {
    const settings = { TILLGATE_DATA_DIR: temporaryDirectory() };
    const first = await runProgram(['migrate', '--json'], settings);
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(first.out).applied.length).toBeGreaterThan(0);
    expect(await runProgram(['migrate', '--json'], settings)).toMatchObject({ code: 0, out: '{"applied":[]}\n' });
  });

  it('lets the CLI read its database, and no other process write it, while it runs', slowTest, async () => {
    const settings = await serveSettings({ TILLGATE_DATA_DIR: temporaryDirectory() });
    expect((await runProgram(['migrate', '--check'], settings)).code).toBe(1);
    const gateway = await startServeProcess(settings);
    expect(await runProgram(['migrate', '--check'], settings)).toMatchObject({ code: 0, out: 'The database is up to date.\n' });
    const writing = await runProgram(['migrate'], settings);
    expect(writing.code).toBe(1);
    expect(writing.err).toContain(String(gateway.pid));
    expect(await gateway.terminate()).toEqual({ code: 0, signal: null });
  });

  it('starts again at once after kill -9', slowTest, async () => {
    const settings = await serveSettings({ TILLGATE_DATA_DIR: temporaryDirectory() });
    await (await startServeProcess(settings)).kill9();
    const gateway = await startServeProcess(settings);
    expect(gateway.out()).not.toContain('waiting for its next heartbeat');
    await gateway.kill9();
  });
});

describe('SIGTERM', () => {
  let shop: Shop;
  let terminal: ShopDevice;
  beforeAll(async () => {
    shop = await openShop(await serveSettings({ TILLGATE_DATA_DIR: temporaryDirectory(), TILLGATE_STOP_GRACE_S: '20' }));
    terminal = await shop.addDevice('terminal', { slowMs: 4_000 });
  }, 2 * patienceMs);
  afterAll(() => shop?.close());

  it('lets a Pay in flight finish, takes no new call, and ends with 0', slowTest, async () => {
    const body = { DeviceID: terminal.id, amount: 12.64, documentNr: randomUUID() };
    const paying = shop.till.post('/Device/payment/Pay', body);
    await terminal.program.prints(/12\.64 MDL: present the card/);
    const ended = shop.gateway.terminate();
    await eventually(
      'nothing new is accepted',
      () =>
        fetch(`${shop.till.baseUrl}/health/live`).then(
          () => 'answered',
          () => 'refused',
        ),
      (outcome) => outcome === 'refused',
    );
    expect(reportOf(await paying)).toMatchObject({ amount: 12.64, rrn: expect.any(String) });
    expect(await ended).toEqual({ code: 0, signal: null });

    await shop.restartGateway();
    await shop.online(terminal.id);
    expect(reportOf(await shop.till.post('/Device/payment/Pay', body))).toMatchObject({ amount: 12.64 });
  });

  it('exits at once when it is sent twice', slowTest, async () => {
    const other = await shop.addDevice('terminal', { slowMs: 60_000 });
    const paying = shop.till.tryPost('/Device/payment/Pay', { DeviceID: other.id, amount: 5.64 });
    await other.program.prints(/5\.64 MDL: present the card/);
    process.kill(shop.gateway.pid, 'SIGTERM');
    await eventually(
      'the first one is heard',
      () =>
        fetch(`${shop.till.baseUrl}/health/live`).then(
          () => 'answered',
          () => 'refused',
        ),
      (outcome) => outcome === 'refused',
    );
    expect(await shop.gateway.terminate()).toEqual({ code: 1, signal: null });
    expect(await paying).toBeUndefined();
  });
});
