// "Last used" of API keys. No request pays for it: uses are noted here and written together, all keys in one statement, a second after the
// first use and then at most once a minute. A process that is killed loses the minute at hand.
import { sql } from 'kysely';
import { rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Database } from '../database/database.ts';
import type { Cancel, Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';

const soonMs = 1_000;
const writeEveryMs = 60_000;
/** Keys in one statement; a use of one more is noted with the next. */
const maxKeys = 10_000;

export interface KeyUses {
  note(keyId: string): void;
  /** Writes what was noted so far. */
  stop(): Promise<void>;
}

const columns = { id: 'text', age_ms: 'int8' } as const;

export function createKeyUses({ database, clock, logger }: { database: Database; clock: Clock; logger: Logger }): KeyUses {
  /** When each was used, on clock.elapsed(). */
  let usedAtMs = new Map<string, number>();
  let lastWriteMs = Number.NEGATIVE_INFINITY;
  let timer: Cancel | undefined;

  function writeLater(): void {
    timer ??= clock.after(Math.max(soonMs, lastWriteMs + writeEveryMs - clock.elapsed()), () => {
      timer = undefined;
      void write();
    });
  }

  async function write(): Promise<void> {
    if (usedAtMs.size === 0) return;
    const written = usedAtMs;
    usedAtMs = new Map();
    lastWriteMs = clock.elapsed();
    // In one order: another gateway may be at the same rows.
    const rows = [...written].sort(([one], [other]) => (one < other ? -1 : 1));
    const ages = rowsText(
      columns,
      rows.map(([id, atMs]) => ({ id, age_ms: Math.max(0, Math.round(lastWriteMs - atMs)) })),
    );
    try {
      await sql`update "api_keys" set "last_used_at" = now_ms() - "used"."age_ms" from ${rowsAs(database.engine, 'used', columns, ages)}
        where "api_keys"."id" = "used"."id" and coalesce("last_used_at", 0) < now_ms() - "used"."age_ms"`.execute(database.queries);
    } catch (error) {
      logger.warn({ err: error, keys: written.size }, 'the last use of API keys could not be written; it will be tried again');
      usedAtMs = new Map([...written, ...usedAtMs]);
      writeLater();
    }
  }

  return {
    note(keyId) {
      if (usedAtMs.size >= maxKeys && !usedAtMs.has(keyId)) return;
      usedAtMs.set(keyId, clock.elapsed());
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
