// One connection to PostgreSQL: statements with parameters are prepared under a name and so planned once; errors are translated here.
// A connection whose answer did not come in time is cut, since the answer could still come and be taken for another's.
import pg from 'pg';
import { isStaleStatement, readTimeoutMessage, translatePostgresError } from './postgres-errors.ts';
import { toBindable } from './values.ts';

const namedAtMost = 500;

/** Names for statement texts, the same on every connection. The first come are named; later ones run unnamed, so the server's memory is bounded. */
export function createStatementNames(): (text: string) => string | undefined {
  const names = new Map<string, string>();
  return (text) => {
    const known = names.get(text);
    if (known || names.size >= namedAtMost) return known;
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
    async #run(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
      try {
        const bound = values.map(toBindable);
        const name = bound.length > 0 ? nameOf(text) : undefined;
        return await super.query(name === undefined ? { text, values: bound } : { name, text, values: bound });
      } catch (error) {
        if ((error as Error).message === readTimeoutMessage || isStaleStatement(error)) cutConnection(this);
        throw translatePostgresError(error);
      }
    }

    // The one form that Kysely and this room use, of the many that pg declares.
    // biome-ignore lint/suspicious/noExplicitAny: the declared overloads cannot be narrowed to one.
    override query(text: any, values?: any): any {
      return this.#run(text as string, (values ?? []) as unknown[]);
    }
  }
  return NamingClient;
}
