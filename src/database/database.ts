// The database as the rest of the house sees it: one store code through Kysely, on SQLite or PostgreSQL.
// Inside `transaction`, use only the queries handed in: the outer ones would wait for the same connection.
// No transaction waits for the network.
import type { CompiledQuery, Kysely } from 'kysely';
import type { Cancel } from '../kernel/clock.ts';
import type { Schema } from './schema.ts';

/** The database itself (each statement commits by itself) or an open transaction: store functions take either. */
export type Queries = Kysely<Schema>;

export interface Database {
  readonly engine: 'sqlite' | 'postgres';
  readonly queries: Queries;
  /**
   * All or nothing. PostgreSQL may run `work` again when it lost against another transaction (deadlock), so it has no effect but through its queries.
   * An error of a statement ends the whole transaction there: use `on conflict`, never try and catch inside.
   */
  transaction<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result>;
  /**
   * On SQLite only; PostgreSQL writes several tables in one statement. Statements that are known beforehand, in this order, all or nothing,
   * with what each of them found: one trip to its thread and one moment of its clock, and nothing happens between them.
   */
  inOneGo?: (statements: readonly CompiledQuery[]) => Promise<Record<string, unknown>[][]>;
  /** Tells every instance, this one at once, that there is something new about `topic`. Call it after the commit. */
  wake(topic: string, detail?: string): void;
  /** The same about what the others would find by themselves before long: not sent while this instance knows itself to be alone. */
  hint(topic: string, detail?: string): void;
  /** Whether no other instance lives: said by the count of instances (instances.ts). Until then it is not alone. */
  setAlone(isAlone: boolean): void;
  /** Delivery to other instances is best effort: every listener also looks for work by itself now and then. */
  onWake(topic: string, listener: (detail: string) => void): Cancel;
  /** Runs `action` when what has arrived by now was read, so that what came together is written together. In memory: at once, it costs nothing. */
  soon(action: () => void): void;
  /** Writes a row; fails within a bounded time when the database cannot be written, whatever it still answers. */
  checkWrite(): Promise<void>;
  /** For metrics: connections in use, idle, and callers waiting. */
  load(): { busy: number; idle: number; waiting: number };
  close(): Promise<void>;
}
