// The rows of a commit's statement (commit-statements.ts): a single one goes as one parameter for each value, several as one JSON parameter. The
// statement is the same, but for where its rows come from. A table of rows costs PostgreSQL more than to find and write the row itself.
import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { type BatchColumns, oneRowAs, type RowsText, rowsAs } from './batch-rows.ts';
import type { Values } from './commit-data.ts';
import { maxShapes, type Shape } from './commit-shapes.ts';
import type { Queries } from './database.ts';
import type { Engine } from './dialect.ts';
import { keptQuery } from './kept-statement.ts';
import { type Bindable, toBindable } from './values.ts';

type Given = Readonly<Record<string, unknown>>;
export type OfRows = (queries: Queries, rows: readonly Values[], shape: Shape) => CompiledQuery;

/** Statements about rows: one for a single row, whose values it names, and one for several. `mayLack`: columns that a row need not have. */
export function ofRows(
  engine: Engine,
  { columnsOf, mayLack = [] }: { columnsOf(shape: Shape): BatchColumns; mayLack?: readonly string[] },
  build: (from: RawBuilder<unknown>, count: RawBuilder<unknown>, shape: Shape) => RawBuilder<unknown>,
): OfRows {
  const known = new Map<Shape, BatchColumns>();
  const columns = (shape: Shape): BatchColumns => {
    const columns = known.get(shape) ?? columnsOf(shape);
    if (known.size <= maxShapes) known.set(shape, columns);
    return columns;
  };
  const forOne = keptQuery((queries, row: Given, shape: string) =>
    build(oneRowAs(engine, 'new', columns(shape), row), sql.lit(1), shape).compile(queries),
  );
  const forMany = keptQuery((queries, { rows, count }: { rows: RowsText<BatchColumns>; count: number }, text: string) => {
    const shape = text === '' ? undefined : text;
    return build(rowsAs(engine, 'new', columns(shape), rows), sql`cast(${count} as bigint)`, shape).compile(queries);
  });
  const nulls = Object.fromEntries(mayLack.map((column) => [column, null]));
  return (queries, rows, shape) => {
    const [row] = rows;
    if (row && isOne(rows, shape)) return forOne(queries, mayLack.length === 0 ? row : { ...nulls, ...row }, shape);
    return forMany(queries, { rows: textOf(columns(shape), rows), count: rows.length }, shape ?? '');
  };
}

/** Its statement finds and locks a single row, by whatever plan. */
export const isOne = (rows: readonly Values[], shape: Shape): shape is string => rows.length === 1 && shape !== undefined;

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
