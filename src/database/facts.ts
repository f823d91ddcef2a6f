// Facts about the database as a whole, one row each, written once: the first writer wins, also among several gateways.
import { StartRefused } from '../kernel/start-refused.ts';
import type { Queries } from './database.ts';

/** The stored value; `proposed` is stored if there is none yet. */
export async function keepFact(queries: Queries, name: string, proposed: string): Promise<string> {
  const stored = () => queries.selectFrom('database_facts').select('value').where('name', '=', name).executeTakeFirst();
  const known = await stored();
  if (known) return known.value;
  await queries
    .insertInto('database_facts')
    .values({ name, value: proposed })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  return (await stored())?.value ?? proposed;
}

/** A sandbox gives its key and an operator's session to every client, so a sandbox and a shop never share a database [D153]. */
export async function requireCreatedBy(queries: Queries, mode: 'sandbox' | 'serve'): Promise<void> {
  const creator = await keepFact(queries, 'created by', mode);
  if (creator === mode) return;
  throw new StartRefused(
    `This database was created by \`tillgate ${creator}\`, and \`tillgate ${mode}\` does not open it. Set TILLGATE_DATA_DIR or TILLGATE_DATABASE_URL to another database.`,
  );
}
