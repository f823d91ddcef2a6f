// One connection to PostgreSQL: statements with parameters are prepared under a name, so they are planned once; errors are translated here.
// After a read time-out the connection is closed, because the late answer could be taken for that of the next statement.
import pg from 'pg';
import { type Bindable, toBindable } from '../values.ts';
import { isForgottenStatement, isInFailedTransaction, isStaleStatement, readTimeoutMessage, translatePostgresError } from './errors.ts';
import { type KnownFields, OneSync, type Rows } from './one-sync.ts';
import { typeParsers } from './values.ts';

const maxNamed = 500;

/** Names for statement texts, the same on every connection. Only the first `maxNamed` get one, so the server's memory is bounded. */
export function createStatementNames(): (text: string) => string | undefined {
  const names = new Map<string, string>();
  return (text) => {
    const known = names.get(text);
    if (known || names.size >= maxNamed) return known;
    const name = `t${names.size + 1}`;
    names.set(text, name);
    return name;
  };
}

interface InnerClient {
  connection: { stream: { destroy(): void }; parsedStatements: Record<string, string | undefined> };
}

export interface Statement {
  text: string;
  values: readonly unknown[];
}

/** A client that also runs several statements as one implicit transaction (one-sync.ts). */
export interface SyncingClient extends pg.PoolClient {
  oneSync(statements: readonly Statement[]): Promise<Rows[]>;
}

export function cutConnection(client: pg.ClientBase): void {
  (client as unknown as InnerClient).connection.stream.destroy();
}

/** `onFailure` gets every error of a statement as the server reported it. */
export function createClientClass(
  nameOf: (text: string) => string | undefined,
  onFailure: (error: unknown) => void = () => {},
): typeof pg.Client {
  class NamingClient extends pg.Client {
    #isBusy = false;
    /** Statements that were prepared on this connection before their tables changed. */
    readonly #stale = new Set<string>();
    readonly #queue: (() => void)[] = [];
    #known: KnownFields = new Map();

    /** One at a time: the queue in pg itself is deprecated. */
    async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
      if (this.#isBusy) await new Promise<void>((resolve) => this.#queue.push(resolve));
      this.#isBusy = true;
      try {
        return await work();
      } catch (error) {
        onFailure(error);
        if ((error as Error).message === readTimeoutMessage) cutConnection(this);
        throw translatePostgresError(error);
      } finally {
        const next = this.#queue.shift();
        // `#isBusy` stays true, so that no other statement comes in between.
        if (next) next();
        else this.#isBusy = false;
      }
    }

    async #run(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
      const bound = values.map(toBindable);
      const name = bound.length > 0 && !this.#stale.has(text) ? nameOf(text) : undefined;
      if (name === undefined) return await super.query({ text, values: bound });
      return await super.query({ name, text, values: bound }).catch((error: unknown) => {
        if (!isStaleStatement(error)) throw error;
        // The server rejected it before executing it.
        this.#stale.add(text);
        return super.query({ text, values: bound }).catch((second: unknown) => {
          // Inside a transaction, the rejection has ended the transaction: its owner retries it.
          throw isInFailedTransaction(second) ? error : second;
        });
      });
    }

    /** A statement that the server has forgotten (`discard all`), or whose tables changed, was not executed, and nothing before it is kept. */
    async #runTogether(statements: readonly Statement[]): Promise<Rows[]> {
      return await this.#sendTogether(statements).catch((error: unknown) => {
        if (!isForgottenStatement(error) && !isStaleStatement(error)) throw error;
        (this as unknown as InnerClient).connection.parsedStatements = {};
        this.#known = new Map();
        return this.#sendTogether(statements, '').catch((second: unknown) => {
          // Inside a transaction, the first rejection has ended the transaction: its owner tries again.
          throw isInFailedTransaction(second) ? error : second;
        });
      });
    }

    #sendTogether(statements: readonly Statement[], unnamed?: ''): Promise<Rows[]> {
      return new Promise((resolve, reject) => {
        const named = statements.map(({ text, values }) => ({ text, values, name: unnamed === '' ? undefined : nameOf(text) }));
        const options = {
          statements: named,
          known: this.#known,
          types: typeParsers,
          convert: (value: unknown) => toWire(toBindable(value)),
        };
        void super.query(new OneSync(options, (error, results) => (error ? reject(error) : resolve(results ?? []))));
      });
    }

    oneSync(statements: readonly Statement[]): Promise<Rows[]> {
      return this.#inTurn(() => this.#runTogether(statements));
    }

    // The only overload that Kysely and this room use.
    // oxlint-disable-next-line typescript/no-explicit-any -- the declared overloads cannot be narrowed to one
    override query(text: any, values?: any): any {
      return this.#inTurn(() => this.#run(text as string, (values ?? []) as unknown[]));
    }
  }
  return NamingClient;
}

/** As pg writes it: numbers as text, bytes as they are. */
function toWire(value: Bindable): string | Buffer | null {
  if (value instanceof Uint8Array) return Buffer.from(value);
  return value === null ? null : String(value);
}
