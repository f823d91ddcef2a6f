// Writes rows as fast as it can and prints the number of each one that the database has acknowledged, until it is killed.
import { writeSync } from 'node:fs';
import { nowMs } from '../../src/database/dialect.ts';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { quietLogger } from '../support/quiet-logger.ts';

const place = JSON.parse(process.argv[2] ?? '{}') as { url?: string; dataDir?: string };
const database = await openDatabase({ ...place, role: 'gateway', clock: systemClock, logger: quietLogger });
let last = 0;

async function write(): Promise<never> {
  for (;;) {
    last += 1;
    const number = last;
    const row = { at: nowMs, actor: 'child', action: 'write', subject: `${number}`, detail: '' };
    // Both ways in: by itself, and in a transaction of two.
    if (number % 3 !== 0) await database.queries.insertInto('audit_log').values(row).execute();
    else {
      await database.transaction(async (tx) => {
        await tx.insertInto('audit_log').values(row).execute();
        await tx
          .insertInto('audit_log')
          .values({ ...row, action: 'second half' })
          .execute();
      });
    }
    writeSync(1, `${number}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, write));
