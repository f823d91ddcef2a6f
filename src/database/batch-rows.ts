// Many rows as one JSON parameter, read as a table: the statement's text is the same for any number of rows and is prepared once.
// The values are checked like any parameter, so that both engines accept the same ones.
//
//   const insert = keptStatement((queries, { rows }: { rows: RowsText<typeof columns> }) =>
//     sql`insert into "notes" ("id", "text") select "id", "text" from ${rowsAs(engine, 'new', columns, rows)}`.compile(queries));
//   await insert(queries, { rows: rowsText(columns, [{ id: 'a', text: 'one' }, { id: 'b', text: null }]) });
import { createQueryId, type RawBuilder, SqliteQueryCompiler, sql } from 'kysely';
import type { Engine } from './dialect.ts';
import { type Bindable, toBindable } from './values.ts';

/** By the name of a column. */
export type BatchColumns = Readonly<Record<string, 'text' | 'int8'>>;
export type BatchRow<Columns extends BatchColumns> = {
  [Name in keyof Columns]: (Columns[Name] extends 'text' ? string : number) | null;
};

/** How long a statement waits for locks: in a batch only shortly, so that one locked row does not block all the others. */
export type LockWait = 'short' | 'statement';

const lockTimeout = '250ms';

/** The column names for a statement, in order. */
export function listed(columns: object, form = (name: string) => `"${name}"`): RawBuilder<unknown> {
  return sql.raw(Object.keys(columns).map(form).join(', '));
}

/** Rows as one parameter. The type keeps the columns, because other columns would be read as nulls. */
export type RowsText<Columns extends BatchColumns> = string & { readonly columns?: Columns };

/** The parameter that `rowsAs` reads. */
export function rowsText<Columns extends BatchColumns>(columns: Columns, rows: readonly BatchRow<Columns>[]): RowsText<Columns> {
  const names = Object.keys(columns);
  return JSON.stringify(rows.map((row) => givenOf(names, row)));
}

/** For a `from`: the rows as a table named `alias`. */
export function rowsAs<Columns extends BatchColumns>(
  engine: Engine,
  alias: string,
  columns: Columns,
  rows: RowsText<NoInfer<Columns>>,
): RawBuilder<unknown> {
  const [before, after] = textsAround(engine, alias, columns);
  return sql`${sql.raw(before)}${rows}${sql.raw(after)}`;
}

/**
 * One row, each of its values a parameter: PostgreSQL then plans the statement as if the values stood in it, which costs a fraction of a
 * table of rows.
 */
export function oneRowAs(
  engine: Engine,
  alias: string,
  columns: BatchColumns,
  row: Readonly<Record<string, unknown>>,
): RawBuilder<unknown> {
  const values = Object.entries(columns).map(([name, type]) => {
    const as = sql.raw(`"${name}"`);
    return engine === 'sqlite' ? sql`${row[name]} as ${as}` : sql`cast(${row[name]} as ${sql.raw(typeNames[type])}) as ${as}`;
  });
  return sql`(select ${sql.join(values)}) as ${sql.raw(`"${alias}"`)}`;
}

const typeNames = { text: 'text', int8: 'bigint' } as const;

/** The same for a batch. With 'short', a statement that meets a lock fails soon and writes nothing (DatabaseBusy). */
export function batchRows<Columns extends BatchColumns>(
  engine: Engine,
  alias: string,
  columns: Columns,
  rows: RowsText<NoInfer<Columns>>,
  waits: LockWait,
): RawBuilder<unknown> {
  const table = rowsAs(engine, alias, columns, rows);
  if (engine === 'sqlite' || waits !== 'short') return table;
  // Local to the statement's own transaction, and evaluated before its first row is written.
  const shortly = sql.raw(`cross join (select set_config('lock_timeout', '${lockTimeout}', true)) as "shortly"`);
  return sql`${table} ${shortly}`;
}

/**
 * A statement of SQLite that names the rows as `alias`, with the columns that it uses: each one is searched in the JSON of its row, while
 * PostgreSQL reads a row at once.
 */
export function onRows<Result, Columns extends BatchColumns>(
  alias: string,
  columns: Columns,
  rows: RowsText<NoInfer<Columns>>,
  statement: RawBuilder<Result>,
): RawBuilder<Result> {
  const { sql: text } = new SqliteQueryCompiler().compileQuery(statement.toOperationNode(), createQueryId());
  const used: BatchColumns = Object.fromEntries(Object.entries(columns).filter(([name]) => text.includes(`"${alias}"."${name}"`)));
  return sql<Result>`with ${sql.ref(alias)} as materialized (select * from ${rowsAs('sqlite', 'rows', used, rows as RowsText<BatchColumns>)}) ${statement}`;
}

/** The binary form (SQLite 3.51) is three times as fast: otherwise each row is written as text and parsed again. */
const [, minor = 0] = (process.versions.sqlite ?? '').split('.').map(Number);
const eachRow = minor >= 51 ? 'jsonb_each' : 'json_each';

function textsAround(engine: Engine, alias: string, columns: BatchColumns): [before: string, after: string] {
  const names = Object.keys(columns);
  if (engine === 'sqlite') {
    const extracted = names.map((name) => `json_extract(value, '$.${name}') as "${name}"`);
    return [`(select ${extracted.join(', ')} from ${eachRow}(`, `)) as "${alias}"`];
  }
  const listed = names.map((name) => `"${name}"`);
  const typed = Object.entries(columns).map(([name, type]) => `"${name}" ${typeNames[type]}`);
  // PostgreSQL would estimate a hundred rows here, and scan a table that was small when the statement was planned; with the condition it
  // estimates one row, and uses the index for each.
  return [
    `(select ${listed.join(', ')} from json_to_recordset(cast(`,
    ` as json)) as "rows" (${typed.join(', ')}, "is_row" bigint) where "is_row" = 1) as "${alias}"`,
  ];
}

/** Omits nulls, which are about half of the values: a missing one is read as null. */
function givenOf(names: readonly string[], row: Readonly<Record<string, unknown>>): Record<string, Bindable> {
  const given: Record<string, Bindable> = { is_row: 1 };
  for (const name of names) {
    const value = toBindable(row[name]);
    if (value !== null) given[name] = value;
  }
  return given;
}
