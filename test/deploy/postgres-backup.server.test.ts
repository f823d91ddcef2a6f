// deploy/backup.sh with the settings of compose.yaml, on a real PostgreSQL: what was committed after the base backup comes back from the archive.
import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { patienceMs, temporaryDirectory } from '../support/gateway-process.ts';
import { postgresBinaries, startPostgres } from '../support/servers/postgres.ts';

const deploy = fileURLToPath(new URL('../../deploy/', import.meta.url));
const { services } = parse(readFileSync(`${deploy}compose.yaml`, 'utf8'), { merge: true });
const guide = readFileSync(fileURLToPath(new URL('../../docs/operating.md', import.meta.url)), 'utf8');

it('of compose.yaml are complete to the last commit', { timeout: 4 * patienceMs }, async () => {
  // Both PostgreSQL, as its own user, and this process write there.
  const backup = temporaryDirectory();
  const wal = join(backup, 'wal');
  mkdirSync(wal);
  for (const directory of [backup, wal]) chmodSync(directory, 0o777);
  const script = join(backup, 'backup.sh');
  cpSync(`${deploy}backup.sh`, script);
  const here = (text: string) => text.replace('/deploy/backup.sh', script).replace('sh ', `env BACKUP_DIR=${backup} sh `);
  const given = (services.postgres.command[2] as string).matchAll(/-c (?:'(\w+)=([^']*)'|(\w+)=(\S+))/g);
  const settings = Object.fromEntries([...given].map(([, quoted, text, name, value]) => [quoted ?? name ?? '', here(text ?? value ?? '')]));
  expect(Object.keys(settings)).toEqual(['archive_mode', 'archive_timeout', 'archive_command']);

  const first = await startPostgres({ settings });
  const environment = {
    ...process.env,
    ...{ BACKUP_DIR: backup, PGHOST: '127.0.0.1', PGPORT: String(first.port), PGUSER: 'postgres', PGDATABASE: 'postgres' },
    PATH: `${postgresBinaries()}:${process.env['PATH']}`,
  };
  const base = () => execFileSync('sh', [script, 'base'], { env: environment, stdio: 'pipe' });
  const client = new pg.Client({ connectionString: first.url });
  await client.connect();
  await client.query('create table sales (id int)');
  await client.query('insert into sales values (1)');
  base();
  await client.query('insert into sales values (2)');
  const { rows } = await client.query('select pg_walfile_name(pg_current_wal_lsn()) as name');
  await client.query('select pg_switch_wal()');
  await expect.poll(() => readdirSync(wal), { timeout: patienceMs }).toContain(rows[0].name);
  const { rows: roles } = await client.query("select rolreplication, rolsuper from pg_roles where rolname = 'backup'");
  expect(roles).toEqual([{ rolreplication: true, rolsuper: false }]);
  await client.end();
  await first.kill9();
  await first.stop();

  const [copy = ''] = readdirSync(backup).filter((name) => name.startsWith('base-'));
  const [, line = ''] = /^(restore_command = .*)$/m.exec(guide) ?? expect.fail();
  appendFileSync(join(backup, copy, 'postgresql.auto.conf'), `${line.replace('/backup', backup)}\n`);
  writeFileSync(join(backup, copy, 'recovery.signal'), '');
  const restored = await startPostgres({ from: join(backup, copy) });
  const again = new pg.Client({ connectionString: restored.url });
  await again.connect();
  expect((await again.query('select id from sales order by id')).rows).toEqual([{ id: 1 }, { id: 2 }]);
  await again.end();
  await restored.stop();
});

it('keeps 14 base backups and the log since the oldest, and archives nothing twice', () => {
  const backup = temporaryDirectory();
  const wal = join(backup, 'wal');
  mkdirSync(wal);
  const bin = join(backup, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'psql'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(
    join(bin, 'pg_basebackup'),
    '#!/bin/sh\nfor word; do case $word in --pgdata=*) mkdir "${word#*=}"; echo "START WAL LOCATION: 0/9 (file 000000010000000000000003)" > "${word#*=}/backup_label";; esac; done\n',
    { mode: 0o755 },
  );
  const run = (...args: string[]) =>
    execFileSync('sh', [`${deploy}backup.sh`, ...args], {
      env: { BACKUP_DIR: backup, PATH: `${bin}:${postgresBinaries()}:${process.env['PATH']}` },
      stdio: 'pipe',
    });
  for (let day = 10; day < 25; day += 1) {
    mkdirSync(join(backup, `base-202001${day}T000000Z`));
    writeFileSync(
      join(backup, `base-202001${day}T000000Z`, 'backup_label'),
      `START WAL LOCATION: 0/9 (file 0000000100000000000000${day})\n`,
    );
  }
  const file = join(backup, 'full');
  writeFileSync(file, 'log');
  for (const name of ['000000010000000000000011', '000000010000000000000012', '000000010000000000000099']) run('archive', file, name);
  run('archive', file, '000000010000000000000099');
  writeFileSync(file, 'other');
  expect(() => run('archive', file, '000000010000000000000099')).toThrow();
  run('base');
  expect(readdirSync(backup).filter((name) => name.startsWith('base-'))).toHaveLength(14);
  expect(readdirSync(wal).sort()).toEqual(['000000010000000000000012', '000000010000000000000099']);
  rmSync(backup, { recursive: true });
});

it('has logs that are bounded in every service', () => {
  for (const [name, { logging }] of Object.entries<{ logging?: unknown }>(services))
    expect(logging, name).toEqual({ driver: 'json-file', options: { 'max-size': '20m', 'max-file': '5' } });
});
