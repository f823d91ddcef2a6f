// The rows of a batch as one parameter: a table inside a statement, so that its text is the same for any number of rows and is prepared
// once. The values travel as JSON; they are judged like any parameter, so that both engines take the same ones.
// A statement with such rows waits only shortly for what other transactions hold, and then fails without having done anything (DatabaseBusy):
// one row that somebody keeps locked must not keep all the others.
import { type RawBuilder, sql } from 'kysely';
import type { Engine } from './dialect.ts';
import { toBindable } from './values.ts';

/** By the name of a column. */
export type BatchColumns = Readonly<Record<string, 'text' | 'int8'>>;
export type BatchRow<Columns extends BatchColumns> = {
  [Name in keyof Columns]: (Columns[Name] extends 'text' ? string : number) | null;
};

const lockTimeout = '250ms';

/** For a `from`: a table named `alias` with these rows. */
export function batchRows<Columns extends BatchColumns>(
  engine: Engine,
  alias: string,
  columns: Columns,
  rows: readonly BatchRow<Columns>[],
): RawBuilder<unknown> {
  const names = Object.keys(columns);
  const json = JSON.stringify(rows.map((row) => Object.fromEntries(names.map((name) => [name, toBindable(row[name])]))));
  if (engine === 'sqlite') return sql`(select ${sql.raw(extracted(names))} from json_each(${json})) as ${sql.raw(`"${alias}"`)}`;
  // Local to the statement's own transaction, and evaluated before its first row is written.
  const shortly = sql.raw(`(select set_config('lock_timeout', '${lockTimeout}', true)) as "shortly"`);
  return sql`json_to_recordset(cast(${json} as json)) as ${sql.raw(typed(alias, columns))} cross join ${shortly}`;
}

function typed(alias: string, columns: BatchColumns): string {
  const parts = Object.entries(columns).map(([name, type]) => `"${name}" ${type === 'int8' ? 'bigint' : type}`);
  return `"${alias}" (${parts.join(', ')})`;
}

function extracted(names: readonly string[]): string {
  return names.map((name) => `json_extract(value, '$.${name}') as "${name}"`).join(', ');
}
