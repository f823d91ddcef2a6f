// A backup of the embedded database, taken while the gateway runs and restored as documented in docs/operating.md.
import { copyFileSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { backUpSqlite } from '../../src/database/backup.ts';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { patienceMs, runProgram, serveSettings, temporaryDirectory } from '../support/gateway-process.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { playRestoredBackup } from './restored-backup.ts';

it('a restored backup has every acknowledged payment, settles the open one, and charges nothing twice', {
  timeout: 6 * patienceMs,
}, async () => {
  const dataDir = temporaryDirectory();
  const copy = join(temporaryDirectory(), 'copy.db');
  const settings = await serveSettings({ TILLGATE_DATA_DIR: dataDir });
  await playRestoredBackup({
    settings,
    async backUp() {
      const { code, out, err } = await runProgram(['backup', '--to', copy, '--json'], settings);
      expect([code, err]).toEqual([0, '']);
      expect(JSON.parse(out)).toMatchObject({ path: copy, commands: 3, newestCommandAt: expect.stringMatching(/^20/) });
    },
    async restore() {
      for (const name of readdirSync(dataDir)) if (name.startsWith('tillgate.db')) rmSync(join(dataDir, name));
      copyFileSync(copy, join(dataDir, 'tillgate.db'));
      return { settings, place: { dataDir } };
    },
  });
});

it('a backup is readable by its user only, complete or absent, and overwrites nothing', async () => {
  const dataDir = temporaryDirectory();
  const database = await openDatabase({ dataDir, role: 'gateway', clock: systemClock, logger: quietLogger });
  const { id: merchantId } = await seedMerchant(database.queries);
  await seedCommand(database.queries, merchantId, (await seedDevice(database.queries, merchantId)).id, { state: 'sent', issued_at: 77 });
  const to = join(temporaryDirectory(), 'copy.db');
  writeFileSync(`${to}.part`, 'of one that died');
  expect(backUpSqlite(dataDir, to)).toEqual({ path: to, bytes: statSync(to).size, commands: 1, newestCommandAt: 77 });
  expect([statSync(to).mode & 0o777, existsSync(`${to}.part`)]).toEqual([0o600, false]);
  expect(() => backUpSqlite(dataDir, to)).toThrow(/overwrites nothing/);
  expect(() => backUpSqlite(temporaryDirectory(), `${to}2`)).toThrow(/There is no database/);
  expect(() => backUpSqlite(dataDir, join(to, 'below.db'))).toThrow(/ENOTDIR/);
  await database.close();
});

it('a damaged database is not backed up', async () => {
  const dataDir = temporaryDirectory();
  const database = await openDatabase({ dataDir, role: 'gateway', clock: systemClock, logger: quietLogger });
  const { id: merchantId } = await seedMerchant(database.queries);
  await seedDevice(database.queries, merchantId);
  // As after the loss of a page on the disk: a row without its parent.
  await database.close();
  const { DatabaseSync } = await import('node:sqlite');
  const direct = new DatabaseSync(join(dataDir, 'tillgate.db'), { enableForeignKeyConstraints: false });
  direct.exec('delete from merchants');
  direct.close();
  const to = join(temporaryDirectory(), 'copy.db');
  expect(() => backUpSqlite(dataDir, to)).toThrow(/is damaged .*Keep the last good one/);
  expect([existsSync(to), existsSync(`${to}.part`)]).toEqual([false, false]);
});

it('backup of PostgreSQL is refused in favour of its own tools', { timeout: 2 * patienceMs }, async () => {
  const refused = await runProgram(['backup', '--to', '/tmp/never'], { TILLGATE_DATABASE_URL: 'postgres://127.0.0.1:1/x' });
  expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/pg_dump/)]);
});
