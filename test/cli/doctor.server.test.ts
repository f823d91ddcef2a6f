// `tillgate doctor` at real servers: a PostgreSQL and a Mosquitto that are sound, and with rights, logins and settings broken one by one.
// test/conformance/rabbitmq.server.test.ts has the limit of open files, where a RabbitMQ with the management API runs.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { diagnose } from '../../src/cli/doctor/doctor.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { patienceMs, type Settings, serveSettings } from '../support/gateway-process.ts';
import { startDynsecMosquitto } from '../support/servers/dynsec-mosquitto.ts';
import { type MosquittoServer, startMosquitto } from '../support/servers/mosquitto.ts';

async function examine(settings: Settings, check: string) {
  const environment = await serveSettings(settings);
  const { findings } = await diagnose({ environment, url: undefined, clock: systemClock, random: systemRandom });
  return findings.filter((finding) => finding.check === check).map(({ verdict, says }) => `${verdict}: ${says}`);
}

const login = (url: string, username: string, password = '') => Object.assign(new URL(url), { username, password }).href;

describe('PostgreSQL', () => {
  const user = `poor_${randomUUID().slice(0, 8)}`;
  let database: TestDatabase;
  let url: string;
  const admin = async (...statements: string[]) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };
  beforeAll(async () => {
    database = await openTestDatabase('postgres');
    url = database.place.url ?? expect.fail();
    await admin(`create role ${user} login`);
  }, patienceMs);
  afterAll(async () => {
    await admin(`drop role ${user}`);
    await database.close();
  });

  it('that is sound is found so, with its clock', { timeout: patienceMs }, async () => {
    expect(await examine({ TILLGATE_DATABASE_URL: url }, 'database')).toEqual([
      expect.stringMatching(/^ok: PostgreSQL 1\d.*up to date and durable/),
    ]);
    expect(await examine({ TILLGATE_DATABASE_URL: url }, 'clock')).toContainEqual(
      expect.stringMatching(/^ok: The clock of the database agrees/),
    );
    expect(
      await examine({ TILLGATE_DATABASE_URL: url, TILLGATE_DATABASE_CONNECTIONS: '200' }, 'database').then(([first]) => first),
    ).toMatch(/^(ok|warning: PostgreSQL allows)/);
  });

  it('that is away, not there or closed to this user is bad', { timeout: patienceMs }, async () => {
    expect(await examine({ TILLGATE_DATABASE_URL: 'postgres://127.0.0.1:1/x' }, 'database')).toEqual([
      expect.stringMatching(/^bad: Nothing listens/),
    ]);
    const nowhere = Object.assign(new URL(url), { pathname: '/nowhere' }).href;
    expect(await examine({ TILLGATE_DATABASE_URL: nowhere }, 'database')).toEqual([expect.stringMatching(/^bad: .*createdb/)]);
    expect(await examine({ TILLGATE_DATABASE_URL: login(url, 'nobody') }, 'database')).toEqual([expect.stringMatching(/^bad: .*"nobody"/)]);
    const poor = { TILLGATE_DATABASE_URL: login(url, user) };
    expect((await examine(poor, 'database')).join()).toMatch(/bad: .*permission denied|bad: The user may not create tables/);
    await admin(`grant select on all tables in schema public to ${user}`);
    expect(await examine(poor, 'database')).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^bad: The user may not create tables/),
        expect.stringMatching(/^bad: The user does not own /),
      ]),
    );
    await admin(`revoke all on all tables in schema public from ${user}`);
  });

  it('that refuses a write is bad, and the write leaves nothing behind', { timeout: patienceMs }, async () => {
    const name = new URL(url).pathname.slice(1);
    await admin(`alter database ${name} set default_transaction_read_only = on`);
    expect(await examine({ TILLGATE_DATABASE_URL: url }, 'database')).toEqual([
      expect.stringMatching(/^bad: A test write failed: .*read-only transaction/),
    ]);
    await admin('set default_transaction_read_only = off', `alter database ${name} reset default_transaction_read_only`);
    expect(await examine({ TILLGATE_DATABASE_URL: url }, 'database')).toEqual([expect.stringMatching(/^ok: /)]);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query("select to_regclass('tillgate_write_check') as left_behind");
    await client.end();
    expect(rows).toEqual([{ left_behind: null }]);
  });

  it('that may lose what it acknowledged is bad', { timeout: patienceMs }, async () => {
    const name = new URL(url).pathname.slice(1);
    await admin(`alter database ${name} set synchronous_commit = off`);
    expect(await examine({ TILLGATE_DATABASE_URL: url }, 'database')).toEqual([expect.stringMatching(/^bad: .*synchronous_commit off/)]);
    await admin(`alter database ${name} reset synchronous_commit`);
  });
});

describe('Mosquitto', () => {
  let broker: MosquittoServer;
  beforeAll(async () => {
    const config = 'allow_anonymous false\nacl_file {directory}/acl';
    const files = { acl: 'user gate\ntopic readwrite #\n' };
    broker = await startMosquitto({ config, files, users: { gate: 'right' } });
  }, patienceMs);
  afterAll(() => broker?.stop());

  it.each([
    ['the right login', 'gate', 'right', /^ok: .*accepts the login of gate/],
    ['a wrong password', 'gate', 'wrong', /^bad: .*refuses gate: .*[Nn]ot authorized/],
  ])('with %s', { timeout: patienceMs }, async (_what, username, password, says) => {
    const found = await examine({ TILLGATE_MQTT_URL: login(broker.url, username, password) }, 'mqtt broker');
    expect(found).toEqual([expect.stringMatching(says)]);
  });
});

it('Mosquitto with dynamic security, whose admin is the right one, and is none', { timeout: patienceMs }, async () => {
  const server = await startDynsecMosquitto();
  onTestFinished(() => server.stop());
  const logins = (adminUrl: string) =>
    examine({ TILLGATE_MQTT_URL: server.gatewayUrl, TILLGATE_MOSQUITTO_ADMIN_URL: adminUrl }, 'device logins');
  expect(await logins(server.adminUrl)).toEqual([expect.stringMatching(/^ok: .*allows admin to change the logins/)]);
  expect(await logins(server.gatewayUrl)).toEqual([expect.stringMatching(/^bad: .*does not allow tillgate to change the logins/)]);
  const wrong = await logins(login(server.adminUrl, 'admin', 'not-the-password'));
  expect(wrong).toEqual([expect.stringMatching(/^bad: .*not authorized/i)]);
  expect(wrong.join()).not.toContain('not-the-password');
});

describe('RabbitMQ', () => {
  const url = process.env['TILLGATE_TEST_RABBITMQ_URL'] ?? '';
  const settings = { TILLGATE_BROKER_TOKEN: 'x'.repeat(24) };

  it('with the right login, and with a wrong password', { timeout: patienceMs }, async () => {
    expect(await examine({ ...settings, TILLGATE_QUEUE_URL: url }, 'queue')).toEqual([
      expect.stringMatching(/^ok: .*accepts the login of tillgate/),
    ]);
    const wrong = login(url, 'tillgate', 'not-the-password');
    const found = await examine({ ...settings, TILLGATE_QUEUE_URL: wrong }, 'queue');
    expect(found).toEqual([expect.stringMatching(/^bad: .*refuses tillgate: /)]);
    expect(found.join()).not.toContain('not-the-password');
  });
});
