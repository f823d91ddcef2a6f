// The statements of a commit (commit.ts), the same few for every unit, prepared once: for each table one that guards, locks and writes rows, and
// one that inserts.
import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { type BatchColumns, listed } from './batch-rows.ts';
import {
  atCommit,
  type CommitTable,
  type CommitTables,
  type Insert,
  isUnguarded,
  keyOf,
  type Unit,
  type Value,
  type Values,
  type Write,
} from './commit-data.ts';
import { isOne, type OfRows, ofRows } from './commit-rows.ts';
import {
  isMixed,
  keyColumns,
  keyShape,
  type Shape,
  shapesOf,
  toKeyRow,
  toWriteRow,
  type Used,
  usedBy,
  writeColumns,
} from './commit-shapes.ts';
import type { Queries } from './database.ts';
import type { Engine } from './dialect.ts';
import { keptQuery } from './kept-statement.ts';

interface Listed {
  /** The first one returns the time. */
  list: CompiledQuery[];
  /** The inserts that return what the database filled in, with the places of their statements. */
  filled: { at: number; table: CommitTable; inserts: readonly Insert[] }[];
  /** All of them are about single rows. */
  isNarrow: boolean;
}

interface TableStatements {
  write: OfRows;
  insert: OfRows;
  absent: OfRows;
  remove: OfRows;
  find: OfRows;
}

export function createStatements(engine: Engine, tables: CommitTables) {
  const made = Object.fromEntries(
    Object.entries(tables).map(([name, table]) => [name, { table, ...shapesOf(name, table), ...statementsOf(engine, name, table) }]),
  );
  const names = Object.keys(tables);
  const begin = beginning(engine);
  const mustCount = keptQuery((queries, { count }: { count: number }) => sql`select must(changes() = ${count})`.compile(queries));
  const of = (name: string) => made[name] as TableStatements & ReturnType<typeof shapesOf> & { table: CommitTable };

  function add(listed: Listed, statement: CompiledQuery, rows: readonly Values[], shape: Shape): void {
    listed.list.push(statement);
    listed.isNarrow &&= isOne(rows, shape);
  }

  function addWrites(queries: Queries, listed: Listed, { name, writes }: Parts): void {
    const { table, write, ofWrites } = of(name);
    for (const part of apart(inOrder(onePerRow(writes), ({ key }) => key))) {
      const shape = ofWrites(part);
      const hasMasks = isMixed(shape);
      const rows = part.map((one) => toWriteRow(table, one, hasMasks));
      add(listed, write(queries, rows, shape), rows, shape);
      if (engine === 'sqlite') listed.list.push(mustCount(queries, { count: rows.length }));
    }
  }

  function addInserts(queries: Queries, listed: Listed, { name, inserts }: Parts): void {
    const { table, insert, ofInserts } = of(name);
    for (const part of apart(inOrder(inserts, ({ row }) => keyOf(table, row)))) {
      if (table.assigned) listed.filled.push({ at: listed.list.length, table, inserts: part });
      const rows = part.map(({ row }) => row);
      const shape = ofInserts(part);
      add(listed, insert(queries, rows, shape), rows, shape);
    }
  }

  function addAbsent(queries: Queries, listed: Listed, { name, absent: keys }: Parts): void {
    const { table, absent } = of(name);
    for (const part of apart(keys)) {
      const rows = part.map(({ key }) => toKeyRow(table, key));
      add(listed, absent(queries, rows, keyShape), rows, keyShape);
    }
  }

  function addDeletes(queries: Queries, listed: Listed, { name, deletes }: Parts): void {
    if (deletes.length === 0) return;
    add(listed, of(name).remove(queries, deletes, keyShape), deletes, keyShape);
  }

  return {
    /** Locks first, in the order of the tables; then the rows that take values from them; then what goes, and what must not be there. */
    all(queries: Queries, units: readonly Unit[], lockWait: string): Listed {
      const any = begin(queries, { lockWait }, 'any plan');
      const listed: Listed = { list: [any], filled: [], isNarrow: true };
      const parts = partsOf(units);
      const used = names.flatMap((name) => parts.get(name) ?? []);
      for (const part of used) {
        addWrites(queries, listed, part);
        if (!of(part.name).table.assigned) addInserts(queries, listed, part);
      }
      for (const part of used) if (of(part.name).table.assigned) addInserts(queries, listed, part);
      for (const part of used) addDeletes(queries, listed, part);
      for (const part of used) addAbsent(queries, listed, part);
      if (!listed.isNarrow) listed.list[0] = begin(queries, { lockWait }, 'index plan');
      return listed;
    },
    now: (queries: Queries): CompiledQuery => sql`select now_ms() as "now"`.compile(queries),
    find(queries: Queries, { table: name, row }: Insert): CompiledQuery {
      const { table, find } = of(name);
      return find(queries, [toKeyRow(table, keyOf(table, row))], keyShape);
    },
  };
}

