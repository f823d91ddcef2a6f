// The database interface: the same store code through Kysely on SQLite and PostgreSQL.
// Inside `transaction`, use only the given queries: the outer ones would wait for the same connection.
// No transaction waits for the network.
import type { CompiledQuery, Kysely } from 'kysely';
import type { Cancel } from '../kernel/clock.ts';
import type { Schema } from './schema.ts';

/** The database itself (each statement is its own commit) or an open transaction: store functions accept either. */
export type Queries = Kysely<Schema>;

/** Runs these statements, which only read, and returns the rows of each. */
export type Read = (statements: readonly CompiledQuery[]) => Promise<Record<string, unknown>[][]>;

export interface Database {
  readonly engine: 'sqlite' | 'postgres';
  readonly queries: Queries;
  /**
   * Only reads, apart from payments [D288]: for the lists, searches, exports and sums of the cabinet. It sees every commit. On SQLite a thread
   * of its own, started by the first read (in memory: `queries`); on PostgreSQL a part of the connections.
   */
  readonly pages: Queries;
  /**
   * All or nothing. PostgreSQL may run `work` again after a deadlock, so it must have no effects outside its queries.
   * An error of a statement ends the whole transaction there: use `on conflict`, never catch errors inside.
   */
  transaction<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result>;
  /**
   * Runs these statements in order, all or nothing, and returns the rows of each: one round trip, to the server or to the worker thread, and
   * no begin or commit of its own. On SQLite no other statement comes in between, and the clock stands still.
   */
  inOneGo(statements: readonly CompiledQuery[]): Promise<Record<string, unknown>[][]>;
  /**
   * Reads one state of the database in several rounds, each of them one round trip. Nothing is locked; `work` may run again from its
   * beginning, so it must have no effects.
   */
  snapshot<Result>(work: (read: Read) => Promise<Result>): Promise<Result>;
  /** Wakes the listeners of `topic` in every instance, in this one at once. Call it after the commit. */
  wake(topic: string, detail?: string): void;
  /** The same for changes that other instances find soon anyway by polling: not sent while this instance is known to be alone. */
  hint(topic: string, detail?: string): void;
  /** Set by the count of running instances (instances.ts); initially false. */
  setAlone(isAlone: boolean): void;
  /** Delivery to other instances is best effort: every listener also polls. */
  onWake(topic: string, listener: (detail: string) => void): Cancel;
  /** Runs `action` after the input that has arrived by now is read, so that requests that came together are batched. In memory: at once. */
  soon(action: () => void): void;
  /** Writes a row; fails within a bounded time if the database cannot be written, even if it can be read. */
  checkWrite(): Promise<void>;
  /** For metrics: connections in use, idle, and callers waiting. */
  load(): { busy: number; idle: number; waiting: number };
  /** For metrics, on PostgreSQL only: statements and connections that the server refused for lack of space, memory or connections. */
  shortages?: () => number;
  close(): Promise<void>;
}
