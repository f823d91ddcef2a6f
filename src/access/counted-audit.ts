// Audit entries for frequent events: failed logins to the cabinet and refused calls. Password guessing causes thousands of them, which
// must neither fill the log nor cost a write each. So they are counted in memory: one entry per minute, actor and subject, with the
// number of events and the first few accounts or calls. A killed process loses its current minute. Subjects above the bound share one count.

import type { Shared } from '../database/shared-deps.ts';
import type { Cancel } from '../kernel/clock.ts';
import { type AuditEntry, writeAudit } from './audit.ts';

const minuteMs = 60_000;
const maxEntries = 200;
const maxNamed = 5;

export interface Counted extends Omit<AuditEntry, 'detail'> {
  /** The account of the failed login, or the refused call. */
  about?: string | undefined;
}

interface Count {
  entry: Omit<AuditEntry, 'detail'>;
  count: number;
  about: Set<string>;
}

export function createCountedAudit({ database, clock, logger }: Pick<Shared, 'database' | 'clock' | 'logger'>) {
  let counts = new Map<string, Count>();
  let timer: Cancel | undefined;

  function add(entry: Count['entry'], number: number, about: Iterable<string>): void {
    const nameOf = ({ actor, action, subject }: Count['entry']) => JSON.stringify([actor, action, subject]);
    const isKept = counts.has(nameOf(entry)) || counts.size < maxEntries;
    const counted = isKept ? entry : { actor: 'others', action: entry.action, subject: 'others' };
    const name = nameOf(counted);
    const known = counts.get(name) ?? { entry: counted, count: 0, about: new Set() };
    counts.set(name, known);
    known.count += number;
    for (const one of about) if (known.about.size < maxNamed) known.about.add(one);
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
        for (const { entry, count, about } of written.values()) {
          await writeAudit(queries, { ...entry, detail: { count, ...(about.size === 0 ? {} : { about: [...about] }) } });
        }
      });
    } catch (error) {
      logger.warn({ err: error, entries: written.size }, 'counted entries could not be written to the audit log; the gateway will retry');
      for (const { entry, count, about } of written.values()) add(entry, count, about);
      writeLater();
    }
  }

  return {
    note({ about, ...entry }: Counted): void {
      add(entry, 1, about === undefined ? [] : [about]);
      writeLater();
    },
    /** Writes the current counts. */
    async stop(): Promise<void> {
      timer?.();
      await write();
      // A failed write is not retried after this.
      timer?.();
    },
  };
}
