// Rows as one parameter: a table inside a statement, so that its text is the same for any number of rows and is prepared once.
// The values travel as JSON; they are judged like any parameter, so that both engines take the same ones.
//
//   const insert = keptStatement((queries, { rows }: { rows: RowsText<typeof columns> }) =>
//     sql`insert into "notes" ("id", "text") select "id", "text" from ${rowsAs(engine, 'new', columns, rows)}`.compile(queries));
//   await insert(queries, { rows: rowsText(columns, [{ id: 'a', text: 'one' }, { id: 'b', text: null }]) });
import { type RawBuilder, sql } from 'kysely';
import type { Engine } from './dialect.ts';
import { type Bindable, toBindable } from './values.ts';

/** By the name of a column. */
export type BatchColumns = Readonly<Record<string, 'text' | 'int8'>>;
export type BatchRow<Columns extends BatchColumns> = {
  [Name in keyof Columns]: (Columns[Name] extends 'text' ? string : number) | null;
};

/** For what other transactions hold: one row that another transaction keeps locked must not keep all the others of its batch. */
export type LockWait = 'short' | 'statement';

const lockTimeout = '250ms';

/** The names of columns as they are written in a statement, in the order of the columns. */
export function listed(columns: object, form = (name: string) => `"${name}"`): RawBuilder<unknown> {
  return sql.raw(Object.keys(columns).map(form).join(', '));
}

/** Rows of these columns as one parameter. Of other columns they would be read as nulls, so the type remembers which. */
export type RowsText<Columns extends BatchColumns> = string & { readonly columns?: Columns };

/** The parameter that `rowsAs` reads. */
export function rowsText<Columns extends BatchColumns>(columns: Columns, rows: readonly BatchRow<Columns>[]): RowsText<Columns> {
  const names = Object.keys(columns);
  return JSON.stringify(rows.map((row) => givenOf(names, row)));
}

/** For a `from`: a table named `alias` with the rows that the text holds. */
export function rowsAs<Columns extends BatchColumns>(
  engine: Engine,
  alias: string,
  columns: Columns,
  rows: RowsText<NoInfer<Columns>>,
): RawBuilder<unknown> {
  const [before, after] = textsAround(engine, alias, columns);
  return sql`${sql.raw(before)}${rows}${sql.raw(after)}`;
}

/** The same for a batch: a statement that waits shortly fails then without having done anything (DatabaseBusy). */
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

/** Rows in the binary form are read three times as fast: the other one is written out as text and parsed again. SQLite has it from 3.51 on. */
const [, minor = 0] = (process.versions.sqlite ?? '').split('.').map(Number);
const eachRow = minor >= 51 ? 'jsonb_each' : 'json_each';

function textsAround(engine: Engine, alias: string, columns: BatchColumns): [before: string, after: string] {
  const names = Object.keys(columns);
  if (engine === 'sqlite') {
    const extracted = names.map((name) => `json_extract(value, '$.${name}') as "${name}"`);
    return [`(select ${extracted.join(', ')} from ${eachRow}(`, `)) as "${alias}"`];
  }
  const listed = names.map((name) => `"${name}"`);
  const typed = Object.entries(columns).map(([name, type]) => `"${name}" ${type === 'int8' ? 'bigint' : type}`);
  // PostgreSQL counts with a hundred rows here and would read a whole table that was small when the statement was planned; with a condition
  // it counts with one, and looks each row up by its index.
  return [
    `(select ${listed.join(', ')} from json_to_recordset(cast(`,
    ` as json)) as "rows" (${typed.join(', ')}, "is_row" bigint) where "is_row" = 1) as "${alias}"`,
  ];
}

/** Only what is not null, which is half of it: what is left out is read as null. */
function givenOf(names: readonly string[], row: Readonly<Record<string, unknown>>): Record<string, Bindable> {
  const given: Record<string, Bindable> = { is_row: 1 };
  for (const name of names) {
    const value = toBindable(row[name]);
    if (value !== null) given[name] = value;
  }
  return given;
}
