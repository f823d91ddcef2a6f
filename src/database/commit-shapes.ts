// Which columns the rows of a commit's statement set and compare (commit-statements.ts): if all rows are alike, the statement names only these.
// Otherwise it names all, and two masks in each row tell which: a null in the JSON could mean both. A statement for each kind of row would lock
// the rows of one table in several orders [D323].
import type { BatchColumns } from './batch-rows.ts';
import type { CommitTable, Insert, Value, Values, Write } from './commit-data.ts';

/** The columns that every row of a batch sets and compares, or has. Undefined: the rows differ. */
export type Shape = string | undefined;

export const keyColumns = ({ key, columns }: CommitTable): BatchColumns =>
  Object.fromEntries(key.map((name) => [name, columns[name] ?? 'text']));

/** Nearly all batches have rows of one kind, and there are few kinds; others use the statement for all columns. */
export const maxShapes = 40;

/** `check` throws at a column that the table does not have for this use: once for each shape. */
function createShapes<Row>(shapeOf: (row: Row) => string, check: (shape: string) => void) {
  const known = new Set<string>();
  return {
    of(rows: readonly Row[]): Shape {
      const [first] = rows;
      if (first === undefined) return undefined;
      const shape = shapeOf(first);
      for (let at = 1; at < rows.length; at += 1) if (shapeOf(rows[at] as Row) !== shape) return undefined;
      if (known.has(shape)) return shape;
      check(shape);
      if (known.size >= maxShapes) return undefined;
      known.add(shape);
      return shape;
    },
  };
}

export function shapesOf(name: string, table: CommitTable) {
  const { columns, settable = [], guardable = [] } = table;
  const check = (allowed: (column: string) => boolean, names = '') => {
    for (const column of names.split(' '))
      if (column !== '' && !allowed(column)) throw new TypeError(`A commit cannot use the column "${column}" of ${name} in this way.`);
  };
  return {
    writeShapes: createShapes(shapeOfWrite, (shape) => {
      const [sets, guards] = shape.split('/');
      check((column) => settable.includes(column), sets);
      check((column) => guardable.includes(column), guards);
    }),
    insertShapes: createShapes(shapeOfInsert, (shape) => check((column) => column in columns, shape)),
  };
}

/** Of rows that are only looked up by their keys. */
export const keyShape = 'key';

/** In the order in which the columns are given, which is nearly always the same. */
function shapeOfWrite({ guard, also = {}, set, isLate }: Write): string {
  const isVersion = typeof guard === 'number';
  return `${namesIn(set)}/${namesIn(isVersion ? also : guard)}/${isVersion ? 'version' : ''}/${isLate ? 'late' : ''}`;
}

function namesIn(values: Values): string {
  let names = '';
  for (const column in values) names += `${column} `;
  return names;
}

function shapeOfInsert({ row }: Insert): string {
  let shape = '';
  for (const column in row) if (row[column] !== null) shape += `${column} `;
  return shape;
}

export interface Used {
  settable: readonly string[];
  guardable: readonly string[];
  isVersion: boolean;
  isLate: boolean;
}

export function usedBy(table: CommitTable, shape: string): Used {
  const [sets = '', guards = '', version = '', late = ''] = shape.split('/');
  const { settable = [], guardable = [] } = table;
  const among = (columns: readonly string[], text: string) => {
    const named = new Set(text.split(' '));
    return columns.filter((column) => named.has(column));
  };
  return { settable: among(settable, sets), guardable: among(guardable, guards), isVersion: version !== '', isLate: late !== '' };
}

/** The key, what is compared, and what is set. */
export function writeColumns(table: CommitTable, shape: Shape): BatchColumns {
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

export function toKeyRow({ key }: CommitTable, values: readonly Value[]): Record<string, Value> {
  const row: Record<string, Value> = {};
  for (const [at, name] of key.entries()) row[name] = values[at] ?? null;
  return row;
}

export function toWriteRow(table: CommitTable, { table: name, key, guard, also = {}, set, isLate }: Write, isUniform: boolean): Values {
  const { settable = [], guardable = [] } = table;
  const row = toKeyRow(table, key);
  if (typeof guard === 'number') row['is-version'] = guard;
  const compared = typeof guard === 'number' ? also : guard;
  if (!isUniform) {
    row['sets'] = maskOf(name, settable, set);
    row['guards'] = maskOf(name, guardable, compared);
    row['raises'] = isLate ? 0 : 1;
  }
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
