// The device's journal of ledger commands, by command id: it ensures that each runs once. An entry is found as soon as `write` is called, and
// durable when it resolves. A journal that starts empty gets a new journalId, so that the gateway can tell "never seen" from "forgotten".
import type { Random } from '../../kernel/random.ts';
import type { EndingOutcome, JsonObject } from '../../link/protocol.ts';
import type { RecordStore } from './record-store.ts';

export interface JournalEntry {
  id: string;
  /** The command's name; empty for a tombstone, whose command was never seen. */
  name: string;
  args: JsonObject;
  /** Receivers of the ending: the sender and every gateway that sent a Recall. */
  replyTos: string[];
  takenAtMs: number;
  answerByMs: number;
  /** `begun` is durable before the bank or the fiscal memory is used. */
  state: 'taken' | 'begun' | 'ended';
  /** It was accepted and ran; false for busy, expired, never and unsupported. */
  hasRun: boolean;
  outcome?: EndingOutcome;
  report?: JsonObject;
  reason?: string;
}

export interface Journal {
  /** undefined: this device keeps no journal. */
  readonly journalId: string | undefined;
  find(id: string): JournalEntry | undefined;
  /** Resolves when the entry is durable. The entry is found at once. */
  write(entry: JournalEntry): Promise<void>;
  /** Resolves when everything written so far is durable. */
  flushed(): Promise<void>;
  /** Entries without an ending, oldest first: those that a power cut interrupted. */
  unfinished(): JournalEntry[];
  /** The newest matching entry that ran. */
  last(isWanted?: (entry: JournalEntry) => boolean): JournalEntry | undefined;
  entries(): JournalEntry[];
}

export interface JournalOptions {
  store: RecordStore;
  random: Random;
  /** Minimum number of kept entries; the protocol requires 1,000. */
  keep?: number;
}

export async function openJournal({ store, random, keep = 2_000 }: JournalOptions): Promise<Journal> {
  const { records, isDamaged } = await store.load();
  const [header, ...rest] = records;
  const found = typeof header?.journalId === 'string' && !isDamaged ? header.journalId : undefined;
  const journalId = found ?? random.uuid();
  const entries = new Map<string, JournalEntry>();
  if (found) for (const record of rest) remember(record as unknown as JournalEntry);
  // A damaged journal may have lost ids: it counts as empty and gets a new journalId.
  else await store.replace([{ journalId }]);

  let appended = rest.length;
  let pending: Promise<unknown> = Promise.resolve();

  // In order of arrival: a device without a journal may accept the same id a second time.
  function remember(entry: JournalEntry): void {
    if (entry.state === 'taken') entries.delete(entry.id);
    entries.set(entry.id, entry);
  }

  function forgetOldest(): void {
    let surplus = entries.size - keep;
    for (const entry of entries.values()) {
      if (surplus <= 0) return;
      if (entry.state !== 'ended') continue;
      entries.delete(entry.id);
      surplus -= 1;
    }
  }

  async function append(entry: JournalEntry): Promise<void> {
    const isSurplus = appended > keep * 4;
    if (isSurplus) {
      forgetOldest();
      appended = entries.size;
      await store.replace([{ journalId }, ...entries.values()] as unknown as JsonObject[]);
    } else {
      appended += 1;
      await store.append(entry as unknown as JsonObject);
    }
  }

  return {
    journalId,
    find: (id) => entries.get(id),
    write(entry) {
      remember(entry);
      const written = append(entry);
      pending = Promise.all([pending, written]);
      pending.catch(() => {});
      return written;
    },
    flushed: async () => {
      await pending;
    },
    unfinished: () => [...entries.values()].filter((entry) => entry.state !== 'ended'),
    last: (isWanted) => [...entries.values()].findLast((entry) => entry.hasRun && (isWanted?.(entry) ?? true)),
    entries: () => [...entries.values()],
  };
}

/** An old terminal: it keeps only its last transaction and has no journalId. */
export function withoutJournal(journal: Journal): Journal {
  return { ...journal, journalId: undefined, find: () => undefined };
}
