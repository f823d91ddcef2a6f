// The statements of a commit (commit.ts), the same few for every unit, prepared once: for each table one that guards, locks and writes rows,
// one that only raises their versions, one that inserts. Rows go as one JSON parameter.
// Where all rows of a batch set and compare the same columns, the statement names only these. Otherwise two masks in each row tell which,
// because a null in the JSON could mean both; a statement for each set of columns would lock the rows of one table in several orders.
import { type CompiledQuery, sql } from 'kysely';
import { type BatchColumns, listed, type RowsText, rowsAs } from './batch-rows.ts';
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
import type { Queries } from './database.ts';
import type { Engine } from './dialect.ts';
import { keptQuery } from './kept-statement.ts';
import { type Bindable, toBindable } from './values.ts';

interface Listed {
  /** The first one returns the time. */
  list: CompiledQuery[];
  /** The inserts that return what the database filled in, with the places of their statements. */
  filled: { at: number; table: CommitTable; inserts: readonly Insert[] }[];
}

type Bind<Given> = (queries: Queries, given: Given) => CompiledQuery;
type Rows = { rows: RowsText<BatchColumns> };

/** The columns that every row of a batch sets and compares, or has: then the statement names only these. Undefined: the rows differ. */
type Shape = string | undefined;

interface TableStatements {
  written(shape: Shape): BatchColumns;
  write(queries: Queries, given: Rows & { count: number }, shape: Shape): CompiledQuery;
  touch: Bind<Rows & { count: number }>;
  inserted(shape: Shape): BatchColumns;
  insert(queries: Queries, given: Rows, shape: Shape): CompiledQuery;
  absent: Bind<Rows>;
  find: Bind<Rows>;
}

export function createStatements(engine: Engine, tables: CommitTables) {
  const made = Object.fromEntries(
    Object.entries(tables).map(([name, table]) => [name, { table, shapes: createShapes(), ...statementsOf(engine, name, table) }]),
  );
  const names = Object.keys(tables);
  const begin = beginning(engine);
  const mustCount = keptQuery((queries, { count }: { count: number }) => sql`select must(changes() = ${count})`.compile(queries));
  const of = (name: string) => made[name] as TableStatements & { table: CommitTable; shapes: Shapes };

  function addWrites(queries: Queries, list: CompiledQuery[], name: string, { writes }: Parts): void {
    if (writes.length === 0) return;
    const { table, written, write, touch, shapes } = of(name);
    const ordered = inOrder(onePerRow(writes), ({ key }) => key);
    const isTouched = ordered.every(isTouch);
    const shape = isTouched ? undefined : shapes.of(ordered, shapeOfWrite);
    const rows = ordered.map((one) => toWriteRow(table, one, shape !== undefined));
    const given = { rows: textOf(written(shape), rows), count: rows.length };
    list.push(isTouched ? touch(queries, given) : write(queries, given, shape));
    if (engine === 'sqlite') list.push(mustCount(queries, { count: rows.length }));
  }

  function addInserts(queries: Queries, { list, filled }: Listed, name: string, { inserts }: Parts): void {
    if (inserts.length === 0) return;
    const { table, insert, inserted, shapes } = of(name);
    const ordered = inOrder(inserts, ({ row }) => keyOf(table, row));
    if (table.assigned) filled.push({ at: list.length, table, inserts: ordered });
    const shape = shapes.of(ordered, shapeOfInsert);
    const rows = ordered.map(({ row }) => row);
    list.push(insert(queries, { rows: textOf(inserted(shape), rows) }, shape));
  }

  function addAbsent(queries: Queries, list: CompiledQuery[], name: string, { absent: keys }: Parts): void {
    if (keys.length === 0) return;
    const { table, absent } = of(name);
    const rows = keys.map(({ key }) => toKeyRow(table, key));
    list.push(absent(queries, { rows: textOf(keyColumns(table), rows) }));
  }

  return {
    /** Locks first, in the order of the tables; then the rows that take values from them; then what must not be there. */
    all(queries: Queries, units: readonly Unit[], lockWait: string): Listed {
      const listed: Listed = { list: [begin(queries, { lockWait })], filled: [] };
      const parts = partsOf(units);
      const used = names.flatMap((name) => parts.get(name) ?? []);
      for (const part of used) {
        addWrites(queries, listed.list, part.name, part);
        if (!of(part.name).table.assigned) addInserts(queries, listed, part.name, part);
      }
      for (const part of used) if (of(part.name).table.assigned) addInserts(queries, listed, part.name, part);
      for (const part of used) addAbsent(queries, listed.list, part.name, part);
      return listed;
    },
    now: (queries: Queries): CompiledQuery => sql`select now_ms() as "now"`.compile(queries),
    find(queries: Queries, { table: name, row }: Insert): CompiledQuery {
      const { table, find } = of(name);
      return find(queries, { rows: textOf(keyColumns(table), [toKeyRow(table, keyOf(table, row))]) });
    },
  };
}

