// The one commit of the money core: units of guards and changes, as data. A unit is written whole, if every row that it relies on is still
// as its decision saw it, or not at all. Units that arrive together share a commit (group.ts).
//
//   const commit = createCommit(database, tables);
//   const result = await commit.add({ writes: [{ table: 'device_locks', key: [id], guard: { command_id: null }, set: { command_id: op } }], ... });
//
// A guard is part of the statement that writes its row, so a unit writes every row that it guards, at least its version. Rows are locked by
// these writes alone, in one order for the whole batch and in all gateways: by the order of the tables, then by primary key. PostgreSQL
// searches each row by its key, one after the other: a join of another kind would lock them in another order.
//
//   A guard does not hold, or a name is taken ... the transaction ends, and each unit of the batch is tried alone: 'conflict'
//   Another commit is in the way (deadlock,        nothing was written, and each unit is tried alone, with a longer wait
//     lock time-out), a value cannot be stored ... for locks; an error of the values themselves is thrown to its own caller
//   The answer is lost ......................... the unit is repeated, which cannot write it twice: its guards or its inserted row exclude
//                                                  it. What was inserted is read back. 'unclear': it may still be written, now or soon
//   The process dies ........................... before the commit nothing is written, after it everything
//
// Where the first try may still be under way, a repeat that conflicts proves something only if all guards are versions: these never hold
// again. A guard by values may.
import { type CommitTables, type Insert, isUnguarded, keyOf, nameOf, tableOf, type Unit, type Values } from './commit-data.ts';
import { createStatements } from './commit-statements.ts';
import type { Database } from './database.ts';
import { ConstraintViolation, DatabaseBusy, GuardFailed, isDatabaseDown } from './errors.ts';
import { createGroup } from './group.ts';

export interface Committed {
  /** The database's time. */
  now: number;
  /** What the database filled in, for each insert of the unit in order. */
  assigned: readonly Values[];
}

export type CommitResult = Committed | 'conflict' | 'unclear';

export interface Commit {
  add(unit: Unit): Promise<CommitResult>;
  readonly waiting: number;
}

/** In a batch only shortly, so that one locked row does not block all the others. */
const lockWaits = { together: '250ms', alone: '4s' } as const;

type Home = Pick<Database, 'engine' | 'queries' | 'inOneGo' | 'soon'>;

export function createCommit(database: Home, tables: CommitTables): Commit {
  const statements = createStatements(database.engine, tables);

  async function write(units: readonly Unit[], wait: keyof typeof lockWaits): Promise<Committed[]> {
    const { list, filled } = statements.all(database.queries, units, lockWaits[wait]);
    const results = await database.inOneGo(list);
    const assigned = new Map<Insert, Values>();
    for (const { at, table, inserts } of filled) {
      const rows = new Map(results[at]?.map((row) => [keyOf(table, row as Values).join(' '), row as Values]));
      for (const insert of inserts) assigned.set(insert, rows.get(keyOf(table, insert.row).join(' ')) ?? {});
    }
    return units.map((unit) => committed(results, unit, assigned));
  }

  async function alone(unit: Unit): Promise<CommitResult> {
    try {
      const [written] = await write([unit], 'alone');
      return written ?? 'conflict';
    } catch (error) {
      if (isConflict(error)) return 'conflict';
      throw error;
    }
  }

  /** After a lost answer. */
  async function again(unit: Unit): Promise<CommitResult> {
    try {
      const result = await alone(unit);
      if (result !== 'conflict') return result;
      const found = await readBack(unit);
      if (found) return found;
      const isFinal = unit.writes.length > 0 && unit.writes.every((write) => typeof write.guard === 'number' || isUnguarded(write));
      return isFinal ? 'conflict' : 'unclear';
    } catch (error) {
      if (isDatabaseDown(error)) return 'unclear';
      throw error;
    }
  }

  /** A unit is committed if a row that only this unit can have inserted is there: one with a version and an id that was drawn for it. */
  async function readBack(unit: Unit): Promise<Committed | undefined> {
    const own = unit.inserts.filter(({ table }) => tables[table]?.assigned !== undefined && tables[table]?.version !== undefined);
    if (own.length === 0) return undefined;
    const { queries } = database;
    const results = await database.inOneGo([statements.now(queries), ...own.map((insert) => statements.find(queries, insert))]);
    const found = own.flatMap((insert, at) => (results[at + 1] ?? []).map((row) => [insert, row as Values] as const));
    return found.length === own.length ? committed(results, unit, new Map(found)) : undefined;
  }

  const group = createGroup<Unit, CommitResult>({
    soon: database.soon,
    namesOf: (unit) => namesOf(tables, unit),
    sizeOf: ({ writes, inserts }) => sizeOf(writes.map(({ set }) => set)) + sizeOf(inserts.map(({ row }) => row)),
    together: (units) => write(units, 'together'),
    alone,
  });

  return {
    async add(unit) {
      try {
        return await group.add(unit);
      } catch (error) {
        if (isDatabaseDown(error) && !(error instanceof DatabaseBusy)) return await again(unit);
        throw error;
      }
    },
    get waiting() {
      return group.waiting;
    },
  };
}

function committed(results: readonly Record<string, unknown>[][], { inserts }: Unit, assigned: ReadonlyMap<Insert, Values>): Committed {
  return { now: Number(results[0]?.[0]?.['now']), assigned: inserts.map((insert) => assigned.get(insert) ?? {}) };
}

function isConflict(error: unknown): boolean {
  return error instanceof GuardFailed || (error instanceof ConstraintViolation && error.kind === 'unique');
}

/** The rows that a unit guards: two units that share one are never in one batch, nor under way together. */
export function namesOf(tables: CommitTables, { writes, inserts }: Unit): string[] {
  const inserted = inserts.map(({ table, row }) => ({ table, known: tableOf(tables, table), row }));
  return [
    ...writes.flatMap((write) => (isUnguarded(write) ? [] : [nameOf(write.table, write.key)])),
    ...inserted.flatMap(({ table, known, row }) => (known.version === undefined ? [] : [nameOf(table, keyOf(known, row))])),
  ];
}

function sizeOf(rows: readonly Values[]): number {
  let size = 0;
  for (const row of rows) for (const value of Object.values(row)) size += typeof value === 'string' ? value.length : 8;
  return size;
}
