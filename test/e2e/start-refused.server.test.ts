// A PostgreSQL that refuses the gateway or lacks rights: `serve` says in one sentence what to do, without a stack trace.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { patienceMs, runProgram, serveSettings, temporaryDirectory } from '../support/gateway-process.ts';

const adminUrl = process.env['TILLGATE_TEST_POSTGRES_URL'] ?? '';
const user = `poor_${randomUUID().slice(0, 8)}`;
const name = `tillgate_poor_${randomUUID().slice(0, 8)}`;

async function asAdmin(...statements: string[]): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  for (const statement of statements) await admin.query(statement);
  await admin.end();
}

function urlWith(changes: { username?: string; pathname?: string }): string {
  return Object.assign(new URL(adminUrl), changes).href;
}

beforeAll(() => asAdmin(`create role ${user} login`, `create database ${name}`));
afterAll(() => asAdmin(`drop database ${name}`, `drop role ${user}`));

it.each<[string, () => string, RegExp]>([
  [
    'a user without rights',
    () => urlWith({ username: user, pathname: `/${name}` }),
    /permission denied for schema public\. Make the user .* the owner/,
  ],
  ['a missing database', () => urlWith({ pathname: '/nowhere' }), /database "nowhere" does not exist\. Create it \(createdb\)/],
  ['an unknown user', () => urlWith({ username: 'nobody' }), /role "nobody" does not exist.*Check the user/],
])('refuses %s', { timeout: 2 * patienceMs }, async (_what, url, sentence) => {
  const settings = await serveSettings({ TILLGATE_DATA_DIR: temporaryDirectory(), TILLGATE_DATABASE_URL: url() });
  const refused = await runProgram(['serve'], settings);
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toMatch(sentence);
  expect(refused.err).not.toMatch(/^\s+at /m);
});