/** What the units do with one table. */
interface Parts {
  name: string;
  writes: Write[];
  inserts: Insert[];
  absent: { key: readonly string[] }[];
}

function partsOf(units: readonly Unit[]): Map<string, Parts> {
  const parts = new Map<string, Parts>();
  const of = (name: string): Parts => {
    const known = parts.get(name);
    if (known) return known;
    const fresh = { name, writes: [], inserts: [], absent: [] };
    parts.set(name, fresh);
    return fresh;
  };
  for (const { writes, inserts, absent = [] } of units) {
    for (const write of writes) of(write.table).writes.push(write);
    for (const insert of inserts) of(insert.table).inserts.push(insert);
    for (const one of absent) of(one.table).absent.push(one);
  }
  return parts;
}

/** Local to the transaction: a pooler may drop what is set for a connection. */
function beginning(engine: Engine): Bind<{ lockWait: string }> {
  if (engine === 'sqlite') return keptQuery((queries) => sql`select now_ms() as "now"`.compile(queries));
  const planner = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off' };
  const set = Object.entries(planner).map(([name, value]) => sql`set_config(${sql.lit(name)}, ${sql.lit(value)}, true)`);
  return keptQuery((queries, { lockWait }: { lockWait: string }) =>
    sql`select now_ms() as "now", set_config('lock_timeout', ${lockWait}, true), ${sql.join(set)}`.compile(queries),
  );
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

const isTouch = ({ guard, also, set }: Write) => typeof guard === 'number' && also === undefined && Object.keys(set).length === 0;

const keyColumns = ({ key, columns }: CommitTable): BatchColumns => Object.fromEntries(key.map((name) => [name, columns[name] ?? 'text']));

/** Nearly all batches have rows of one kind, and there are few kinds; others use the statement for all columns. */
const maxShapes = 40;

type Shapes = ReturnType<typeof createShapes>;

function createShapes() {
  const known = new Set<string>();
  return {
    of<Row>(rows: readonly Row[], shapeOf: (row: Row) => string): Shape {
      const [first, ...others] = rows;
      if (first === undefined) return undefined;
      const shape = shapeOf(first);
      if (others.some((row) => shapeOf(row) !== shape)) return undefined;
      if (!known.has(shape) && known.size >= maxShapes) return undefined;
      known.add(shape);
      return shape;
    },
  };
}

const shapeOfWrite = ({ guard, also = {}, set, isLate }: Write): string => {
  const compared = typeof guard === 'number' ? also : guard;
  const version = typeof guard === 'number' ? 'version' : '';
  return [Object.keys(set).sort().join(' '), Object.keys(compared).sort().join(' '), version, isLate ? 'late' : ''].join('/');
};

const shapeOfInsert = ({ row }: Insert): string => {
  let shape = '';
  for (const column of Object.keys(row).sort()) if (row[column] !== null) shape += `${column} `;
  return shape.trimEnd();
};

interface Used {
  settable: readonly string[];
  guardable: readonly string[];
  isVersion: boolean;
  isLate: boolean;
}

function usedBy(table: CommitTable, shape: string): Used {
  const [sets = '', guards = '', version = '', late = ''] = shape.split('/');
  const { settable = [], guardable = [] } = table;
  const among = (columns: readonly string[], text: string) => {
    const named = new Set(text.split(' '));
    return columns.filter((column) => named.has(column));
  };
  return { settable: among(settable, sets), guardable: among(guardable, guards), isVersion: version !== '', isLate: late !== '' };
}

/** The key, what is compared, and what is set. */
function writeColumns(table: CommitTable, shape: Shape): BatchColumns {
  const { columns, settable = [], guardable = [] } = table;
  const prefixed = (prefix: string, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [`${prefix}-${name}`, columns[name] ?? 'text'] as const));
  if (shape !== undefined) {
    const used = usedBy(table, shape);
    const version: BatchColumns = used.isVersion ? { 'is-version': 'int8' } : {};
    return { ...keyColumns(table), ...version, ...prefixed('old', used.guardable), ...prefixed('set', used.settable) };
  }
  const masks = { 'is-version': 'int8', raises: 'int8', guards: 'int8', sets: 'int8' } as const;
  return { ...keyColumns(table), ...masks, ...prefixed('old', guardable), ...prefixed('set', settable) };
}

