// The query plan of the first statement that a view sends on a table.
import { type CompiledQuery, type KyselyPlugin, sql } from 'kysely';
import type { Queries } from '../../../src/database/database.ts';
import type { TestDatabase } from '../../support/engines.ts';
import { recordSeeded, seedDevice } from '../../support/fixtures.ts';

/** The plan as text. `isSmall`: PostgreSQL would scan and sort so few rows, so that scans and sorts are disabled. */
export async function firstPlan(
  database: TestDatabase,
  view: (queries: Queries) => Promise<unknown>,
  { table = 'commands', isSmall = false } = {},
): Promise<string> {
  const compiled = (await statementsOf(database.queries, view)).find((each) => each.sql.includes(table));
  if (!compiled) throw new Error('No statement was sent.');
  return await planOf(database, compiled, isSmall ? ['seqscan', 'bitmapscan', 'sort'] : []);
}

/** Every plan of a view, with its statement. Only commands have enough rows for PostgreSQL to choose an index itself. */
export async function allPlans(
  database: TestDatabase,
  view: (queries: Queries) => Promise<unknown>,
): Promise<{ statement: string; plan: string }[]> {
  const plans: { statement: string; plan: string }[] = [];
  const seen = new Set<string>();
  for (const compiled of await statementsOf(database.queries, view)) {
    // Statements repeated for each hour.
    if (seen.has(compiled.sql)) continue;
    seen.add(compiled.sql);
    if (/^\s*(select|with)/.test(compiled.sql))
      plans.push({ statement: compiled.sql, plan: await planOf(database, compiled, compiled.sql.includes('commands') ? [] : ['seqscan']) });
  }
  return plans;
}

async function planOf(database: TestDatabase, compiled: CompiledQuery, withoutWays: string[]): Promise<string> {
  const isPostgres = database.engine === 'postgres';
  const plan = await database.transaction(async (queries) => {
    // As on an SSD: otherwise PostgreSQL would scan a table as small as here, unlike a large one.
    if (isPostgres) await sql`set local random_page_cost = 1.1`.execute(queries);
    if (isPostgres) for (const way of withoutWays) await sql`set local ${sql.raw(`enable_${way}`)} = off`.execute(queries);
    return await queries.executeQuery<object>({ ...compiled, sql: `${isPostgres ? 'explain' : 'explain query plan'} ${compiled.sql}` });
  });
  return JSON.stringify(plan.rows);
}

/** The compiled statements of a view. */
async function statementsOf(queries: Queries, view: (queries: Queries) => Promise<unknown>): Promise<CompiledQuery[]> {
  const caught: CompiledQuery[] = [];
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      const compiled = queries.getExecutor().compileQuery(node, queryId);
      // A cached statement has placeholder objects instead of values: any value gives the same plan.
      const parameters = compiled.parameters.map((value) => (typeof value === 'object' && value !== null ? '1' : value));
      caught.push({ ...compiled, parameters });
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  await view(queries.withPlugin(plugin));
  return caught;
}

/** Settled payments and prints of one merchant on ten devices, a few refused: enough rows that no engine prefers a scan. */
export async function fillMany(
  database: TestDatabase,
  merchantId: string,
  { count = 10_000, firstDevice }: { count?: number; firstDevice?: string } = {},
): Promise<void> {
  const { queries } = database;
  const deviceIds: string[] = [];
  for (let index = 0; index < 10; index += 1) {
    const own = index === 0 && firstDevice !== undefined ? { id: firstDevice } : {};
    deviceIds.push((await seedDevice(queries, merchantId, { kind: index % 2 === 0 ? 'terminal' : 'register', ...own })).id);
  }
  // In batches, because of the statement time-out.
  for (let first = 1; first < count; first += 1_000)
    await sql`
    with recursive numbers (n) as (select ${sql.lit(first)} union all select n + 1 from numbers where n < ${sql.lit(first + 999)}),
    rows as (
      select n, case when n % 2 = 0 then 'Pay' else 'PrintReceipt' end as name, case when n % 50 = 3 then 'refused' else 'done' end as state from numbers
    )
    insert into commands (id, merchant_id, device_id, instance_id, name, mode, is_payment, closes_day, args, state, amount_bani, document_nr, operation_id, rrn, receipt_uid,
      receipt_id, issued_at, answer_by, settled_at, settled_by, recalls, document_state)
    select
      'id-' || n, cast(${merchantId} as text), case n % 10 ${sql.join(
        deviceIds.map((id, index) => sql`when ${sql.lit(index)} then ${id}`),
        sql` `,
      )} end, 'x', name, case name when 'Pay' then 'POS' else 'Fiscal' end, case name when 'Pay' then 1 else 0 end, 0, '{}', state, 100 + n % 7000, 'doc-' || n, 'op-' || n % 1000, 'rrn-' || n, 'uid-' || n,
      'r-' || n, 1700000000000 + n * 1000, 1700000000000 + n * 1000, 1700000000000 + n * 1000, 'answer', 0,
      case when name = 'Pay' and state = 'done' then 'closed' end
    from rows`.execute(queries);
  await recordSeeded(queries);
  if (database.engine === 'postgres') await sql`analyze`.execute(queries);
}