/** What the units do with one table. */
interface Parts {
  name: string;
  writes: Write[];
  inserts: Insert[];
  absent: { key: readonly string[] }[];
  deletes: { of: string }[];
}

function partsOf(units: readonly Unit[]): Map<string, Parts> {
  const parts = new Map<string, Parts>();
  const of = (name: string): Parts => {
    const known = parts.get(name);
    if (known) return known;
    const fresh = { name, writes: [], inserts: [], absent: [], deletes: [] };
    parts.set(name, fresh);
    return fresh;
  };
  for (const { writes, inserts, absent = [], deletes = [] } of units) {
    for (const write of writes) of(write.table).writes.push(write);
    for (const insert of inserts) of(insert.table).inserts.push(insert);
    for (const one of absent) of(one.table).absent.push(one);
    for (const one of deletes) of(one.table).deletes.push({ of: one.of });
  }
  return parts;
}

/**
 * Local to the transaction: a pooler may drop what is set for a connection. Rows of one statement are locked in one order if its plan searches
 * each by its key; a statement for a single row has no order.
 */
function beginning(engine: Engine) {
  return keptQuery((queries, { lockWait }: { lockWait: string }, plan: 'any plan' | 'index plan') => {
    if (engine === 'sqlite') return sql`select now_ms() as "now"`.compile(queries);
    const planner = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off' };
    const set = Object.entries(plan === 'index plan' ? planner : {}).map(
      ([name, value]) => sql`, set_config(${sql.lit(name)}, ${sql.lit(value)}, true)`,
    );
    return sql`select now_ms() as "now", set_config('lock_timeout', ${lockWait}, true)${sql.join(set, sql``)}`.compile(queries);
  });
}

/** So few rows go one after the other, in their order: that costs less than a statement that reads them as a table. */
const maxApart = 3;
function apart<Row>(rows: readonly Row[]): (readonly Row[])[] {
  if (rows.length <= maxApart) return rows.map((row) => [row]);
  return [rows];
}

/** Of several writes of a row, one at most is guarded: it comes first, and the others as if they were committed after it. */
function onePerRow(writes: readonly Write[]): readonly Write[] {
  const unguarded = writes.filter(isUnguarded);
  if (unguarded.length === 0) return writes;
  const rows = new Map<string, Write>();
  for (const write of [...writes.filter((one) => !isUnguarded(one)), ...unguarded]) {
    const row = write.key.join('\u0000');
    const first = rows.get(row) ?? write;
    rows.set(row, { ...first, set: { ...first.set, ...write.set } });
  }
  return [...rows.values()];
}

function statementsOf(engine: Engine, name: string, table: CommitTable): TableStatements {
  const { columns, assigned = {}, key } = table;
  const target = sql.raw(`"${name}"`);
  const inserted = (shape: Shape): BatchColumns => {
    if (shape === undefined) return columns;
    // What the database fills in may be calculated from what was given.
    const named = new Set([...shape.split(' '), ...Object.keys(assigned)]);
    return Object.fromEntries(Object.entries(columns).filter(([column]) => named.has(column)));
  };
  const found = listed({ ...keyColumns(table), ...assigned }, (column) => `"row"."${column}"`);
  const ifTaken = sql.raw(table.mayExist ? 'on conflict do nothing' : '');
  const returning = table.assigned ? sql`returning ${listed({ ...keyColumns(table), ...assigned })}` : sql``;
  const isRow = sql.raw(key.map((column) => `"row"."${column}" = "new"."${column}"`).join(' and '));
  const rowsOf = (from: RawBuilder<unknown>) => sql`${from} join ${target} as "row" on ${isRow}`;
  const keys = { columnsOf: () => keyColumns(table) };
  return {
    write: writing(engine, name, table),
    insert: ofRows(engine, { columnsOf: inserted, mayLack: Object.keys(assigned) }, (from, _, shape) => {
      const given = Object.fromEntries(Object.entries(inserted(shape)).filter(([column]) => assigned[column] === undefined));
      const values = [...Object.keys(given).map((column) => `"new"."${column}"`), ...Object.values(assigned)].join(', ');
      return sql`insert into ${target} (${listed({ ...given, ...assigned })})
        select ${sql.raw(values)} from ${from} where true ${ifTaken} ${returning}`;
    }),
    absent: ofRows(engine, keys, (from) => {
      const isNone = sql`not exists (select 1 from ${rowsOf(from)})`;
      return engine === 'sqlite' ? sql`select must(${isNone})` : sql`select 1 / (${isNone})::int`;
    }),
    remove: ofRows(engine, { columnsOf: () => ({ of: 'text' }) }, (from) => {
      const column = sql.raw(`"${table.deletedBy ?? key[0] ?? ''}"`);
      return sql`delete from ${target} where ${column} in (select "new"."of" from ${from})`;
    }),
    find: ofRows(engine, keys, (from) => sql`select ${found} from ${rowsOf(from)}`),
  };
}