function toKeyRow({ key }: CommitTable, values: readonly Value[]): Record<string, Value> {
  const row: Record<string, Value> = {};
  for (const [at, name] of key.entries()) row[name] = values[at] ?? null;
  return row;
}

function toWriteRow(table: CommitTable, { table: name, key, guard, also = {}, set, isLate }: Write, isUniform: boolean): Values {
  const { settable = [], guardable = [] } = table;
  const row = toKeyRow(table, key);
  if (typeof guard === 'number') row['is-version'] = guard;
  const compared = typeof guard === 'number' ? also : guard;
  const masks = { sets: maskOf(name, settable, set), guards: maskOf(name, guardable, compared) };
  if (!isUniform) Object.assign(row, masks, { raises: isLate ? 0 : 1 });
  for (const column in set) row[`set-${column}`] = set[column] ?? null;
  for (const column in compared) row[`old-${column}`] = compared[column] ?? null;
  return row;
}

/** One bit for each of the columns. */
function maskOf(table: string, columns: readonly string[], values: Values): number {
  let mask = 0;
  for (const column in values) {
    const at = columns.indexOf(column);
    if (at === -1) throw new TypeError(`A commit cannot use the column "${column}" of ${table} in this way.`);
    mask += 2 ** at;
  }
  return mask;
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
  const inserting = keptQuery((queries, { rows }: Rows, shape: string) => {
    const used = inserted(shape === '' ? undefined : shape);
    const given = Object.fromEntries(Object.entries(used).filter(([column]) => assigned[column] === undefined));
    const values = [...Object.keys(given).map((column) => `"new"."${column}"`), ...Object.values(assigned)].join(', ');
    return sql`insert into ${target} (${listed({ ...given, ...assigned })})
      select ${sql.raw(values)} from ${rowsAs(engine, 'new', used, rows)} where true ${ifTaken} ${returning}`.compile(queries);
  });
  const found = listed({ ...keyColumns(table), ...assigned }, (column) => `"row"."${column}"`);
  const ifTaken = sql.raw(table.mayExist ? 'on conflict do nothing' : '');
  const returning = table.assigned ? sql`returning ${listed({ ...keyColumns(table), ...assigned })}` : sql``;
  const isRow = sql.raw(key.map((column) => `"row"."${column}" = "new"."${column}"`).join(' and '));
  const write = writing(engine, name, table, false);
  const touch = writing(engine, name, table, true);
  const rowsOf = ({ rows }: Rows) => sql`${rowsAs(engine, 'new', keyColumns(table), rows)} join ${target} as "row" on ${isRow}`;
  return {
    written: (shape) => writeColumns(table, shape),
    write: (queries, given, shape) => write(queries, given, shape ?? ''),
    touch: (queries, given) => touch(queries, given, ''),
    inserted,
    insert: (queries, given, shape) => inserting(queries, given, shape ?? ''),
    absent: keptQuery((queries, rows: Rows) => {
      const isNone = sql`not exists (select 1 from ${rowsOf(rows)})`;
      return (engine === 'sqlite' ? sql`select must(${isNone})` : sql`select 1 / (${isNone})::int`).compile(queries);
    }),
    find: keptQuery((queries, rows: Rows) => sql`select ${found} from ${rowsOf(rows)}`.compile(queries)),
  };
}

