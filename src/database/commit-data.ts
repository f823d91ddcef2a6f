// What a commit writes, as data: the same for PostgreSQL, SQLite and the store in memory that the exploration uses.
import type { BatchColumns } from './batch-rows.ts';

export type Value = string | number | null;
/** By the name of a column. */
export type Values = Readonly<Record<string, Value>>;

export interface CommitTable {
  /** The primary key, in the order of its index. */
  key: readonly string[];
  columns: BatchColumns;
  /** Raised by each write of a row. Absent: rows are only inserted. */
  version?: string;
  /** Columns that a write may set, and those that it may compare instead of the version. */
  settable?: readonly string[];
  guardable?: readonly string[];
  /** Rows are deleted together: all that have the same value in this column. */
  deletedBy?: string;
  /** A row that is there already stays as it is. Absent: then the unit conflicts. */
  mayExist?: true;
  /** Columns that the database fills in when a row is inserted: an expression, in which "new" is the row as it was given. */
  assigned?: Readonly<Record<string, string>>;
}

/** In the order in which their rows are locked and written. Rows with assigned columns are inserted last. */
export type CommitTables = Readonly<Record<string, CommitTable>>;

/** Where a write sets it: the database's time. */
export const atCommit = -1;

export interface Write {
  table: string;
  key: readonly string[];
  /** The version that was loaded, or the values that were assumed. Without values, nothing is relied on: several units may write the row at once. */
  guard: number | Values;
  /** Beside the version: columns that are written without raising it. */
  also?: Values;
  /** What others rely on is not changed by it, so the version stays. */
  isLate?: true;
  set: Values;
}

export interface Insert {
  table: string;
  row: Values;
}

export interface Unit {
  writes: readonly Write[];
  inserts: readonly Insert[];
  /** Keys that must not exist; nothing is locked for this. */
  absent?: readonly { table: string; key: readonly string[] }[];
  /** Texts of a row that keeps only its names [D66]: all rows of the table that belong to it. */
  deletes?: readonly { table: string; of: string }[];
}

export const isUnguarded = ({ guard }: Write): boolean => typeof guard !== 'number' && Object.keys(guard).length === 0;
export const nameOf = (table: string, key: readonly Value[]) => `${table} ${key.join(' ')}`;
export const keyOf = ({ key }: CommitTable, row: Values): Value[] => key.map((column) => row[column] ?? null);

export function tableOf(tables: CommitTables, name: string): CommitTable {
  const table = tables[name];
  if (!table) throw new TypeError(`There is no table "${name}" in this commit.`);
  return table;
}
