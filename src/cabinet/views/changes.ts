// Changes since the last query, for the event stream. Steps, histories and attempts are append-only, with growing ids. But a transaction with
// an early id may commit late, so each query starts at the id that was the newest `lateCommitsMs` ago and skips rows already reported. No
// row that commits within that time is missed.
import { sql } from 'kysely';
import type { Queries } from '../../database/database.ts';
import { createNewInvoiceReader } from './new-invoices.ts';

export interface Change {
  kind: 'command' | 'invoice' | 'callback';
  id: string;
  merchantId: string;
  /** Grows with each change of the same object. */
  version: number;
  /** The change may add an item to Attention or remove one. */
  touchesAttention: boolean;
}

const sources = {
  command: sql`command_events e join commands t on t.id = e.command_id`,
  invoice: sql`invoice_events e join invoices t on t.oid = e.oid`,
  callback: sql`callback_attempts e join callbacks t on t.id = e.callback_id`,
} as const;
const columns = {
  command: sql`t.id as subject, t.target_id as target, e.step as word`,
  invoice: sql`t.oid as subject, cast(null as text) as target, e.event as word`,
  callback: sql`t.id as subject, t.subject_id as target, t.state as word`,
} as const;
type Kind = Change['kind'];
const kinds: readonly Kind[] = ['command', 'invoice', 'callback'];

/** Intermediate steps. A lost channel and the answer to a Recall are not among them: they make the outcome unknown or known. */
const passing: ReadonlySet<string> = new Set([
  'sent',
  'accepted',
  'answered',
  'recall',
  'seen-again',
  'asked again',
  'answered again',
  'answered by other hardware',
]);

const maxRows = 1_000;
/** Longer than a transaction may take. */
const lateCommitsMs = 15_000;

interface Cursor {
  /** Newest ids with the time at which they were the newest, oldest first. */
  marks: { atMs: number; id: number }[];
  reported: Set<number>;
}

export type ChangeReader = ReturnType<typeof createChangeReader>;

export function createChangeReader() {
  const cursors = new Map<Kind, Cursor>();
  const newInvoices = createNewInvoiceReader(lateCommitsMs);

  async function newestId(queries: Queries, kind: Kind): Promise<number> {
    const table = { command: 'command_events', invoice: 'invoice_events', callback: 'callback_attempts' }[kind];
    const { rows } = await sql<{ id: number | null }>`select max(id) as id from ${sql.table(table)}`.execute(queries);
    return rows[0]?.id ?? 0;
  }

  async function readKind(queries: Queries, kind: Kind, nowMs: number): Promise<Change[]> {
    const cursor = cursors.get(kind);
    if (!cursor) {
      cursors.set(kind, { marks: [{ atMs: nowMs, id: await newestId(queries, kind) }], reported: new Set() });
      return [];
    }
    // The last mark that is old enough: every transaction with an id up to there has ended.
    while (cursor.marks.length > 1 && (cursor.marks[1]?.atMs ?? nowMs) <= nowMs - lateCommitsMs) cursor.marks.shift();
    const fromId = cursor.marks[0]?.id ?? 0;
    for (const id of cursor.reported) if (id <= fromId) cursor.reported.delete(id);
    const changes: Change[] = [];
    for (let after = fromId; ; ) {
      const { rows } = await sql<{ id: number; subject: string; target: string | null; word: string; merchant_id: string }>`
        select e.id, ${columns[kind]}, t.merchant_id from ${sources[kind]} where e.id > cast(${after} as bigint) order by e.id limit ${sql.lit(maxRows)}`.execute(
        queries,
      );
      for (const row of rows) {
        if (cursor.reported.has(row.id)) continue;
        cursor.reported.add(row.id);
        const shared = { merchantId: row.merchant_id, version: row.id, touchesAttention: !passing.has(row.word) };
        changes.push({ kind, id: row.subject, ...shared });
        // An operation on a payment changes the payment's page; an attempt of a callback changes the page of its subject.
        if (row.target !== null) changes.push({ kind: kind === 'callback' ? 'command' : kind, id: row.target, ...shared });
      }
      const last = rows.at(-1)?.id;
      if (last !== undefined && last > (cursor.marks.at(-1)?.id ?? 0)) cursor.marks.push({ atMs: nowMs, id: last });
      if (rows.length < maxRows || last === undefined) return changes;
      after = last;
    }
  }

  return {
    /** Rows added since the last call, in order. The first call only stores the position. */
    async read(queries: Queries, nowMs: number): Promise<Change[]> {
      const changes: Change[] = [];
      for (const kind of kinds) changes.push(...(await readKind(queries, kind, nowMs)));
      for (const { oid, merchantId } of await newInvoices.read(queries)) {
        changes.push({ kind: 'invoice', id: oid, merchantId, version: 0, touchesAttention: false });
      }
      return changes;
    },
  };
}
