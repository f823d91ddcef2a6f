// Commands that open the database directly: migrate it, and back up the embedded one.
import { backUpSqlite } from '../database/backup.ts';
import { migrateDatabase, openDatabase } from '../database/open.ts';
import { StartRefused } from '../kernel/start-refused.ts';
import { systemClock } from '../kernel/system.ts';
import { refuseUnusableDirectory } from './data-directory.ts';
import { createLogger } from './logger.ts';
import { UsageError } from './usage-error.ts';

interface Place {
  url: string | undefined;
  dataDir: string;
}

type Out = (text: string) => void;

export async function migrate({ url, dataDir }: Place, values: { check?: boolean; json?: boolean }, out: Out): Promise<number> {
  const options = { url, dataDir, clock: systemClock, logger: createLogger('warn') };
  if (values.check) {
    // Opening as a reader fails with a sentence if the schema is not current, and works beside a running gateway.
    await (await openDatabase({ ...options, role: 'reader' })).close();
    out(values.json ? JSON.stringify({ applied: [] }) : 'The database is up to date.');
    return 0;
  }
  if (url === undefined) await refuseUnusableDirectory(dataDir, systemClock);
  const applied = await migrateDatabase(options);
  const lines = applied.map(({ version, name }) => `Applied ${version} ${name}.`);
  if (values.json) out(JSON.stringify({ applied }));
  else out(lines.length === 0 ? 'The database was up to date.' : lines.join('\n'));
  return 0;
}

export async function backUp({ url, dataDir }: Place, { to, json }: { to?: string; json?: boolean }, out: Out): Promise<number> {
  if (to === undefined) throw new UsageError('--to is missing: the file to write.');
  if (url !== undefined)
    throw new StartRefused(
      'TILLGATE_DATABASE_URL names a PostgreSQL, which is backed up by pg_basebackup or pg_dump: see docs/operating.md.',
    );
  const { newestCommandAt, ...made } = backUpSqlite(dataDir, to);
  const newest = newestCommandAt === null ? null : new Date(newestCommandAt).toISOString();
  out(
    json
      ? JSON.stringify({ ...made, newestCommandAt: newest })
      : `${made.path}: ${made.bytes} bytes, ${made.commands} commands${newest === null ? '' : `, the newest of ${newest}`}; checked.`,
  );
  return 0;
}
