// One connection to PostgreSQL: statements with parameters are prepared under a name and so planned once; errors are translated here.
// A connection whose answer did not come in time is cut, since the answer could still come and be taken for another's.
import pg from 'pg';
import { toBindable } from '../values.ts';
import { isInFailedTransaction, isStaleStatement, readTimeoutMessage, translatePostgresError } from './errors.ts';

const maxNamed = 500;

/** Names for statement texts, the same on every connection. The first come are named; later ones run unnamed, so the server's memory is bounded. */
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
  connection: { stream: { destroy(): void } };
}

export function cutConnection(client: pg.ClientBase): void {
  (client as unknown as InnerClient).connection.stream.destroy();
}

export function createClientClass(nameOf: (text: string) => string | undefined): typeof pg.Client {
  class NamingClient extends pg.Client {
    #isBusy = false;
    /** Prepared on this connection before their tables changed. */
    readonly #stale = new Set<string>();
    readonly #queue: (() => void)[] = [];

    /** One after the other: pg no longer wants to hold the queue itself. */
    async #inTurn(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
      if (this.#isBusy) await new Promise<void>((resolve) => this.#queue.push(resolve));
      this.#isBusy = true;
      try {
        return await this.#run(text, values);
      } finally {
        const next = this.#queue.shift();
        // Handed on without a gap, so that no other statement comes in between.
        if (next) next();
        else this.#isBusy = false;
      }
    }

    async #run(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
      try {
        const bound = values.map(toBindable);
        const name = bound.length > 0 && !this.#stale.has(text) ? nameOf(text) : undefined;
        if (name === undefined) return await super.query({ text, values: bound });
        return await super.query({ name, text, values: bound }).catch((error: unknown) => {
          if (!isStaleStatement(error)) throw error;
          // It was refused before it did anything.
          this.#stale.add(text);
          return super.query({ text, values: bound }).catch((second: unknown) => {
            // Inside a transaction the refusal has ended that: its owner begins again.
            throw isInFailedTransaction(second) ? error : second;
          });
        });
      } catch (error) {
        if ((error as Error).message === readTimeoutMessage) cutConnection(this);
        throw translatePostgresError(error);
      }
    }

    // The one form that Kysely and this room use, of the many that pg declares.
    // oxlint-disable-next-line typescript/no-explicit-any -- the declared overloads cannot be narrowed to one
    override query(text: any, values?: any): any {
      return this.#inTurn(text as string, (values ?? []) as unknown[]);
    }
  }
  return NamingClient;
}