/** Guard, lock and write. On PostgreSQL the count raises in the statement itself, on SQLite in the one that follows. */
function writing(engine: Engine, name: string, table: CommitTable): OfRows {
  return ofRows(engine, { columnsOf: (shape) => writeColumns(table, shape) }, (from, count, shape) => {
    const used = usedBy(table, shape);
    const { sets, conditions } = used.isMixed ? masked(table, used) : uniform(table, used);
    const isRow = table.key.map((column) => `"row"."${column}" = "new"."${column}"`);
    const where = [...isRow, ...conditions].join(' and ');
    const statement = sql`update ${sql.raw(`"${name}"`)} as "row" set ${sql.raw(sets.join(', '))} from ${from} where ${sql.raw(where)}`;
    if (engine === 'sqlite') return statement;
    return sql`with "written" as (${statement} returning 1) select 1 / (count(*) = ${count})::int from "written"`;
  });
}

interface Written {
  sets: string[];
  conditions: string[];
}

const isVersion = (version: string) => `"row"."${version}" = "new"."is-version"`;

function valueOf({ columns }: CommitTable, column: string): string {
  const value = `"new"."set-${column}"`;
  return columns[column] === 'int8' ? `case ${value} when ${atCommit} then now_ms() else ${value} end` : value;
}

/** Every row sets and compares the same columns. */
function uniform(table: CommitTable, used: Used): Written {
  const { version = '' } = table;
  const raised = version === '' || used.isLate ? [] : [`"${version}" = "row"."${version}" + 1`];
  const sets = [...raised, ...used.settable.map((column) => `"${column}" = ${valueOf(table, column)}`)];
  const compared = used.guardable.map((column) => `"row"."${column}" is not distinct from "new"."old-${column}"`);
  return { sets, conditions: [...(used.isVersion ? [isVersion(version)] : []), ...compared] };
}

function masked(table: CommitTable, used: Used): Written {
  const { version, settable = [], guardable = [] } = table;
  const has = (mask: string, at: number) => `"new"."${mask}" & ${2 ** at} <> 0`;
  const raised = version === undefined ? [] : [`"${version}" = "row"."${version}" + "new"."raises"`];
  const set = used.settable.map(
    (column) =>
      `"${column}" = case when ${has('sets', settable.indexOf(column))} then ${valueOf(table, column)} else "row"."${column}" end`,
  );
  const same = version === undefined ? [] : [`coalesce("new"."is-version", "row"."${version}") = "row"."${version}"`];
  const compared = used.guardable.map((column) => {
    const isSame = `"row"."${column}" is not distinct from "new"."old-${column}"`;
    return `case when ${has('guards', guardable.indexOf(column))} then ${isSame} else true end`;
  });
  return { sets: [...raised, ...set], conditions: [...same, ...compared] };
}

/** By primary key: the order in which rows are locked. */
function inOrder<Item>(items: readonly Item[], key: (item: Item) => readonly Value[]): readonly Item[] {
  if (items.length === 1) return items;
  const keyed = items.map((item) => ({ item, text: key(item).join('\u0000') }));
  keyed.sort((a, b) => (a.text < b.text ? -1 : Number(a.text > b.text)));
  return keyed.map(({ item }) => item);
}
