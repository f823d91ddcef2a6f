// `tillgate doctor` with each thing broken in turn: the finding says what, the advice what to do, and nothing holds it up.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import { probeFile } from '../../src/cli/data-directory.ts';
import { checkCertificate } from '../../src/cli/doctor/certificate-check.ts';
import { describeDiagnosis, diagnose, judgeDisk } from '../../src/cli/doctor/doctor.ts';
import { readConfig } from '../../src/config.ts';
import { migrateDatabase } from '../../src/database/open.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { renewed, selfSigned } from '../http/self-signed.ts';
import { freePort } from '../support/free-port.ts';
import { patienceMs, runProgram, type Settings, serveSettings, temporaryDirectory } from '../support/gateway-process.ts';
import { quietLogger } from '../support/quiet-logger.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function examine(settings: Settings = {}, { url, clock = systemClock }: { url?: string; clock?: Clock } = {}) {
  const environment = await serveSettings({ TILLGATE_DATA_DIR: temporaryDirectory(), ...settings });
  const diagnosis = await diagnose({ environment, url, clock, random: systemRandom });
  return { ...diagnosis, of: (check: string) => diagnosis.findings.filter((finding) => finding.check === check) };
}

/** Waits are over a hundred times as soon. */
const hurried: Clock = { ...systemClock, after: (delayMs, action) => systemClock.after(delayMs / 100, action) };

const bad = (says: RegExp) => [expect.objectContaining({ verdict: 'bad', says: expect.stringMatching(says), advice: expect.any(String) })];
const looked = (says: RegExp) => [
  expect.objectContaining({ verdict: 'warning', says: expect.stringMatching(says), advice: expect.any(String) }),
];
const fine = (says: RegExp) => [{ check: expect.any(String), verdict: 'ok', says: expect.stringMatching(says) }];

