// Several prepared statements behind one Sync: an implicit transaction in one round trip, without begin and commit. The server executes
// them in order; after the first error it skips all others up to the Sync and rolls back.
// `pg` has no such query: with its `pipeline` option each statement has a Sync of its own, so that a failed one does not undo the others.
// This is a query object for `client.query`, as pg-cursor is one. All values are converted before the first byte is sent, and a statement
// counts as prepared after its ParseComplete, which pg handles by `name` and `text`. The columns of a result are described once per connection.
import type pg from 'pg';

export interface SyncStatement {
  text: string;
  values: readonly unknown[];
  /** Undefined: parsed each time. */
  name: string | undefined;
}

export type Rows = Record<string, unknown>[];

interface Field {
  name: string;
  parse(text: string): unknown;
}

/** The columns of the results of prepared statements; null: the statement returns none. */
export type KnownFields = Map<string, readonly Field[] | null>;

/** The parts of pg's connection that a query object uses. */
interface Connection {
  stream: { cork(): void; uncork(): void };
  parsedStatements: Record<string, string | undefined>;
  parse(message: { text: string; name: string }): void;
  describe(message: { type: 'S'; name: string }): void;
  bind(message: { portal: string; statement: string; values: unknown[]; valueMapper: (value: unknown) => unknown }): void;
  execute(message: { portal: string; rows: number }): void;
  sync(): void;
}

interface OneSyncOptions {
  statements: readonly SyncStatement[];
  known: KnownFields;
  types: pg.CustomTypesConfig;
  /** As bytes or text for the wire. */
  convert: (value: unknown) => unknown;
}

export class OneSync {
  /** Set by pg, too, which wraps it for its time-out. */
  callback: (error: Error | null, results?: Rows[]) => void;
  readonly #statements: readonly (SyncStatement & { converted: unknown[] })[];
  readonly #known: KnownFields;
  readonly #types: pg.CustomTypesConfig;
  readonly #results: Rows[] = [];
  #rows: Rows = [];
  #fields: readonly Field[] | null = null;
  #isFailed = false;

  /** Throws if a value cannot be converted. */
  constructor({ statements, known, types, convert }: OneSyncOptions, callback: (error: Error | null, results?: Rows[]) => void) {
    this.#statements = statements.map((statement) => ({ ...statement, converted: statement.values.map(convert) }));
    this.#known = known;
    this.#types = types;
    this.callback = callback;
  }

  get #current(): SyncStatement | undefined {
    return this.#statements[this.#results.length];
  }

  /** Which statement the server has parsed now: pg asks after each ParseComplete. */
  get name(): string {
    return this.#current?.name ?? '';
  }

  get text(): string {
    return this.#current?.text ?? '';
  }

  submit(connection: Connection): null {
    connection.stream.cork();
    /** Parsed and described before in this very Sync, in which no answer has arrived yet. */
    const sent = new Set<string>();
    for (const { name = '', text, converted } of this.#statements) {
      const isSent = sent.has(name);
      if (name === '' || (connection.parsedStatements[name] === undefined && !isSent)) {
        this.#known.delete(name);
        connection.parse({ text, name });
      }
      if (!this.#known.has(name) && !isSent) connection.describe({ type: 'S', name });
      if (name !== '') sent.add(name);
      connection.bind({ portal: '', statement: name, values: converted, valueMapper: (value) => value });
      connection.execute({ portal: '', rows: 0 });
    }
    connection.sync();
    connection.stream.uncork();
    return null;
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    const parserOf = (oid: number) => this.#types.getTypeParser(oid, 'text') as (text: string) => unknown;
    this.#fields = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }));
  }

  handleDataRow({ fields: values }: { fields: (string | null)[] }): void {
    const row: Record<string, unknown> = {};
    const fields = this.#fields ?? this.#known.get(this.name) ?? [];
    for (const [at, { name, parse }] of fields.entries()) row[name] = values[at] == null ? null : parse(values[at]);
    this.#rows.push(row);
  }

  handleCommandComplete(): void {
    const { name } = this;
    if (name !== '' && !this.#known.has(name)) this.#known.set(name, this.#fields);
    this.#results.push(this.#rows);
    this.#rows = [];
    this.#fields = null;
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete();
  }

  handlePortalSuspended(): void {}

  handleError(error: Error): void {
    if (this.#isFailed) return;
    this.#isFailed = true;
    this.callback(error);
  }

  handleReadyForQuery(): void {
    if (!this.#isFailed) this.callback(null, this.#results);
  }
}
