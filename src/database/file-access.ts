// Whether this process may use the files of the embedded database. A copy that root put into the data directory belongs to root: SQLite
// would only say that it is unable to open the file, or that it is read-only.
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { StartRefused } from '../kernel/start-refused.ts';

const files = ['tillgate.db', 'tillgate.db-wal', 'tillgate.db-shm', 'tillgate.lock'];

/** Throws StartRefused with what to do. `reader`: it only reads, from a database that is there. */
export function refuseFiles(dataDir: string, role: 'gateway' | 'reader'): void {
  const mode = role === 'reader' ? constants.R_OK : constants.R_OK | constants.W_OK;
  // A reader never opens the lock.
  for (const name of role === 'reader' ? files.slice(0, -1) : files) {
    const path = join(dataDir, name);
    try {
      accessSync(path, mode);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' && (role === 'gateway' || name !== 'tillgate.db')) continue;
      if (code === 'ENOENT')
        throw new StartRefused(
          `There is no database in ${dataDir}. If a gateway runs already, set TILLGATE_DATA_DIR to its data directory.`,
          { cause: error },
        );
      if (code !== 'EACCES') throw error;
      throw new StartRefused(foreign(dataDir, path, role), { cause: error });
    }
  }
}

function foreign(dataDir: string, path: string, role: 'gateway' | 'reader'): string {
  const may = role === 'reader' ? 'read' : 'write';
  return `${path} belongs to ${ownerOf(path)}, and user ${process.getuid?.()}, as whom this process runs, may not ${may} it. After a restore give the copy to the owner of the data directory, as root: chown --reference=${dataDir}/ ${dataDir}/tillgate.*; otherwise run the command as the user of the gateway.`;
}

function ownerOf(path: string): string {
  try {
    return `user ${statSync(path).uid}`;
  } catch {
    // Its directory may not be read.
    return 'another user';
  }
}
