// The gateway processes that share a database: each writes a heartbeat; if it stops, the others take over its work.
// Only the database's clock is used, so that instances with different clocks agree.
import { sql } from 'kysely';
import { type Clock, every } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Database, Queries } from './database.ts';
import { nowMs } from './dialect.ts';
import { keptStatement } from './kept-statement.ts';

export const heartbeatEveryMs = 5_000;
/** Three heartbeats: the only limit after which an instance counts as dead [D47]. */
export const deadAfterMs = 15_000;
/** How long an instance that died without stopping is listed. */
const lostShownForMs = 24 * 3_600_000;
const maxListed = 100;
/** Wake-up topic of new instances. */
const instancesTopic = 'instances';
const forgetAfterMs = 30 * 24 * 3_600_000;

export interface InstanceDescription {
  id: string;
  host: string;
  pid: number;
  /** Parts that run inside this process instead of being shared, for example "broker": two such instances cannot work together. */
  embedded: string;
  version: string;
}

/** Connections and queues of an instance at its last heartbeat. */
export interface InstanceStatus {
  /** HTTP connections, of ERPs, proxies and browsers. */
  http: number;
  /** Devices that are live on some channel. */
  devices: number;
  /** Whether each channel to the devices is connected. */
  channels: Record<string, boolean>;
  database: { busy: number; idle: number; waiting: number };
  waitingCalls: number;
  commands: number;
  callbacks: number;
}

export interface ListedInstance extends InstanceDescription {
  state: 'running' | 'lost';
  startedAt: number;
  heartbeatAt: number;
  clockOffsetMs: number | null;
  status: InstanceStatus | undefined;
}

export interface LivingInstance extends Omit<InstanceDescription, 'version'> {
  startedAt: number;
  heartbeatAt: number;
}

export interface Instance {
  readonly id: string;
  /** Marks this instance as stopped, so that the others need not wait for its heartbeat to expire. */
  stop(): Promise<void>;
}

export interface InstanceDeps {
  database: Database;
  clock: Clock;
  logger: Logger;
  readStatus?: () => Promise<InstanceStatus>;
}

export async function startInstance(deps: InstanceDeps, description: InstanceDescription): Promise<Instance> {
  const { database, clock, logger, readStatus } = deps;
  const beatNow = async () => {
    // A failing status must not prevent the heartbeat: without it, others take over the commands.
    const status = JSON.stringify(await readStatus?.().catch(() => undefined)) ?? null;
    await beat(database.queries, { ...description, status, clockMs: clock.now() });
  };
  await beatNow();
  await forgetOld(database.queries);
  // An instance that receives this is no longer alone; one that misses it counts the instances at its next heartbeat.
  const stopListening = database.onWake(instancesTopic, (id) => id !== description.id && database.setAlone(false));
  database.wake(instancesTopic, description.id);
  const cancel = every(clock, heartbeatEveryMs, async () => {
    try {
      await beatNow();
      database.setAlone((await livingInstances(database.queries)).every(({ id }) => id === description.id));
    } catch (error) {
      database.setAlone(false);
      logger.warn({ err: error }, 'the heartbeat of this instance could not be written');
    }
  });
  return {
    id: description.id,
    async stop() {
      cancel();
      stopListening();
      await database.queries.updateTable('instances').set({ stopped_at: nowMs }).where('id', '=', description.id).execute();
    },
  };
}

interface Beat extends InstanceDescription {
  status: string | null;
  clockMs: number;
}

const beat = keptStatement((queries, { id, host, pid, embedded, version, status, clockMs }: Beat) => {
  const lasting = { id, host, pid, embedded, version, started_at: nowMs, stopped_at: null };
  const measured = { heartbeat_at: nowMs, clock_offset_ms: sql<number>`cast(${clockMs} as bigint) - now_ms()`, status };
  return queries
    .insertInto('instances')
    .values({ ...lasting, ...measured })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(measured))
    .compile();
});

async function forgetOld(queries: Queries): Promise<void> {
  await queries
    .deleteFrom('instances')
    .where('heartbeat_at', '<', (eb) => eb(nowMs, '-', forgetAfterMs))
    .execute();
}

/** For a database that only one gateway can open: all other instances are dead. */
export async function endOtherInstances(queries: Queries): Promise<void> {
  await queries.updateTable('instances').set({ stopped_at: nowMs }).where('stopped_at', 'is', null).execute();
}

const livingWithin = keptStatement((queries, { withinMs }: { withinMs: number }) =>
  queries
    .selectFrom('instances')
    .select(['id', 'host', 'pid', 'embedded', 'started_at as startedAt', 'heartbeat_at as heartbeatAt'])
    .where('stopped_at', 'is', null)
    .where('heartbeat_at', '>=', (eb) => eb(nowMs, '-', withinMs))
    .orderBy('started_at')
    .orderBy('id')
    .compile(),
);

export function livingInstances(queries: Queries, withinMs: number = deadAfterMs): Promise<LivingInstance[]> {
  return livingWithin(queries, { withinMs });
}

/** Running instances first, then those that died in the last day; the newest first. */
export async function listInstances(queries: Queries): Promise<ListedInstance[]> {
  const rows = await queries
    .selectFrom('instances')
    .select(['id', 'host', 'pid', 'embedded', 'version', 'started_at as startedAt', 'heartbeat_at as heartbeatAt'])
    .select(['clock_offset_ms as clockOffsetMs', 'status'])
    .select((eb) => eb(nowMs, '-', eb.ref('heartbeat_at')).as('silentMs'))
    .where('stopped_at', 'is', null)
    .where('heartbeat_at', '>=', (eb) => eb(nowMs, '-', lostShownForMs))
    .orderBy('heartbeat_at', 'desc')
    .limit(maxListed)
    .execute();
  const listed = rows.map(({ silentMs, status, version, ...row }): ListedInstance => {
    const state = silentMs <= deadAfterMs ? 'running' : 'lost';
    return { ...row, version: version ?? '', state, status: status === null ? undefined : (JSON.parse(status) as InstanceStatus) };
  });
  const order = { running: 0, lost: 1 };
  return listed.toSorted((one, other) => order[one.state] - order[other.state] || other.startedAt - one.startedAt);
}

/** Ids of instances that stopped or whose heartbeat is older. An id in neither list was deleted long ago, and is dead as well. */
export async function deadInstances(queries: Queries, olderThanMs: number = deadAfterMs): Promise<string[]> {
  const rows = await queries
    .selectFrom('instances')
    .select('id')
    .where((eb) => eb.or([eb('stopped_at', 'is not', null), eb('heartbeat_at', '<', eb(nowMs, '-', olderThanMs))]))
    .orderBy('id')
    .execute();
  return rows.map((row) => row.id);
}
