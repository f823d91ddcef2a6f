// Which columns the rows of a commit's statement set and compare (commit-statements.ts): if all rows are alike, the statement names only these.
// Otherwise it names those of all its rows, and two masks in each row tell which: a null in the JSON could mean both. A statement for each kind
// of row would lock the rows of one table in several orders [D323].
import type { BatchColumns } from './batch-rows.ts';
import type { CommitTable, Insert, Value, Values, Write } from './commit-data.ts';

/** The columns that the rows of a batch set and compare, or have. Undefined: one of too many shapes, so the statement names all columns. */
export type Shape = string | undefined;

export const keyColumns = ({ key, columns }: CommitTable): BatchColumns =>
  Object.fromEntries(key.map((name) => [name, columns[name] ?? 'text']));

/** There are few kinds of rows; further ones use the statement for all columns. */
export const maxShapes = 40;

/** Of rows that differ, there may be many combinations. */
const maxMixed = 16;

interface ShapesOptions<Row> {
  of(row: Row): string;
  /** Of rows of all these shapes. */
  union(shapes: readonly string[]): string;
  /** Throws at a column that the table does not have for this use: once for each shape. */
  check(shape: string): void;
}

function createShapes<Row>(options: ShapesOptions<Row>) {
  const known = new Set<string>();
  const unions = new Map<string, string>();

  function checked(shape: string): Shape {
    if (known.has(shape)) return shape;
    options.check(shape);
    if (known.size >= maxShapes) return undefined;
    known.add(shape);
    return shape;
  }

  function unionOf(shapes: readonly string[]): Shape {
    const key = shapes.toSorted().join('|');
    const earlier = unions.get(key);
    if (earlier !== undefined || unions.size >= maxMixed) return earlier;
    const union = options.union(shapes);
    options.check(union);
    unions.set(key, union);
    return union;
  }

  return (rows: readonly Row[]): Shape => {
    const [first, ...others] = new Set(rows.map(options.of));
    if (first === undefined) return undefined;
    return others.length === 0 ? checked(first) : unionOf([first, ...others]);
  };
}

export function shapesOf(name: string, table: CommitTable) {
  const { columns, settable = [], guardable = [] } = table;
  const check = (allowed: (column: string) => boolean, names = '') => {
    for (const column of names.split(' '))
      if (column !== '' && !allowed(column)) throw new TypeError(`A commit cannot use the column "${column}" of ${name} in this way.`);
  };
  return {
    ofWrites: createShapes<Write>({
      of: shapeOfWrite,
      union: (shapes) => `${[0, 1].map((part) => unionAt(shapes, part)).join('/')}/version//mixed`,
      check(shape) {
        const [sets, guards] = shape.split('/');
        check((column) => settable.includes(column), sets);
        check((column) => guardable.includes(column), guards);
      },
    }),
    ofInserts: createShapes<Insert>({
      of: shapeOfInsert,
      union: (shapes) => unionAt(shapes, 0),
      check: (shape) => check((column) => column in columns, shape),
    }),
  };
}

const unionAt = (shapes: readonly string[], part: number): string =>
  [...new Set(shapes.flatMap((shape) => shape.split('/')[part]?.trimEnd().split(' ') ?? []))].join(' ');

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
  /** Two masks in each row tell which of these columns it sets and compares. */
  isMixed: boolean;
}

export function usedBy({ settable = [], guardable = [] }: CommitTable, shape: Shape): Used {
  if (shape === undefined) return { settable, guardable, isVersion: true, isLate: false, isMixed: true };
  const [sets = '', guards = '', version = '', late = '', mixed = ''] = shape.split('/');
  const among = (columns: readonly string[], text: string) => {
    const named = new Set(text.split(' '));
    return columns.filter((column) => named.has(column));
  };
  return {
    settable: among(settable, sets),
    guardable: among(guardable, guards),
    isVersion: version !== '',
    isLate: late !== '',
    isMixed: mixed !== '',
  };
}

export const isMixed = (shape: Shape): boolean => shape === undefined || shape.endsWith('/mixed');

/** The key, what is compared, and what is set. */
export function writeColumns(table: CommitTable, shape: Shape): BatchColumns {
  const used = usedBy(table, shape);
  const prefixed = (prefix: string, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [`${prefix}-${name}`, table.columns[name] ?? 'text'] as const));
  const version: BatchColumns = used.isVersion ? { 'is-version': 'int8' } : {};
  const masks: BatchColumns = used.isMixed ? { raises: 'int8', guards: 'int8', sets: 'int8' } : {};
  return { ...keyColumns(table), ...version, ...masks, ...prefixed('old', used.guardable), ...prefixed('set', used.settable) };
}

export function toKeyRow({ key }: CommitTable, values: readonly Value[]): Record<string, Value> {
  const row: Record<string, Value> = {};
  for (const [at, name] of key.entries()) row[name] = values[at] ?? null;
  return row;
}

export function toWriteRow(table: CommitTable, { table: name, key, guard, also = {}, set, isLate }: Write, hasMasks: boolean): Values {
  const { settable = [], guardable = [] } = table;
  const row = toKeyRow(table, key);
  if (typeof guard === 'number') row['is-version'] = guard;
  const compared = typeof guard === 'number' ? also : guard;
  if (hasMasks) {
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
