// The worker's SQL, one function per verb. A claim is a lease: `next_attempt_at` moves to the end of the lease, so the callback of a dead
// holder falls due again. Only the database's clock is used. State names are literals, because partial indexes need them.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { type Engine, nowMs, skipLocked } from '../database/dialect.ts';
import { deadInstances } from '../database/instances.ts';
import { keptStatement } from '../database/kept-statement.ts';
import type { Addressee } from './outbox.ts';
import { signingSecrets } from './signing-secrets.ts';

export interface ClaimedCallback {
  id: string;
  merchantId: string;
  host: string;
  sequence: number;
  url: string;
  /** Each of them signs the callback. */
  secrets: string[];
  /** Ended attempts before this one. */
  attempts: number;
  traceparent?: string | null | undefined;
}

const pending = sql.lit<'pending'>('pending');
/** Evaluated once per statement, so that an index on times can be used: PostgreSQL would call the bare function for every row. */
const now = sql<number>`(select now_ms())`;

export interface PendingHost extends Addressee {
  /** Time until the first is due; negative if it is overdue. */
  dueInMs: number;
}

const pendingHosts = keptStatement((queries) =>
  sql<PendingHost>`
    with recursive hosts (host) as (
      select min(host) from callbacks where state = 'pending'
      union all
      select (select min(c.host) from callbacks c where c.state = 'pending' and c.host > hosts.host) from hosts where hosts.host is not null
    )
    select host, (select min(c.next_attempt_at) from callbacks c where c.state = 'pending' and c.host = hosts.host) - ${now} as "dueInMs",
      (select c.merchant_id from callbacks c where c.state = 'pending' and c.host = hosts.host order by c.next_attempt_at limit 1) as "merchantId"
    from hosts where host is not null`.compile(queries),
);

/** Hosts with pending callbacks, and the merchant of the first one. A loose index scan, so a long backlog costs nothing. */
export function readHosts(queries: Queries): Promise<PendingHost[]> {
  return pendingHosts(queries, {});
}

interface Claim {
  host: string;
  instanceId: string;
  leaseMs: number;
}

const claimOn = (engine: Engine) =>
  keptStatement((queries, claim: Claim, limit: number) => {
    const leaseEnd = sql<number>`now_ms() + ${claim.leaseMs}`;
    return queries
      .with('due', (db) =>
        skipLocked(
          engine,
          db
            .selectFrom('callbacks as c')
            .select('c.id')
            .where('c.state', '=', pending)
            .where('c.host', '=', claim.host)
            .where('c.next_attempt_at', '<=', now)
            .where(({ not, exists, selectFrom }) =>
              not(
                exists(
                  selectFrom('callbacks as older')
                    .select('older.id')
                    .whereRef('older.subject_id', '=', 'c.subject_id')
                    .whereRef('older.sequence', '<', 'c.sequence')
                    .where('older.state', '=', pending)
                    .where((older) =>
                      older.or([
                        older('older.attempts', '=', 0),
                        older('older.leased_until', '>', now),
                        older('older.next_attempt_at', '<=', now),
                      ]),
                    ),
                ),
              ),
            )
            .orderBy('c.next_attempt_at')
            .limit(limit),
        ),
      )
      .updateTable('callbacks')
      .set({ leased_by: claim.instanceId, leased_until: leaseEnd, next_attempt_at: leaseEnd })
      .where('id', 'in', (db) => db.selectFrom('due').select('due.id'))
      .returning((row) => [
        'id',
        'merchant_id as merchantId',
        'host',
        'sequence',
        'url',
        'attempts',
        'traceparent',
        row
          .selectFrom('merchants as m')
          .select('m.callback_secret')
          .whereRef('m.id', '=', 'callbacks.merchant_id')
          .$asScalar()
          .as('secret'),
        row
          .selectFrom('merchants as m')
          .select('m.earlier_callback_secrets')
          .whereRef('m.id', '=', 'callbacks.merchant_id')
          .$asScalar()
          .as('earlier'),
        nowMs.as('now'),
      ])
      .compile();
  });
const claims = { sqlite: claimOn('sqlite'), postgres: claimOn('postgres') };

/**
 * Claims due callbacks of one host. Within a subject the order is kept [D26]: a callback waits while an older one is in flight, was never
 * tried or is due itself; it does not wait for later retries of an older one.
 */
export async function claimDue(
  queries: Queries,
  { engine, limit, ...claim }: Claim & { engine: Engine; limit: number },
): Promise<ClaimedCallback[]> {
  const rows = await claims[engine](queries, claim, limit);
  return rows.map(({ secret, earlier, now: atMs, ...callback }) => ({
    ...callback,
    secrets: signingSecrets({ secret, earlier, now: atMs }),
  }));
}

/** The callbacks of killed gateways are due at once, instead of when their leases expire. */
export async function releaseLeasesOfDead(queries: Queries): Promise<void> {
  const dead = await deadInstances(queries);
  if (dead.length === 0) return;
  await queries
    .updateTable('callbacks')
    .set({ leased_by: null, leased_until: null, next_attempt_at: nowMs })
    .where('state', '=', pending)
    .where('leased_by', 'in', dead)
    .execute();
}

/** Releases claimed callbacks; they are due at once for every instance. */
export async function releaseLeases(queries: Queries, instanceId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await queries
    .updateTable('callbacks')
    .set({ leased_by: null, leased_until: null, next_attempt_at: nowMs })
    .where('id', 'in', ids)
    .where('state', '=', pending)
    .where('leased_by', '=', instanceId)
    .execute();
}
