// PostgreSQL backed up while the gateway runs, by base backup and by dump, with the commands of docs/operating.md.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readLedger } from '../support/books.ts';
import { patienceMs, serveSettings, temporaryDirectory } from '../support/gateway-process.ts';
import { type PostgresServer, postgresBinaries, startPostgres } from '../support/servers/postgres.ts';
import { playRestoredBackup } from './restored-backup.ts';

const directory = temporaryDirectory();
const servers: PostgresServer[] = [];
const tool = (name: string, ...args: string[]) => execFileSync(join(postgresBinaries() ?? '', name), args, { stdio: 'pipe' });

beforeAll(async () => {
  servers.push(await startPostgres());
}, 2 * patienceMs);
afterAll(async () => {
  for (const server of servers) await server.stop();
});

it('a base backup and a dump are restored completely', { timeout: 6 * patienceMs }, async () => {
  const { url } = servers[0] ?? expect.fail();
  const settings = await serveSettings({ TILLGATE_DATABASE_URL: url });
  await playRestoredBackup({
    settings,
    async backUp() {
      tool('pg_dump', '--format=custom', `--file=${join(directory, 'tillgate.dump')}`, url);
      tool('pg_basebackup', `--dbname=${url}`, `--pgdata=${join(directory, 'base')}`, '--wal-method=stream', '--checkpoint=fast');
    },
    async restore() {
      await servers[0]?.kill9();
      const restored = await startPostgres({ from: join(directory, 'base') });
      servers.push(restored);
      return { settings: { TILLGATE_DATABASE_URL: restored.url }, place: { url: restored.url } };
    },
  });

  const { url: restoredUrl } = servers[1] ?? expect.fail();
  const admin = new pg.Client({ connectionString: restoredUrl });
  await admin.connect();
  await admin.query('create database from_dump');
  await admin.end();
  const dumpUrl = Object.assign(new URL(restoredUrl), { pathname: '/from_dump' }).href;
  tool('pg_restore', '--exit-on-error', `--dbname=${dumpUrl}`, join(directory, 'tillgate.dump'));
  const ledger = await readLedger({ url: dumpUrl });
  expect(ledger.map(({ name, amount_bani, state }) => [name, amount_bani, state])).toEqual([
    ['Pay', 1_000, 'done'],
    ['CloseDoc', null, 'done'],
    ['Pay', 2_064, 'sent'],
  ]);
});
