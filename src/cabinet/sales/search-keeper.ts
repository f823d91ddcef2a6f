// Fills the search terms in the background, from rows settled since the last round [D175]. It continues from the position of any instance;
// two instances at once write the same terms. If it dies or lags, the newest sales are not found by authorization code, card or receipt
// number for a while; by all other numbers they are found at once.

import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { listed, type RowsText, rowsAs, rowsText } from '../../database/batch-rows.ts';
import type { Database, Queries } from '../../database/database.ts';
import type { Engine } from '../../database/dialect.ts';
import { keptStatement } from '../../database/kept-statement.ts';
import type { Shared } from '../../database/shared-deps.ts';
import type { OperationState } from '../../kernel/operation-states.ts';
import type { OperationName } from '../../kernel/operations.ts';
import { createRounds, type Rounds } from '../../kernel/rounds.ts';
import { type TermKind, termsOfCommand, termsOfInvoice } from '../views/lists/search-terms.ts';
import { moneySql } from '../views/money-sql.ts';

const everyMs = 5_000;
/** A row gets its time before its transaction commits: an older row may still appear among rows younger than this. */
const restsForMs = 3_000;
/** A receipt has up to 256 KiB, and payments wait while these rows are read and parsed. */
const rowsPerRead = 10;
const readsPerCommit = 50;
/** Per round: a long history is filled in parts, with pauses that leave the disk to payments. */
const commitsPerRound = 10;
const rowsPerInsert = 200;
/** The name of the progress. A new one after the terms have changed reads all rows again. */
const progressOf = { command: 'command 2', invoice: 'invoice' } as const satisfies Record<TermKind, string>;
const columns = { merchant_id: 'text', term: 'text', kind: 'text', subject_id: 'text' } as const;

interface Place {
  at: number;
  id: string;
}

interface Read extends Place {
  merchantId: string;
  terms: string[];
}

type Reader = (queries: Queries, after: Place) => Promise<Read[]>;

const younger = (time: string, id: string, { at, id: last }: Place) =>
  sql<SqlBool>`${sql.ref(time)} >= cast(${at} as bigint) and (${sql.ref(time)} > cast(${at} as bigint) or ${sql.ref(id)} > ${last}) and ${sql.ref(time)} <= now_ms() - ${sql.lit(restsForMs)}`;

/** It was executed, or its device says so. */
const mayBeMade: ReadonlySet<OperationState> = new Set(['Done', 'Closed', 'Voided', 'Refunded', 'Disputed']);

const readers: Record<TermKind, Reader> = {
  async command(queries, after) {
    const rows = await queries
      .selectFrom('settlements as s')
      .innerJoin('commands as c', 'c.id', 's.command_id')
      .select(['c.id', 'c.merchant_id', 'c.name', 'c.args', 'c.report', 'c.rrn', 'c.receipt_id', 's.settled_at as at'])
      .select(moneySql().of('c').standing.as('standing'))
      .where(younger('s.settled_at', 's.command_id', after))
      .orderBy('s.settled_at')
      .orderBy('s.command_id')
      .limit(rowsPerRead)
      .execute();
    return rows.map((row) => ({
      at: row.at,
      id: row.id,
      merchantId: row.merchant_id,
      terms: mayBeMade.has(row.standing) ? termsOfCommand({ ...row, name: row.name as OperationName }) : [],
    }));
  },
  async invoice(queries, after) {
    const rows = await queries
      .selectFrom('invoices')
      .select(['oid', 'merchant_id', 'receipt', 'created_at', 'removed_at'])
      .where(younger('created_at', 'oid', after))
      .orderBy('created_at')
      .orderBy('oid')
      .limit(rowsPerRead)
      .execute();
    return rows.map((row) => ({
      at: row.created_at,
      id: row.oid,
      merchantId: row.merchant_id,
      terms: row.removed_at === null ? termsOfInvoice(row.receipt) : [],
    }));
  },
};

export function createSearchKeeper({ database, clock, logger }: Pick<Shared, 'database' | 'clock' | 'logger'>): Rounds {
  const complaint = 'the search terms could not be written; the gateway will retry';
  const work = async () => {
    for (const kind of ['command', 'invoice'] as const) await fillTerms(database, kind);
  };
  return createRounds({ clock, logger, periodMs: everyMs, work, complaint });
}

/** One statement text for any number of terms: a text per number would fill the cache of prepared statements. */
const insertTerms = {
  postgres: keptStatement((queries, values: TermRows) => insertion('postgres', values).compile(queries)),
  sqlite: keptStatement((queries, values: TermRows) => insertion('sqlite', values).compile(queries)),
};

interface TermRows {
  rows: RowsText<typeof columns>;
}

function insertion(engine: Engine, { rows }: TermRows): RawBuilder<unknown> {
  return sql`insert into "search_terms" (${listed(columns)}) select ${listed(columns)} from ${rowsAs(engine, 'new', columns, rows)}
    where 1 = 1 on conflict do nothing`;
}

export async function fillTerms(database: Pick<Database, 'engine' | 'queries' | 'transaction'>, kind: TermKind): Promise<void> {
  const { engine, queries, transaction } = database;
  const known = await queries.selectFrom('search_progress').select(['at', 'id']).where('kind', '=', progressOf[kind]).executeTakeFirst();
  let place: Place = known ?? { at: 0, id: '' };
  for (let commits = 0; commits < commitsPerRound; commits += 1) {
    const { terms, last, isAll } = await readTerms(queries, kind, place);
    if (!last) return;
    place = last;
    const progress = { at: last.at, id: last.id };
    await transaction(async (within) => {
      for (let first = 0; first < terms.length; first += rowsPerInsert) {
        await insertTerms[engine](within, { rows: rowsText(columns, terms.slice(first, first + rowsPerInsert)) });
      }
      await within
        .insertInto('search_progress')
        .values({ kind: progressOf[kind], ...progress })
        .onConflict((conflict) => conflict.column('kind').doUpdateSet(progress))
        .execute();
    });
    if (isAll) return;
  }
}

async function readTerms(queries: Queries, kind: TermKind, after: Place) {
  const terms: { merchant_id: string; term: string; kind: TermKind; subject_id: string }[] = [];
  let last: Place | undefined;
  for (let reads = 0; reads < readsPerCommit; reads += 1) {
    const rows = await readers[kind](queries, last ?? after);
    for (const { merchantId, id, terms: own } of rows) {
      terms.push(...own.map((term) => ({ merchant_id: merchantId, term, kind, subject_id: id })));
    }
    last = rows.at(-1) ?? last;
    if (rows.length < rowsPerRead) return { terms, last, isAll: true };
  }
  return { terms, last, isAll: false };
}
