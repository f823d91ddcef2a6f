// A statement that is always the same but for its values [D118]: built and compiled once for each engine, bound and run from then on. Building one
// with Kysely costs more than SQLite needs to run it, and polls run the same few all day.
//
//   const byId = keptStatement((queries, { id }: { id: string }) => queries.selectFrom('devices').selectAll().where('id', '=', id).compile());
//   const [device] = await byId(queries, { id });
//
// `build` gets places instead of values. It may only bind them: whatever it would decide by one, it would decide once, for all values. A
// place that is calculated with, joined to a text or counted is an error at the first call. What is part of the text itself (a limit, how
// many) comes as `shape`, and each shape is kept by itself.
import type { CompiledQuery } from 'kysely';
import type { Queries } from './database.ts';

/** What the text itself depends on, besides the engine. */
type Shape = string | number;

interface Kept<Row> {
  query: CompiledQuery<Row>;
  /** Which value goes where in its parameters. */
  places: readonly { at: number; name: string }[];
}

/** Those over it are built each time, as if nothing were kept. */
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

/** The same, bound and not run yet. */
export function keptQuery<Values extends object, Row, Given extends Shape = ''>(
  build: Build<Values, Row, Given>,
): (...asked: Asked<Values, Given>) => CompiledQuery<Row> {
  /** By engine (each has an adapter of its own kind) and by shape. */
  const known = new Map<unknown, Map<Shape, Kept<Row>>>();

  function keep(queries: Queries, shape: Given): Kept<Row> {
    const query = build(queries, anyPlaces as Values, shape);
    const places = query.parameters.flatMap((parameter, at) => (parameter instanceof Place ? [{ at, name: parameter.name }] : []));
    return { query, places };
  }

  function find(queries: Queries, shape: Given): Kept<Row> {
    const { adapter, plugins } = queries.getExecutor();
    // A plugin may write the text anew each time: the clock of the tests does.
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