describe('the doctor', () => {
  it('finds nothing bad before the first start, and leaves nothing behind', async () => {
    const dataDir = join(temporaryDirectory(), 'not', 'yet');
    const { verdict, findings, of } = await examine({ TILLGATE_DATA_DIR: dataDir });
    expect(verdict).toBe('warning');
    expect(of('settings')).toEqual(fine(/accepts them/));
    expect(of('database')).toEqual(fine(/Otherwise the first start creates it/));
    expect(of('disk')).toEqual(fine(/GiB are free/));
    expect(of('mqtt broker')).toEqual(fine(/is free for it/));
    expect(of('gateway')).toEqual(looked(/No gateway answers.*Nothing listens/));
    expect(findings.filter((finding) => finding.verdict === 'bad')).toEqual([]);
    expect(() => readdirSync(dataDir)).toThrow();
  });

  it('tells every wrong setting, and looks at the rest when they are only dangerous', async () => {
    const wrong = await examine({ TILLGATE_PORT: 'http', TILLGATE_RATE_LIMIT: '0' });
    expect([wrong.verdict, wrong.findings.length]).toEqual(['bad', 2]);
    const dangerous = await examine({ TILLGATE_ADMIN_TOKEN: '' });
    expect(dangerous.of('settings')).toEqual(bad(/TILLGATE_ADMIN_TOKEN/));
    expect(dangerous.of('disk')).toEqual(fine(/free/));
    expect((await examine({ TILLGATE_PROT: '1' })).of('settings')).toEqual(bad(/TILLGATE_PROT is not a setting/));
  });

  it('sees a disk that cannot be used, or hangs, and does not touch the database then', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    const useless = await examine({ TILLGATE_DATA_DIR: file });
    expect([useless.verdict, useless.of('disk'), useless.of('database')]).toEqual(['bad', bad(/EEXIST|ENOTDIR/), []]);
    const directory = temporaryDirectory();
    execFileSync('mkfifo', [join(directory, probeFile)]);
    const hanging = await examine({ TILLGATE_DATA_DIR: directory }, { clock: hurried });
    expect([hanging.of('disk'), hanging.of('database')]).toEqual([bad(/does not answer within 10 s|No answer within 15 s/), []]);
    expect(judgeDisk('/data', 50 * 1024 ** 2)).toEqual(bad(/0\.0 GiB/));
    expect(judgeDisk('/data', 500 * 1024 ** 2)).toEqual(looked(/0\.5 GiB/));
  });

  it('sees a database file that is none, not in WAL, too old or too new', async () => {
    const broken = temporaryDirectory();
    writeFileSync(join(broken, 'tillgate.db'), 'no database at all'.repeat(1_000));
    expect((await examine({ TILLGATE_DATA_DIR: broken })).of('database')).toEqual(bad(/not an SQLite file.*restore/));

    const dataDir = temporaryDirectory();
    const older = mkdtempSync(join(tmpdir(), 'tillgate-migrations-'));
    const options = { dataDir, clock: systemClock, logger: quietLogger };
    await migrateDatabase({ ...options, migrationsDir: older });
    expect((await examine({ TILLGATE_DATA_DIR: dataDir })).of('database')).toEqual(looked(/lacks migrations? 1 \(schema\)/));
    await migrateDatabase(options);
    expect((await examine({ TILLGATE_DATA_DIR: dataDir })).of('database')).toEqual(fine(/SQLite.*up to date and durable/));

    const direct = new DatabaseSync(join(dataDir, 'tillgate.db'));
    direct.exec("insert into applied_migrations (version, name, checksum, applied_at) values (999, 'later', 'x', 1)");
    direct.exec('pragma journal_mode = delete');
    direct.close();
    const { verdict, of } = await examine({ TILLGATE_DATA_DIR: dataDir });
    expect([verdict, of('database')]).toEqual(['bad', [...bad(/WAL mode/), ...bad(/newer than this program/)]]);
  });

  it('sees brokers that are away, hang, or whose port is taken', async () => {
    const nowhere = await freePort();
    const away = await examine({
      TILLGATE_MQTT_URL: `mqtt://gate:secret@127.0.0.1:${nowhere}`,
      TILLGATE_QUEUE_URL: `amqp://gate:secret@127.0.0.1:${nowhere}`,
      TILLGATE_BROKER_TOKEN: 'x'.repeat(24),
    });
    expect(away.of('mqtt broker')).toEqual(bad(/Nothing listens/));
    expect(away.of('queue')).toEqual(bad(/Nothing listens/));
    expect(JSON.stringify(away.findings)).not.toContain('secret');

    const silent = createSocketServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    closers.push(() => silent.close());
    const { port } = silent.address() as AddressInfo;
    const hangs = await examine({ TILLGATE_MQTT_URL: `mqtt://127.0.0.1:${port}` }, { clock: hurried });
    expect(hangs.of('mqtt broker')).toEqual(bad(/does not answer|No answer/));
    expect((await examine({ TILLGATE_MQTT_PORT: String(port) })).of('mqtt broker')).toEqual(looked(/is taken/));
  });

  it('asks whether devices can be cut off at RabbitMQ, about one that does not exist', async () => {
    let status = 204;
    const asked: string[] = [];
    const api = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(status).end();
    }).listen(0, '127.0.0.1');
    await once(api, 'listening');
    closers.push(() => api.close());
    const settings = {
      TILLGATE_QUEUE_URL: `amqp://gate:secret@127.0.0.1:${await freePort()}`,
      TILLGATE_BROKER_TOKEN: 'x'.repeat(24),
      TILLGATE_RABBITMQ_API_URL: `http://gate:secret@127.0.0.1:${(api.address() as AddressInfo).port}`,
    };
    expect((await examine(settings)).of('queue connections')).toEqual(fine(/allows gate to end connections/));
    status = 401;
    const refused = await examine(settings);
    expect(refused.of('queue connections')).toEqual(bad(/does not allow gate to end connections \(HTTP 401\)/));
    expect(JSON.stringify(refused.findings)).not.toContain('secret');
    const gone = await examine({ ...settings, TILLGATE_RABBITMQ_API_URL: `http://gate:secret@127.0.0.1:${await freePort()}` });
    expect(gone.of('queue connections')).toEqual(bad(/Nothing listens/));
    expect(asked.filter((each) => each.startsWith('DELETE'))).toEqual(
      [0, 1].map(() => expect.stringMatching(/^DELETE \/api\/connections\/username\/[0-9a-f-]{36}$/)),
    );
  });

  it('sees addresses that devices cannot reach, and what answers there that is no gateway', async () => {
    expect((await examine({ TILLGATE_HOST: '0.0.0.0' })).of('base address')).toEqual(bad(/cannot connect/));
    const answers = { status: 200, body: '<html>', date: undefined as string | undefined };
    const server = createServer((_request, response) => {
      if (answers.date !== undefined) response.setHeader('date', answers.date);
      response.writeHead(answers.status).end(answers.body);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(() => server.close());
    const settings = { TILLGATE_PUBLIC_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tillgate` };
    const page = await examine(settings);
    expect(page.of('gateway')).toEqual(bad(/no Tillgate gateway \(HTTP 200\)/));
    expect(page.of('base address')).toEqual(looked(/this machine itself/));
    Object.assign(answers, { status: 503, body: '{"errorCode":3,"errorMessage":"Not connected: mqtt."}' });
    expect((await examine(settings)).of('gateway')).toEqual(looked(/not ready: Not connected: mqtt/));
    Object.assign(answers, { status: 200, body: '{"errorCode":0,"errorMessage":""}' });
    const well = await examine(settings);
    expect([well.of('gateway'), well.of('clock').at(-1)]).toEqual([fine(/is ready/), ...fine(/agrees/)]);
    answers.date = new Date(systemClock.now() - 600_000).toUTCString();
    expect((await examine({}, { url: settings.TILLGATE_PUBLIC_URL })).of('clock').at(-1)).toEqual(bad(/gateway is \d+\.\d s behind/)[0]);
    answers.date = new Date(systemClock.now() + 20_000).toUTCString();
    expect((await examine(settings)).of('clock').at(-1)).toEqual(looked(/ahead of/)[0]);
  });
});

describe('the certificate', () => {
  const directory = temporaryDirectory();
  const put = (cert: string, key: string) => {
    writeFileSync(join(directory, 'cert.pem'), cert);
    writeFileSync(join(directory, 'key.pem'), key);
  };
  const config = readConfig('sandbox', { TILLGATE_TLS_CERT: join(directory, 'cert.pem'), TILLGATE_TLS_KEY: join(directory, 'key.pem') });
  const look = (hosts: string[], at = '2026-11-16T00:00:00Z') =>
    checkCertificate(config, hosts, { ...systemClock, now: () => Date.parse(at) });

  it('is judged by its dates', async () => {
    put(selfSigned.cert, selfSigned.key);
    expect(await look([], '2020-01-01T00:00:00Z')).toEqual([...bad(/valid only from/), ...looked(/No public authority/)]);
    expect(await look([], '2130-01-01T00:00:00Z')).toEqual([...bad(/expired at 2126/), ...looked(/No public/)]);
    expect(await look([], '2126-10-15T00:00:00Z')).toEqual([...looked(/expires in 7 days/), ...looked(/No public/)]);
  });

  it('is judged by its names, its chain and its key', async () => {
    put(selfSigned.cert, selfSigned.key);
    expect(await look(['localhost', '127.0.0.1'])).toEqual(looked(/No public authority/));
    expect(await look(['pay.example.md', '10.0.0.1'])).toEqual([
      ...bad(/not valid for pay\.example\.md, 10\.0\.0\.1/),
      ...looked(/No public/),
    ]);
    put(selfSigned.cert + renewed.cert, selfSigned.key);
    expect(await look([])).toEqual(bad(/certificate 2 did not sign certificate 1/));
    put(selfSigned.cert, renewed.key);
    expect(await look([])).toEqual([...looked(/No public/), ...bad(/does not match the certificate/)]);
  });

  it('that cannot be read is a finding like any other', async () => {
    put('nothing', selfSigned.key);
    expect(await look([])).toEqual(bad(/contains no certificate/));
    const { of } = await examine({ TILLGATE_TLS_CERT: '/nowhere.pem', TILLGATE_TLS_KEY: '/nowhere.key' });
    expect(of('certificate')).toEqual(bad(/\/nowhere\.pem does not exist/));
  });
});

it('tells people what to do below what it found', () => {
  const finding = { check: 'disk', verdict: 'bad', says: 'Full.', advice: 'Make room.' } as const;
  expect(describeDiagnosis({ verdict: 'bad', findings: [finding] })).toBe(
    'BAD   disk  Full.\n            Make room.\n\nThe gateway cannot or must not run with these problems.',
  );
});

it('exits with 1 when something is bad, and tells programs in JSON', { timeout: 2 * patienceMs }, async () => {
  const settings = await serveSettings({ TILLGATE_DATA_DIR: temporaryDirectory() });
  const { code, out } = await runProgram(['doctor', '--json'], { ...settings, TILLGATE_ADMIN_TOKEN: 'short' });
  expect(code).toBe(1);
  expect(JSON.parse(out)).toMatchObject({ verdict: 'bad', findings: expect.arrayContaining([expect.objectContaining({ check: 'disk' })]) });
  expect(await runProgram(['doctor'], settings)).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/The gateway can run/) });
});
