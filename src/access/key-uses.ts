// "Last used" of API keys. Requests do not wait for it: uses are collected in memory and written for all keys in one statement, a second
// after the first use and then at most once a minute. A killed process loses its current minute.

import { sql } from 'kysely';
import { rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Shared } from '../database/shared-deps.ts';
import type { Cancel } from '../kernel/clock.ts';

const soonMs = 1_000;
const writeEveryMs = 60_000;
/** Keys per statement; further keys are recorded at their next use. */
const maxKeys = 10_000;

const columns = { id: 'text', age_ms: 'int8' } as const;

export function createKeyUses({ database, clock, logger }: Pick<Shared, 'database' | 'clock' | 'logger'>) {
  /** Last use of each key, by clock.elapsed(). */
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
    // Sorted, to avoid deadlocks with another gateway that updates the same rows.
    const rows = [...written].sort(([one], [other]) => (one < other ? -1 : 1));
    const ages = rowsText(
      columns,
      rows.map(([id, atMs]) => ({ id, age_ms: Math.max(0, Math.round(lastWriteMs - atMs)) })),
    );
    try {
      await sql`update "api_keys" set "last_used_at" = now_ms() - "used"."age_ms" from ${rowsAs(database.engine, 'used', columns, ages)}
        where "api_keys"."id" = "used"."id" and coalesce("last_used_at", 0) < now_ms() - "used"."age_ms"`.execute(database.queries);
    } catch (error) {
      logger.warn({ err: error, keys: written.size }, 'the last use of API keys could not be written; the gateway will retry');
      usedAtMs = new Map([...written, ...usedAtMs]);
      writeLater();
    }
  }

  return {
    note(keyId: string): void {
      if (usedAtMs.size >= maxKeys && !usedAtMs.has(keyId)) return;
      usedAtMs.set(keyId, clock.elapsed());
      writeLater();
    },
    /** Writes the collected uses. */
    async stop(): Promise<void> {
      timer?.();
      await write();
      // A failed write is not retried after this.
      timer?.();
    },
  };
}
