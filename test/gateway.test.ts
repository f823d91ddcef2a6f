// What the composition root itself decides: what it refuses to start with, and that it ends whatever is broken.
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../src/config.ts';
import { startGateway } from '../src/gateway.ts';
import type { Clock } from '../src/kernel/clock.ts';
import { StartRefused } from '../src/kernel/start-refused.ts';
import { systemClock, systemRandom } from '../src/kernel/system.ts';
import { renewed, selfSigned } from './http/self-signed.ts';
import { recordingLogger } from './support/quiet-logger.ts';
import { until } from './support/until.ts';
import { createVirtualClock } from './support/virtual-clock.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tillgate-gateway-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** What a client is told that asks for a second handshake on its connection. */
const renegotiated = (url: string) =>
  new Promise<string>((resolve) => {
    const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false, maxVersion: 'TLSv1.2' });
    socket.on('error', (error) => resolve(error.message)).on('close', () => resolve('closed'));
    socket.once('secureConnect', () => socket.renegotiate({}, (error) => resolve(error?.message ?? 'renegotiated')));
  });

function start(settings: Record<string, string> = {}, clock: Clock = systemClock) {
  const config = readConfig('sandbox', {
    TILLGATE_DATA_DIR: dataDir,
    TILLGATE_PORT: '0',
    TILLGATE_MQTT_PORT: '0',
    TILLGATE_MQTTS_PORT: '0',
    ...settings,
  });
  const logger = recordingLogger();
  const exitCodes: number[] = [];
  const endProcess = (exitCode: number) => void exitCodes.push(exitCode);
  return { logger, exitCodes, started: startGateway(config, { clock, random: systemRandom, logger, endProcess }) };
}

