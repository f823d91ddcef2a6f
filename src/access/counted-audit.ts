// Audit entries for frequent events: failed logins to the cabinet and refused calls. Password guessing causes thousands of them, which
// must neither fill the log nor cost a write each. So they are counted in memory, by actor and subject, with the number of events and the
// first few accounts or calls: the first entry is written after a minute, and while it goes on one more each hour, so that one caller cannot
// fill the log. A killed process loses what is not written yet. Subjects above the bound share one count.

import type { Shared } from '../database/shared-deps.ts';
import type { Cancel } from '../kernel/clock.ts';
import { widestNetwork } from '../kernel/network-limit.ts';
import { type AuditEntry, writeAudit } from './audit.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
const maxEntries = 200;
const maxNamed = 5;

export interface Counted extends Omit<AuditEntry, 'detail'> {
  /** The account of the failed login, or the refused call. */
  about?: string | undefined;
}

export interface FailedLogin {
  /** The network of the caller. */
  address: string;
  /** Absent: the admin token. */
  email?: string | undefined;
  /** The attempt opened another account of the e-mail. */
  isSignedIn?: boolean | undefined;
}

interface Count {
  entry: Omit<AuditEntry, 'detail'>;
  count: number;
  about: Set<string>;
}

export function createCountedAudit({ database, clock, logger }: Pick<Shared, 'database' | 'clock' | 'logger'>) {
  let counts = new Map<string, Count>();
  /** When an entry of that name was written last, oldest first; for an hour. */
  const writtenAt = new Map<string, number>();
  /** Names in the counts that were not written within the hour. */
  let fresh = 0;
  let timer: Cancel | undefined;

  const nameOf = ({ actor, action, subject }: Count['entry']) => JSON.stringify([actor, action, subject]);

  function add(entry: Count['entry'], number: number, about: Iterable<string>): void {
    const isKept = counts.has(nameOf(entry)) || writtenAt.has(nameOf(entry)) || fresh < maxEntries;
    const counted = isKept ? entry : { actor: 'others', action: entry.action, subject: 'others' };
    const name = nameOf(counted);
    if (!counts.has(name) && !writtenAt.has(name)) fresh += 1;
    const known = counts.get(name) ?? { entry: counted, count: 0, about: new Set() };
    counts.set(name, known);
    known.count += number;
    for (const one of about) if (known.about.size < maxNamed) known.about.add(one);
  }

  function writeLater(): void {
    timer ??= clock.after(minuteMs, () => {
      timer = undefined;
      void write(takeDue());
    });
  }

  /** Those that were written within the hour stay in memory until it is over. */
  function takeDue(): Map<string, Count> {
    for (const [name, atMs] of writtenAt) {
      if (clock.elapsed() - atMs < hourMs) break;
      writtenAt.delete(name);
    }
    const due = new Map([...counts].filter(([name]) => !writtenAt.has(name)));
    counts = new Map([...counts].filter(([name]) => writtenAt.has(name)));
    fresh = 0;
    return due;
  }

  async function write(written: Map<string, Count>): Promise<void> {
    if (counts.size > 0) writeLater();
    if (written.size === 0) return;
    try {
      await database.transaction(async (queries) => {
        for (const { entry, count, about } of written.values()) {
          await writeAudit(queries, { ...entry, detail: { count, ...(about.size === 0 ? {} : { about: [...about] }) } });
        }
      });
      for (const name of written.keys()) writtenAt.set(name, clock.elapsed());
    } catch (error) {
      logger.warn({ err: error, entries: written.size }, 'counted entries could not be written to the audit log; the gateway will retry');
      for (const { entry, count, about } of written.values()) add(entry, count, about);
      writeLater();
    }
  }

  function note({ about, ...entry }: Counted): void {
    add(entry, 1, about === undefined ? [] : [about]);
    writeLater();
  }

  return {
    note,
    /** By the widest network that one customer may have: an entry for each /64 of it would fill the log. */
    noteFailedLogin({ address, email, isSignedIn = false }: FailedLogin): void {
      const about = isSignedIn ? `${email} (signed in to another account)` : email;
      note({ actor: 'unknown', action: 'login.fail', subject: widestNetwork(address), about });
    },
    /** Writes the current counts. */
    async stop(): Promise<void> {
      timer?.();
      const all = counts;
      counts = new Map();
      await write(all);
      // A failed write is not retried after this.
      timer?.();
    },
  };
}
