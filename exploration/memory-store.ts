// A ledger in memory that evaluates the same units as the databases do (src/database/commit.ts): guards and changes as data. A ledger is never
// changed: each commit makes another one, so that a search can go on from both.
import { atCommit, type CommitTable, type Insert, type Unit, type Value, type Values, type Write } from '../src/database/commit-data.ts';
import type { Op, TableName, TableRows } from '../src/money/case.ts';
import { addedTables, commitTables, fromColumns } from '../src/money/tables.ts';

/** Rows by table, then by key: their columns. */
export type Ledger = Readonly<Record<string, Readonly<Record<string, Values>>>>;

export const emptyLedger: Ledger = Object.fromEntries(Object.keys(commitTables).map((name) => [name, {}]));

export const keyText = (key: readonly Value[]) => key.join(' ');

/** Undefined: a guard does not hold, or a name is taken. `now`: what the database fills in. */
export function commitTo(ledger: Ledger, unit: Unit, now: number): Ledger | undefined {
  if (!unit.writes.every((write) => holds(ledger, write))) return undefined;
  if (unit.absent?.some(({ table, key }) => ledger[table]?.[keyText(key)])) return undefined;
  const next: Record<string, Record<string, Values>> = { ...(ledger as Record<string, Record<string, Values>>) };
  const put = (table: string, key: string, row: Values) => {
    if (next[table] === ledger[table]) next[table] = { ...ledger[table] };
    (next[table] as Record<string, Values>)[key] = row;
  };
  for (const { table, key, set, isLate } of unit.writes) {
    const row = ledger[table]?.[keyText(key)] as Values;
    const { version } = commitTables[table] as CommitTable;
    const raised = version === undefined || isLate ? {} : { [version]: ((row[version] as number) ?? 0) + 1 };
    put(table, keyText(key), { ...row, ...filled(set, now), ...raised });
  }
  if (unit.inserts.some((insert) => isTaken(ledger, insert))) return undefined;
  for (const insert of unit.inserts) {
    const { table, row } = insert;
    put(table, keyOfInsert(insert) ?? String(Object.keys(next[table] ?? {}).length), {
      ...filled(row, now),
      ...assigned(next, table, row),
    });
  }
  return next;
}

/** Undefined: of a table whose rows are only added. */
function keyOfInsert({ table, row }: Insert): string | undefined {
  const known = addedTables[table] ? undefined : commitTables[table];
  return known && keyText(known.key.map((column) => row[column] ?? null));
}

/** The row is there already. */
export function isTaken(ledger: Ledger, insert: Insert): boolean {
  const key = keyOfInsert(insert);
  return key !== undefined && ledger[insert.table]?.[key] !== undefined;
}

export function holds(ledger: Ledger, { table, key, guard, also = {} }: Pick<Write, 'table' | 'key' | 'guard' | 'also'>): boolean {
  const row = ledger[table]?.[keyText(key)];
  if (!row) return false;
  const { version = '' } = commitTables[table] as CommitTable;
  const values = typeof guard === 'number' ? { ...also, [version]: guard } : guard;
  return Object.entries(values).every(([column, value]) => (row[column] ?? null) === value);
}

const filled = (set: Values, now: number): Values =>
  Object.fromEntries(Object.entries(set).map(([column, value]) => [column, value === atCommit ? now : value]));

/** An operation takes the counter of its device, after that was raised. */
function assigned(ledger: Ledger, table: string, row: Values): Values {
  if (table !== 'commands' || row['sequence'] !== null) return {};
  return { sequence: ledger['device_locks']?.[String(row['device_id'])]?.['sequence'] ?? null };
}

/** The row as the rules see it. Rows are shared between ledgers, so each is read once. */
const read = new WeakMap<Values, object>();

export function rowOf<Table extends TableName>(table: Table, row: Values): TableRows[Table] {
  const found = (read.get(row) as TableRows[Table] | undefined) ?? fromColumns(table, row);
  read.set(row, found);
  return found;
}

const lists = new WeakMap<object, readonly Op[]>();

/** In the order of their begin. */
export function opsIn(ledger: Ledger): readonly Op[] {
  const rows = ledger['commands'] ?? {};
  let found = lists.get(rows);
  if (!found) {
    found = Object.values(rows).map((row) => rowOf('ops', row));
    lists.set(rows, found);
  }
  return found;
}
