// A statement whose text does not depend on its values [D118]: built and compiled once per engine, then only bound and run. Building it
// with Kysely costs more than SQLite needs to run it, and polls run the same few statements all day.
//
//   const byId = keptStatement((queries, { id }: { id: string }) => queries.selectFrom('devices').selectAll().where('id', '=',
//   id).compile()); const [device] = await byId(queries, { id });
//
// `build` gets placeholders instead of values. It may only bind them: a decision by a value would be made once, for all values. A
// placeholder in a calculation or a string throws at the first call. Values that are part of the text (a limit, a count) are passed as
// `shape`; the statement of each shape is kept separately.
import type { CompiledQuery } from 'kysely';
import type { Queries } from './database.ts';

/** What the text depends on, besides the engine. */
type Shape = string | number;

interface Kept<Row> {
  query: CompiledQuery<Row>;
  /** The positions of the values in the parameters. */
  places: readonly { at: number; name: string }[];
}

/** Further shapes are built each time. */
const maxShapes = 64;

class Place {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  [Symbol.toPrimitive](): never {
    throw new Error(`"${this.name}" may only be bound: the statement is built once, for all values.`);
  }

  toJSON(): never {
    return this[Symbol.toPrimitive]();
  }
}

const anyPlaces = new Proxy({}, { get: (_, name) => new Place(String(name)) });

type Build<Values, Row, Given> = (queries: Queries, values: Values, shape: Given) => CompiledQuery<Row>;
type Asked<Values, Given> = [queries: Queries, values: Values, ...shape: Given extends '' ? [] : [Given]];

export function keptStatement<Values extends object, Row, Given extends Shape = ''>(
  build: Build<Values, Row, Given>,
): (...asked: Asked<Values, Given>) => Promise<Row[]> {
  const bind = keptQuery(build);
  return async (...asked) => (await asked[0].executeQuery<Row>(bind(...asked))).rows;
}

/** The same, bound but not run. */
export function keptQuery<Values extends object, Row, Given extends Shape = ''>(
  build: Build<Values, Row, Given>,
): (...asked: Asked<Values, Given>) => CompiledQuery<Row> {
  /** By engine (each has its own adapter class) and by shape. */
  const known = new Map<unknown, Map<Shape, Kept<Row>>>();

  function keep(queries: Queries, shape: Given): Kept<Row> {
    const query = build(queries, anyPlaces as Values, shape);
    const places = query.parameters.flatMap((parameter, at) => (parameter instanceof Place ? [{ at, name: parameter.name }] : []));
    return { query, places };
  }

  function find(queries: Queries, shape: Given): Kept<Row> {
    const { adapter, plugins } = queries.getExecutor();
    // A plugin may change the text each time, as the clock of the tests does.
    if (plugins.length > 0) return keep(queries, shape);
    const shapes = known.get(adapter.constructor) ?? new Map<Shape, Kept<Row>>();
    const kept = shapes.get(shape);
    if (kept) return kept;
    const fresh = keep(queries, shape);
    if (shapes.size < maxShapes) shapes.set(shape, fresh);
    known.set(adapter.constructor, shapes);
    return fresh;
  }

  return (queries, values, ...[shape]) => {
    const { query, places } = find(queries, (shape ?? '') as Given);
    const parameters = [...query.parameters];
    for (const { at, name } of places) parameters[at] = (values as Record<string, unknown>)[name];
    return { ...query, parameters };
  };
}
