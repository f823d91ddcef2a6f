// A person's note that settles an item of Attention, with its author and reason. One note per item; the first one counts.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { writeAudit } from '../../../access/audit.ts';
import type { Database, Queries } from '../../../database/database.ts';
import { nowMs } from '../../../database/dialect.ts';
import { GatewayError } from '../../../kernel/error-codes.ts';
import { moneySql } from '../money-sql.ts';
import type { Scope } from '../scope.ts';

/** The kinds that a note can settle; the others have their own steps. */
export const notedKinds = [
  'unmatched',
  'paydRefused',
  'paidByCard',
  'erpNotNotified',
  'receiptWithoutPayment',
  'paymentWithoutReceipt',
  'voidedAfterReceipt',
  'dayClose',
] as const;
export type NotedKind = (typeof notedKinds)[number];

/** Without a note of a person. A subject that may be listed again has a version, which the note names. */
export function unnoted(kind: NotedKind, subject: RawBuilder<unknown>, version?: RawBuilder<unknown>): RawBuilder<SqlBool> {
  const isCurrent = version === undefined ? sql`` : sql` and n.version = ${version}`;
  return sql`not exists (select 1 from notes n where n.kind = ${kind} and n.subject_id = ${subject}${isCurrent})`;
}

const tableOf: Record<NotedKind, 'unmatched_reports' | 'orphan_payments' | 'invoices' | 'callbacks' | 'commands'> = {
  unmatched: 'unmatched_reports',
  paydRefused: 'orphan_payments',
  paidByCard: 'invoices',
  erpNotNotified: 'callbacks',
  receiptWithoutPayment: 'commands',
  paymentWithoutReceipt: 'commands',
  voidedAfterReceipt: 'commands',
  dayClose: 'commands',
};

export interface Note {
  kind: NotedKind;
  subjectId: string;
  reason: string;
  actor: string;
}

export async function writeNote({ transaction }: Database, scope: Scope, note: Note): Promise<void> {
  await transaction(async (queries) => {
    const merchantId = await ownerOf(queries, note);
    if (merchantId === undefined || (scope.merchantId !== undefined && scope.merchantId !== merchantId)) {
      throw new GatewayError('Record_not_exist', 'There is no item of that kind and id.');
    }
    const version = note.kind === 'paydRefused' ? await versionOfOrphan(queries, note.subjectId) : 1;
    if (version === undefined) {
      throw new GatewayError(
        'The_status_cannot_be_applied',
        'The invoice has accepted this payment in the meantime; do not return the money.',
      );
    }
    const said = { at: nowMs, actor: note.actor, reason: note.reason, version };
    const written = await queries
      .insertInto('notes')
      .values({ merchant_id: merchantId, kind: note.kind, subject_id: note.subjectId, ...said })
      // The note about an earlier version stays in the audit log.
      .onConflict((conflict) => conflict.columns(['kind', 'subject_id']).doUpdateSet(said).where('notes.version', '<', version))
      .returning('id')
      .executeTakeFirst();
    if (!written) throw new GatewayError('The_status_cannot_be_applied', 'The item already has a note; the first one counts.');
    const detail = { kind: note.kind, reason: note.reason };
    await writeAudit(queries, { actor: note.actor, action: 'attention.note', subject: note.subjectId, merchantId, detail });
  });
}

async function ownerOf(queries: Queries, { kind, subjectId }: Note): Promise<string | undefined> {
  const table = tableOf[kind];
  const isNumbered = table === 'orphan_payments' || table === 'unmatched_reports';
  if (isNumbered && !/^\d{1,15}$/.test(subjectId)) return undefined;
  const id = isNumbered ? sql`cast(${subjectId} as bigint)` : sql`${subjectId}`;
  const { rows } = await sql<{
    merchant_id: string;
  }>`select merchant_id from ${sql.table(table)} where ${sql.ref(table === 'invoices' ? 'oid' : 'id')} = ${id}`.execute(queries);
  return rows[0]?.merchant_id;
}

async function versionOfOrphan(queries: Queries, subjectId: string): Promise<number | undefined> {
  const listed = queries.selectFrom('orphan_payments as o').select('o.version').where(moneySql().orphan.isListed);
  return (await listed.where('o.id', '=', Number(subjectId)).executeTakeFirst())?.version;
}

/** The first note about any of the subjects: a day has several closes. */
export async function readNote(
  queries: Queries,
  kind: NotedKind,
  subjectIds: readonly string[],
): Promise<{ atMs: number; actor: string; reason: string } | undefined> {
  return await queries
    .selectFrom('notes')
    .select(['at as atMs', 'actor', 'reason'])
    .where('kind', '=', kind)
    .where('subject_id', 'in', [...subjectIds])
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
}
