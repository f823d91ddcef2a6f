// `tillgate sandbox` for a new user: the printed commands work when pasted, a restart keeps the data, and errors are
// explained in one sentence.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { type Program, patienceMs, runProgram, startProgram, startSandboxProcess, temporaryDirectory } from '../support/gateway-process.ts';
import { createTill } from '../support/till.ts';

const run = promisify(execFile);
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const slowTest = { timeout: 3 * patienceMs };

describe('a sandbox', () => {
  const dataDir = temporaryDirectory();
  let port: number;
  let sandbox: Program;
  let tour: string;
  const settings = () => ({ TILLGATE_DATA_DIR: dataDir, TILLGATE_PORT: String(port), TILLGATE_MQTT_PORT: '0' });
  const file = () => JSON.parse(readFileSync(join(dataDir, 'sandbox.json'), 'utf8'));

  beforeAll(async () => {
    port = await freePort();
    sandbox = startProgram(['sandbox'], settings());
    await sandbox.prints(/Stop with Ctrl-C/);
    tour = sandbox.out();
  });
  afterAll(() => sandbox.kill9());

  it('writes sandbox.json readable by its owner only, with the documented fields', () => {
    const written = file();
    expect(statSync(join(dataDir, 'sandbox.json')).mode & 0o777).toBe(0o600);
    expect(Object.keys(written)).toEqual([
      'baseUrl',
      'apiKey',
      'merchantId',
      'callbackSecret',
      'adminToken',
      'mqttUrl',
      'queueUrl',
      'devices',
    ]);
    expect(written.baseUrl).toBe(`http://127.0.0.1:${port}/tillgate`);
    expect(written.apiKey).toMatch(uuid);
    expect(written.merchantId).toMatch(uuid);
    expect(written.mqttUrl).toMatch(/^mqtt:\/\/127\.0\.0\.1:\d+$/);
    expect(written.queueUrl).toBe(`ws://127.0.0.1:${port}/tillgate/queue`);
    for (const device of written.devices) expect(Object.keys(device)).toEqual(['id', 'kind', 'name', 'bank', 'secret']);
    const kinds = written.devices.map(({ kind, bank }: { kind: string; bank: string | null }) => `${kind} ${bank}`);
    expect(kinds).toEqual(['terminal maib', 'terminal micb', 'terminal victoria', 'terminal otp', 'register null', 'register null']);
  });

  it('prints that it is a test environment, and all its addresses', () => {
    const { baseUrl, apiKey, callbackSecret, adminToken } = file();
    expect(callbackSecret).toMatch(/^whsec_/);
    expect(tour).toMatch(/test environment/i);
    for (const fact of [
      baseUrl,
      `${baseUrl}/cabinet`,
      apiKey,
      callbackSecret,
      adminToken,
      `${baseUrl}/docs`,
      join(dataDir, 'sandbox.json'),
    ])
      expect(tour).toContain(fact);
    expect(sandbox.err()).toBe('');
  });

  it('prints commands that work when they are pasted', slowTest, async () => {
    const curls = tour.split('\n').filter((line) => line.trim().startsWith('curl '));
    expect(curls).toHaveLength(2);
    const [create = '', pay = ''] = curls;
    const created = JSON.parse((await run('bash', ['-c', create])).stdout);
    expect(created).toMatchObject({ errorCode: 0, errorMessage: '', OID: expect.stringMatching(uuid), QR: expect.any(String) });
    const paid = JSON.parse((await run('bash', ['-c', pay])).stdout);
    expect(paid).toMatchObject({ errorCode: 0, errorMessage: '' });
    expect(JSON.parse(paid.report)).toMatchObject({ amount: 150.5, rrn: expect.any(String), operationId: expect.any(String) });
  });

  it('serves the API reference, its document, health and metrics', async () => {
    const { baseUrl, adminToken } = file();
    expect(await (await fetch(`${baseUrl}/openapi.json`)).json()).toMatchObject({ openapi: '3.0.3' });
    expect((await fetch(`${baseUrl}/docs`)).status).toBe(200);
    expect((await fetch(`${baseUrl}/health/ready`)).status).toBe(200);
    expect((await fetch(`${baseUrl}/metrics`)).status).toBe(401);
    const authorization = `Bearer ${adminToken}`;
    expect(await (await fetch(`${baseUrl}/metrics`, { headers: { authorization } })).text()).toContain('tillgate_devices_live 6');
  });

  it('listens on loopback only', async () => {
    const outside = Object.values(networkInterfaces())
      .flat()
      .filter((one) => one?.family === 'IPv4' && !one.internal)
      .map((one) => one?.address);
    for (const address of outside) await expect(fetch(`http://${address}:${port}/tillgate/health/live`)).rejects.toThrow();
    const mqttPort = new URL(file().mqttUrl).port;
    const { stdout } = await run('bash', ['-c', 'cat /proc/net/tcp /proc/net/tcp6 2>/dev/null || true']);
    for (const listening of [port, Number(mqttPort)]) {
      const hex = listening.toString(16).toUpperCase().padStart(4, '0');
      const places = stdout.match(new RegExp(`[0-9A-F]+:${hex} [0-9A-F]+:0000 0A`, 'g')) ?? [];
      for (const place of places) expect(place).toMatch(/^0100007F:/);
    }
  });

  it('locks its data directory: a second one names the holder and does not disturb it', slowTest, async () => {
    const before = readFileSync(join(dataDir, 'sandbox.json'), 'utf8');
    const second = await runProgram(['sandbox'], { ...settings(), TILLGATE_PORT: '0' });
    expect(second.code).toBe(1);
    expect(second.err).toContain(`process ${sandbox.pid} on `);
    expect(second.err).toMatch(/in use by/);
    expect(second.err).not.toMatch(/^\s+at /m);
    expect(readFileSync(join(dataDir, 'sandbox.json'), 'utf8')).toBe(before);
  });

  it('reports in one sentence that its port is taken', slowTest, async () => {
    const second = await runProgram(['sandbox'], { ...settings(), TILLGATE_DATA_DIR: temporaryDirectory() });
    expect(second.code).toBe(1);
    expect(second.err.trim()).toMatch(new RegExp(`^Port ${port} is in use.*TILLGATE_PORT.*\\.$`));
  });

  it('refuses to start if the configured MQTT port is taken', slowTest, async () => {
    const taken = new URL(file().mqttUrl).port;
    const elsewhere = { TILLGATE_DATA_DIR: temporaryDirectory(), TILLGATE_PORT: '0' };
    const second = await runProgram(['sandbox'], { ...elsewhere, TILLGATE_MQTT_PORT: taken });
    expect(second.code).toBe(1);
    expect(second.err.trim()).toMatch(new RegExp(`^Port ${taken} is in use.*TILLGATE_MQTT_PORT`));
  });

  it('is administered by the CLI, which finds it by the data directory', slowTest, async () => {
    const { merchantId, baseUrl, adminToken } = file();
    const cli = async (...args: string[]) => {
      const done = await runProgram([...args, '--json'], { TILLGATE_DATA_DIR: dataDir });
      expect(done, done.err).toMatchObject({ code: 0, err: '' });
      return JSON.parse(done.out);
    };
    const merchant = await cli('merchant', 'create', '--name', 'Second shop');
    const ids = (await cli('merchant', 'list')).merchants.map(({ id }: { id: string }) => id);
    expect(new Set(ids)).toEqual(new Set([merchantId, merchant.id]));
    const key = await cli('key', 'create', '--merchant', merchant.id, '--name', 'ERP', '--modules', 'QR');
    const till = createTill({ baseUrl, apiKey: key.key, adminToken });
    const receipt = { Receipt: { Items: [{ Name: 'Tea', Quantity: 1, Price: 10 }] } };
    expect(await till.post('/Invoice/Create', receipt)).toMatchObject({ errorCode: 0 });
    expect(await till.get('/Device/Device/Status', { DeviceID: merchantId })).toMatchObject({ errorCode: 11 });
    const rotated = await cli('key', 'rotate', key.id, '--overlap-s', '3600');
    expect(await createTill({ baseUrl, apiKey: rotated.key, adminToken }).post('/Invoice/Create', receipt)).toMatchObject({ errorCode: 0 });
    await cli('key', 'revoke', key.id);
    expect(await till.post('/Invoice/Create', receipt)).toMatchObject({ errorCode: 10 });
    expect((await cli('key', 'list', '--merchant', merchant.id)).keys).toHaveLength(2);
    const device = await cli('device', 'create', '--merchant', merchant.id, '--kind', 'register', '--name', 'Till 9');
    expect(device.pairingCode).toMatch(/^.{4}-.{4}$/);
    expect((await cli('device', 'list')).devices).toHaveLength(7);
  });

  it('has help for every command', slowTest, async () => {
    const shown = await Promise.all(
      [[], ['sandbox'], ['serve'], ['migrate'], ['simulate'], ['sink'], ['key'], ['device', 'create']].map((words) =>
        runProgram([...words, '--help']),
      ),
    );
    for (const { code, out, err } of shown) expect({ code, err, isLong: out.length > 80 }).toEqual({ code: 0, err: '', isLong: true });
    const [overview, , , , simulate] = shown;
    for (const word of ['sandbox', 'serve', 'migrate', 'merchant create', 'key rotate', 'device list', 'simulate', 'sink'])
      expect(overview?.out).toContain(word);
    expect(simulate?.out).toMatch(/x\.61 .*declines[\s\S]*x\.94 .*revers/);
    const wrong = await runProgram(['fly']);
    expect(wrong).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/no command "fly"/) });
    expect(await runProgram(['sandbox', '--colour'])).toMatchObject({ code: 2, out: '' });
  });

  it('exits with 0 on SIGTERM, and keeps its key, token, devices and data', slowTest, async () => {
    const before = file();
    const till = createTill(before);
    const { QR } = await till.post('/Invoice/Create', { Receipt: { Items: [{ Name: 'Tea', Quantity: 1, Price: 10 }] } });
    expect(await sandbox.terminate()).toEqual({ code: 0, signal: null });
    sandbox = startProgram(['sandbox'], settings());
    await sandbox.prints(/Stop with Ctrl-C/);
    const { mqttUrl: _before, ...same } = before;
    expect(file()).toMatchObject(same);
    expect(await till.get('/Invoice/Status', { QR: String(QR) })).toMatchObject({ errorCode: 0, Status: 0 });
  });

  it('keeps its key after kill -9, even during a start', slowTest, async () => {
    const before = file();
    await sandbox.kill9();
    // The state after an interrupted start.
    writeFileSync(join(dataDir, 'sandbox.earlier.json'), JSON.stringify(before), { mode: 0o600 });
    rmSync(join(dataDir, 'sandbox.json'));
    sandbox = startProgram(['sandbox', '--json'], settings());
    const [line] = await sandbox.prints(/^\{.*\}$/m);
    expect(JSON.parse(line)).toEqual(file());
    const { mqttUrl: _before, ...same } = before;
    expect(file()).toMatchObject(same);
    expect(existsSync(join(dataDir, 'sandbox.earlier.json'))).toBe(false);
  });
});

describe('the default MQTT port', () => {
  it('may be taken: the sandbox uses another one', slowTest, async () => {
    // If another process has it already, the test holds as well.
    const holder = createServer();
    await new Promise((resolve) => holder.once('error', resolve).listen(1883, '127.0.0.1', () => resolve(undefined)));
    const sandbox = await startSandboxProcess(temporaryDirectory(), { TILLGATE_MQTT_PORT: '' });
    expect(new URL(sandbox.file.mqttUrl).port).not.toBe('1883');
    await sandbox.kill9();
    holder.close();
  });
});
