// Removes what is old as fast as it can and prints a line after each commit, until it is killed. Argument: where the database is, as JSON.
import { writeSync } from 'node:fs';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { createRemoval } from '../../src/removal/removal.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { everything, hasty } from './old-things.ts';

const place = JSON.parse(process.argv[2] ?? '{}') as { url?: string; dataDir?: string };
const database = await openDatabase({ ...place, role: 'gateway', clock: systemClock, logger: quietLogger });
const told = {
  ...database,
  async transaction<Result>(work: Parameters<typeof database.transaction<Result>>[0]) {
    const result = await database.transaction(work);
    writeSync(1, 'removed\n');
    return result;
  },
};
createRemoval({ database: told, clock: hasty(systemClock), logger: quietLogger, instanceId: 'killed', keeping: everything }).start();