describe('the gateway', () => {
  it('ends in good order though its database is gone, and says what it could not write', async () => {
    const { logger, started } = start();
    const gateway = await started;
    await gateway.database.close();
    await gateway.stop();
    expect(logger.lines.map(({ message }) => message)).toContain('a part of the gateway could not say goodbye');
    expect(logger.lines.at(-1)?.message).toBe('the gateway has stopped');
  });

  it('writes failed logins to the cabinet into the audit log, once for all of an address', async () => {
    const { started } = start({ TILLGATE_ADMIN_TOKEN: 'the-right-token-of-this-gateway' });
    const gateway = await started;
    const url = `${gateway.addresses().baseUrl}/cabinet/api/audit`;
    const ask = (token: string) => fetch(url, { headers: { authorization: `Bearer ${token}` } });
    for (let time = 0; time < 3; time += 1) expect((await ask('a-wrong-token')).status).toBe(401);
    expect((await ask('the-right-token-of-this-gateway')).status).toBe(200);
    await gateway.stop();
    const again = await start({ TILLGATE_ADMIN_TOKEN: 'the-right-token-of-this-gateway' }).started;
    const rows = await again.database.queries.selectFrom('audit_log').select(['action', 'detail']).execute();
    await again.stop();
    expect(rows.filter(({ action }) => action === 'login.fail')).toEqual([{ action: 'login.fail', detail: '{"count":3}' }]);
  });

  it('lists itself with version, clock, connections and queues', async () => {
    const { started } = start({ TILLGATE_ADMIN_TOKEN: 'the-right-token-of-this-gateway' });
    const gateway = await started;
    const url = `${gateway.addresses().baseUrl}/cabinet/api/instances`;
    const answer = await fetch(url, { headers: { authorization: 'Bearer the-right-token-of-this-gateway' } });
    expect(await answer.json()).toMatchObject({
      instances: [
        {
          state: 'running',
          version: expect.stringMatching(/^\d+\.\d+\.\d+/),
          pid: process.pid,
          embedded: 'MQTT broker and queue',
          clockOffsetMs: expect.any(Number),
          status: { http: 0, devices: 0, database: { waiting: 0 }, waitingCalls: 0, commands: 0, callbacks: 0 },
        },
      ],
    });
    await gateway.stop();
  });

  it('keeps when an API key was last used, though it stops at once', async () => {
    const token = 'the-right-token-of-this-gateway';
    const gateway = await start({ TILLGATE_ADMIN_TOKEN: token }).started;
    const merchant = await gateway.access.createMerchant('test', 'Shop');
    const { key } = await gateway.access.createKey('test', { merchantId: merchant.id, name: 'used', modules: ['QR'] });
    await gateway.access.createKey('test', { merchantId: merchant.id, name: 'unused', modules: ['QR'] });
    await fetch(`${gateway.addresses().baseUrl}/Invoice/Status?QR=x`, { headers: { 'x-api-key': key } });
    await gateway.stop();
    const again = await start({ TILLGATE_ADMIN_TOKEN: token }).started;
    const url = `${again.addresses().baseUrl}/cabinet/api/keys`;
    const { keys } = (await (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).json()) as { keys: object[] };
    await again.stop();
    const [unused, used] = keys.toSorted((one, other) => JSON.stringify(one).length - JSON.stringify(other).length);
    expect(used).toMatchObject({ name: 'used', lastUsedAt: expect.stringMatching(/^20/) });
    expect(unused).not.toHaveProperty('lastUsedAt');
  });

  it('shows neither the sandbox nor its key to a page of another host name', async () => {
    const gateway = await start().started;
    gateway.setDemo({ apiKey: 'canary-key', devices: [] });
    const ask = (host: string, method: 'GET' | 'POST', path: string) =>
      gateway.server.app.inject({ method, url: `/tillgate${path}`, headers: { host, 'x-tillgate-request': '1', accept: 'text/html' } });
    const paths = [
      ['POST', '/cabinet/api/session/sandbox'],
      ['GET', '/cabinet/api/session'],
      ['GET', '/docs/openapi.json'],
      ['GET', '/'],
    ] as const;
    for (const [method, path] of paths) {
      const rebound = await ask('rebound.example:8080', method, path);
      expect([path, rebound.statusCode, rebound.headers['set-cookie']]).toEqual([path, 421, undefined]);
      expect(rebound.body).not.toContain('canary-key');
      expect((await ask('localhost:8080', method, path)).statusCode).toBeLessThan(400);
    }
    await gateway.stop();
  });

  it('does not open the data of a sandbox under serve, nor the data of serve in a sandbox', async () => {
    const world = { clock: systemClock, random: systemRandom, logger: recordingLogger() };
    const serve = (directory: string) =>
      startGateway(
        readConfig('serve', {
          TILLGATE_DATA_DIR: directory,
          TILLGATE_PORT: '0',
          TILLGATE_MQTT_PORT: '0',
          TILLGATE_ADMIN_TOKEN: 'the-right-token-of-this-gateway',
        }),
        world,
      );
    await (await start().started).stop();
    await expect(serve(dataDir)).rejects.toThrow(/created by `tillgate sandbox`/);
    await (await start().started).stop();
    const served = join(dataDir, 'served');
    await (await serve(served)).stop();
    await expect(start({ TILLGATE_DATA_DIR: served }).started).rejects.toThrow(/created by `tillgate serve`/);
  });

  it('ends its process when the thread that writes the database is gone, and only then', async () => {
    let worker: Worker | undefined;
    process.once('worker', (thread) => {
      worker = thread;
    });
    const { logger, exitCodes, started } = start();
    const gateway = await started;
    expect(exitCodes).toEqual([]);
    await worker?.terminate();
    await until(() => exitCodes.length > 0);
    expect(exitCodes).toEqual([1]);
    expect(logger.lines.find(({ level }) => level === 'error')?.message).toContain('the database is lost to this process');
    await gateway.stop();

    const orderly = start();
    await (await orderly.started).stop();
    expect(orderly.exitCodes).toEqual([]);
  });

  it.each([
    ['a certificate that is none', 'no PEM', selfSigned.key],
    ['a key that is none', selfSigned.cert, 'no PEM'],
    ['the two swapped', selfSigned.key, selfSigned.cert],
  ])('refuses %s with a sentence that names the settings', async (_what, cert, key) => {
    const [certPath, keyPath] = [join(dataDir, 'cert.pem'), join(dataDir, 'key.pem')];
    writeFileSync(certPath, cert);
    writeFileSync(keyPath, key);
    const { started } = start({ TILLGATE_TLS_CERT: certPath, TILLGATE_TLS_KEY: keyPath });
    const refused: unknown = await started.catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StartRefused);
    expect((refused as Error).message).toMatch(/TILLGATE_TLS_CERT and TILLGATE_TLS_KEY cannot be read/);
  });

  it('takes a renewed certificate for HTTPS and MQTT alike while it runs, and no connection ends over it', async () => {
    const [certPath, keyPath] = [join(dataDir, 'cert.pem'), join(dataDir, 'key.pem')];
    const put = ({ cert, key }: typeof selfSigned) => {
      writeFileSync(certPath, cert);
      writeFileSync(keyPath, key);
    };
    put(selfSigned);
    const clock = createVirtualClock();
    const gateway = await start({ TILLGATE_TLS_CERT: certPath, TILLGATE_TLS_KEY: keyPath }, clock).started;
    const { baseUrl, mqttUrl } = gateway.addresses();
    const shownAt = (url: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false }, () => {
          resolve(new X509Certificate(socket.getPeerCertificate().raw).toString());
          socket.destroy();
        });
        socket.on('error', reject);
      });
    const early = await Promise.all(
      [baseUrl, mqttUrl].map(async (url) => {
        const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', ca: selfSigned.cert });
        socket.on('error', () => {});
        await new Promise((resolve) => socket.once('secureConnect', resolve));
        return socket;
      }),
    );
    put(renewed);
    await clock.advance(5_000);
    await expect.poll(async () => [await shownAt(baseUrl), await shownAt(mqttUrl)]).toEqual([renewed.cert, renewed.cert]);
    expect(early.map(({ destroyed, readableEnded }) => [destroyed, readableEnded])).toEqual([
      [false, false],
      [false, false],
    ]);
    for (const url of [baseUrl, mqttUrl]) expect(await renegotiated(url)).toContain('no renegotiation');
    for (const socket of early) socket.destroy();
    const stopped = gateway.stop();
    for (let count = 0; count < 40; count += 1) await clock.advance(1_000);
    await stopped;
  });

  it('speaks HTTPS with a certificate and its key', async () => {
    const [certPath, keyPath] = [join(dataDir, 'cert.pem'), join(dataDir, 'key.pem')];
    writeFileSync(certPath, selfSigned.cert);
    writeFileSync(keyPath, selfSigned.key);
    const gateway = await start({ TILLGATE_TLS_CERT: certPath, TILLGATE_TLS_KEY: keyPath }).started;
    expect(gateway.addresses()).toMatchObject({
      baseUrl: expect.stringMatching(/^https:/),
      mqttUrl: expect.stringMatching(/^mqtts:/),
      queueUrl: expect.stringMatching(/^wss:/),
    });
    const { baseUrl, mqttUrl, queueUrl } = gateway.addresses();
    for (const url of [baseUrl, mqttUrl, queueUrl]) expect(await renegotiated(url)).toContain('no renegotiation');
    await gateway.stop();
  });
});
