// Logins to the cabinet that failed, in the audit log: one entry per address and minute, with their number. Somebody who guesses makes
// thousands, and they must neither fill the log nor cost the database a write each; so they are counted here and written when the minute ends.
// A process that is killed loses the minute at hand. More addresses than are kept apart are counted together.
import type { Database } from '../database/database.ts';
import type { Cancel, Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { writeAudit } from './audit.ts';

const minuteMs = 60_000;
const maxAddresses = 200;
const elsewhere = 'other addresses';

export interface FailedLogins {
  note(address: string): void;
  /** Writes what was counted so far. */
  stop(): Promise<void>;
}

export function createFailedLogins({ database, clock, logger }: { database: Database; clock: Clock; logger: Logger }): FailedLogins {
  let counts = new Map<string, number>();
  let timer: Cancel | undefined;

  function add(address: string, count: number): void {
    const name = counts.has(address) || counts.size < maxAddresses ? address : elsewhere;
    counts.set(name, (counts.get(name) ?? 0) + count);
  }

  function writeLater(): void {
    timer ??= clock.after(minuteMs, () => {
      timer = undefined;
      void write();
    });
  }

  async function write(): Promise<void> {
    if (counts.size === 0) return;
    const written = counts;
    counts = new Map();
    try {
      await database.transaction(async (queries) => {
        for (const [subject, count] of written)
          await writeAudit(queries, { actor: 'unknown', action: 'login.fail', subject, detail: { count } });
      });
    } catch (error) {
      logger.warn({ err: error, addresses: written.size }, 'failed logins could not be written to the audit log; it will be tried again');
      for (const [address, count] of written) add(address, count);
      writeLater();
    }
  }

  return {
    note(address) {
      add(address, 1);
      writeLater();
    },
    async stop() {
      timer?.();
      await write();
      // What could not be written now is not tried again.
      timer?.();
    },
  };
}
