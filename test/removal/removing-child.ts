// Removes what is old as fast as it can and is killed, by itself and as by kill -9, at its n-th transaction: right after the commit,
// or before it with all statements done. Argument: JSON { place, killAt, when }.
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { createRemoval } from '../../src/removal/removal.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { everything, hasty } from './old-things.ts';

const { place, killAt, when } = JSON.parse(process.argv[2] ?? '{}') as {
  place: { url?: string; dataDir?: string };
  killAt: number;
  when: 'before the commit' | 'after the commit';
};
const database = await openDatabase({ ...place, role: 'gateway', clock: systemClock, logger: quietLogger });
let begun = 0;

function dieIf(moment: typeof when): void {
  if (begun === killAt && when === moment) process.kill(process.pid, 'SIGKILL');
}

const mortal: typeof database = {
  ...database,
  async transaction(work) {
    begun += 1;
    const result = await database.transaction(async (queries) => {
      const done = await work(queries);
      dieIf('before the commit');
      return done;
    });
    dieIf('after the commit');
    return result;
  },
};
createRemoval({ database: mortal, clock: hasty(systemClock), logger: quietLogger, instanceId: 'killed', keeping: everything }).start();