/** Guard, lock and write. On PostgreSQL the count raises in the statement itself, on SQLite in the one that follows. */
function writing(engine: Engine, name: string, table: CommitTable, isTouched: boolean) {
  return keptQuery((queries, { rows, count }: Rows & { count: number }, shape: string) => {
    const isUniform = shape !== '';
    const used: BatchColumns = isTouched
      ? { ...keyColumns(table), 'is-version': 'int8' }
      : writeColumns(table, isUniform ? shape : undefined);
    const { sets, conditions } = isTouched ? touched(table) : isUniform ? uniform(table, usedBy(table, shape)) : masked(table);
    const isRow = table.key.map((column) => `"row"."${column}" = "new"."${column}"`);
    const where = [...isRow, ...conditions].join(' and ');
    const statement = sql`update ${sql.raw(`"${name}"`)} as "row" set ${sql.raw(sets.join(', '))}
      from ${rowsAs(engine, 'new', used, rows)} where ${sql.raw(where)}`;
    if (engine === 'sqlite') return statement.compile(queries);
    return sql`with "written" as (${statement} returning 1)
      select 1 / (count(*) = cast(${count} as bigint))::int from "written"`.compile(queries);
  });
}

interface Written {
  sets: string[];
  conditions: string[];
}

const isVersion = (version: string) => `"row"."${version}" = "new"."is-version"`;

/** Rows that are only relied on. */
function touched({ version = '' }: CommitTable): Written {
  return { sets: [`"${version}" = "row"."${version}" + 1`], conditions: [isVersion(version)] };
}

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

function masked(table: CommitTable): Written {
  const { version, settable = [], guardable = [] } = table;
  const has = (mask: string, at: number) => `"new"."${mask}" & ${2 ** at} <> 0`;
  const raised = version === undefined ? [] : [`"${version}" = "row"."${version}" + "new"."raises"`];
  const set = settable.map(
    (column, at) => `"${column}" = case when ${has('sets', at)} then ${valueOf(table, column)} else "row"."${column}" end`,
  );
  const same = version === undefined ? [] : [`coalesce("new"."is-version", "row"."${version}") = "row"."${version}"`];
  const compared = guardable.map(
    (column, at) => `case when ${has('guards', at)} then "row"."${column}" is not distinct from "new"."old-${column}" else true end`,
  );
  return { sets: [...raised, ...set], conditions: [...same, ...compared] };
}

/** As `rowsText`, but a row has only some of the columns: the others are read as null. */
function textOf(columns: BatchColumns, rows: readonly Values[]): RowsText<BatchColumns> {
  return JSON.stringify(rows.map((row) => givenOf(columns, row)));
}

function givenOf(columns: BatchColumns, row: Values): Record<string, Bindable> {
  const given: Record<string, Bindable> = { is_row: 1 };
  for (const name in row) {
    const value = toBindable(row[name]);
    if (value === null) continue;
    if (!(name in columns)) throw new TypeError(`A commit knows no column "${name}" there.`);
    given[name] = value;
  }
  return given;
}

/** By primary key: the order in which rows are locked. */
function inOrder<Item>(items: readonly Item[], key: (item: Item) => readonly Value[]): readonly Item[] {
  if (items.length === 1) return items;
  const keyed = items.map((item) => ({ item, text: key(item).join('\u0000') }));
  keyed.sort((a, b) => (a.text < b.text ? -1 : Number(a.text > b.text)));
  return keyed.map(({ item }) => item);
}
