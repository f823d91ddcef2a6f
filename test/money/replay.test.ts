// Every decision of the transcripts once more on SQLite and PostgreSQL: the rows of the ledger in memory are put into the database, the case
// is loaded from there, and its commit writes the same rows as in memory.
import { globSync, readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { plan, plant } from '../../exploration/gateway.ts';
import { load as loadFromMemory, type Surroundings } from '../../exploration/memory-load.ts';
import { commitTo, type Ledger } from '../../exploration/memory-store.ts';
import { runTranscript } from '../../exploration/transcripts.ts';
import { merchantId, now } from '../../exploration/world.ts';
import { type Commit, createCommit } from '../../src/database/commit.ts';
import type { Unit, Values } from '../../src/database/commit-data.ts';
import { type Case, nameKey, type TableName } from '../../src/money/case.ts';
import type { Answer, Event } from '../../src/money/event.ts';
import { createLoad } from '../../src/money/load.ts';
import { decide } from '../../src/money/rules/decide.ts';
import { addedTables, commitTables, storedTable, tableNames } from '../../src/money/tables.ts';
import { unitOf } from '../../src/money/unit.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../support/engines.ts';
import { callbackRow, prepareForLedgers, storeLedger } from '../support/stored-ledger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

interface Seen {
  ledger: Ledger;
  event: Event;
  around: Surroundings;
}

const names = globSync('*.txt', { cwd: import.meta.dirname }).sort();

function decisionsOf(name: string): Seen[] {
  const seen: Seen[] = [];
  plant({ watch: (ledger, event, around) => seen.push({ ledger, event, around }) });
  runTranscript(readFileSync(`${import.meta.dirname}/${name}`, 'utf8'));
  plant({});
  return seen;
}

describe.each(engines)('the decisions of the transcripts on %s', (engine) => {
  let database: TestDatabase;
  let commit: Commit;

  beforeAll(async () => {
    database = await openQuickDatabase(engine, createVirtualClock(now));
    commit = createCommit(database, commitTables);
    await prepareForLedgers(database.queries);
  });
  afterEach(() => plant({}));
  afterAll(() => database.close());

  it.each(names)('%s', async (name) => {
    for (const seen of decisionsOf(name)) await compare(seen);
  });

  async function compare({ ledger, event, around }: Seen): Promise<void> {
    await storeLedger(database, ledger, around);
    const load = createLoad({ database, scanGraceMs: 0, surroundings: { live: (deviceId) => presenceIn(around, deviceId) } });
    const expected = loadFromMemory(ledger, event, around);
    const facts = { ...(await load(event)).case, waitedFor: around.waitedFor ?? new Set() };
    expect(rowsIn(facts, event)).toEqual(rowsIn(expected, event));

    const planned = plan(expected, event);
    const decided = decideWaited(facts, event);
    expect(shown(decided.answer, event)).toEqual(shown(planned.answer, event));
    if (!decided.next) return expect(planned.unit).toBeUndefined();
    const unit = unitOf(facts, decided, { ofOperation: { instance_id: 'gateway' }, callbackOf });
    expect(await commit.add(unit)).toMatchObject({ now });
    const after = planned.unit && commitTo(ledger, planned.unit, now);
    for (const table of tableNames) expect(await stored(storedTable(table).table)).toEqual(inMemory(after, table));
    const added = Object.keys(addedTables);
    expect(await counts(added)).toEqual(Object.fromEntries(added.map((table) => [table, keptRows(after, table, unit).length])));
  }

  const presenceIn = ({ presence }: Surroundings, deviceId: string) =>
    presence[nameKey(merchantId, deviceId)] ?? { isOnline: false, journalId: null, features: undefined };

  async function stored(table: string): Promise<Values[]> {
    const { rows } = await sql<Values>`select * from ${sql.table(table)}`.execute(database.queries);
    return inOrder(rows.map((row) => kept(table, row)));
  }

  async function counts(tables: readonly string[]): Promise<Record<string, number>> {
    const each = tables.map((table) => sql`(select count(*) from ${sql.table(table)}) as ${sql.ref(table)}`);
    const { rows } = await sql<Values>`select ${sql.join(each)}`.execute(database.queries);
    return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([table, count]) => [table, Number(count)]));
  }
});

/** The store in memory keeps what the removal of a record deletes. */
const keptRows = (ledger: Ledger | undefined, table: string, { deletes = [] }: Unit): Values[] =>
  Object.values(ledger?.[table] ?? {}).filter(
    (row) => !deletes.some((one) => one.table === table && row[commitTables[table]?.deletedBy ?? ''] === one.of),
  );

const callbackOf = ({ subjectKind, subjectId, sequence }: { subjectKind: string; subjectId: string; sequence: number }): Values =>
  callbackRow({ subject_kind: subjectKind, subject_id: subjectId, sequence });

function decideWaited(facts: Case, event: Event): ReturnType<typeof decide> {
  const decided = decide(facts, event);
  return decided.needs ? decideWaited(facts, { ...event, hasWaited: true } as Event) : decided;
}

const shown = (answer: Answer | undefined, event: Event) =>
  answer?.invoice && event.type !== 'Get' ? { ...answer, invoice: { ...answer.invoice, receipt: null } } : answer;

/** Arguments and receipts are not loaded where no answer shows them. */
function rowsIn(facts: Case, event: Event): object {
  const ops = Object.fromEntries(Object.entries(facts.ops).map(([id, op]) => [id, { ...op, args: null }]));
  const invoices = Object.fromEntries(
    Object.entries(facts.invoices).map(([id, one]) => [id, event.type === 'Get' ? one : { ...one, receipt: null }]),
  );
  return { ...facts, ops, invoices, presence: {} };
}

/** Which gateway has an operation is no matter of the rules. */
const columnsOf = (table: string) => new Set(Object.keys(commitTables[table]?.columns ?? {}).filter((column) => column !== 'instance_id'));
const kept = (table: string, row: Values): Values => {
  const known = columnsOf(table);
  return Object.fromEntries(Object.entries(row).filter(([column]) => known.has(column)));
};
const inMemory = (ledger: Ledger | undefined, table: TableName): Values[] => {
  const { table: name } = storedTable(table);
  const columns = [...columnsOf(name)];
  return inOrder(
    Object.values(ledger?.[name] ?? {}).map((row) => Object.fromEntries(columns.map((column) => [column, row[column] ?? null]))),
  );
};
const inOrder = (rows: Values[]): Values[] =>
  rows
    .map((row) => Object.fromEntries(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1))))
    .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
