// The gateway processes that share a database: each writes a heartbeat, and one whose heartbeat stopped has left its work to the others.
// Judged by the database's clock alone, so that instances with different clocks agree.
import { type Clock, every } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Database, Queries } from './database.ts';
import { nowMs } from './dialect.ts';
import { keptStatement } from './kept-statement.ts';

export const heartbeatEveryMs = 5_000;
/** Three heartbeats: the one figure for "this instance is dead", whoever asks [D47]. */
export const deadAfterMs = 15_000;
/** On which an instance says that it is there. */
const instancesTopic = 'instances';
const forgetAfterMs = 30 * 24 * 3_600_000;

export interface InstanceDescription {
  id: string;
  host: string;
  pid: number;
  /** Which parts run inside this process instead of being shared, for example "broker": two such instances do not fit together. */
  embedded: string;
}

export interface LivingInstance extends InstanceDescription {
  startedAt: number;
  heartbeatAt: number;
}

export interface Instance {
  readonly id: string;
  /** Marks this one as stopped: the others need not wait for the heartbeat to run out. */
  stop(): Promise<void>;
}

export interface InstanceDeps {
  database: Database;
  clock: Clock;
  logger: Logger;
}

export async function startInstance({ database, clock, logger }: InstanceDeps, description: InstanceDescription): Promise<Instance> {
  await beat(database.queries, description);
  await forgetOld(database.queries);
  // Whoever hears this is not alone any more; one who does not hear it counts us at his next heartbeat.
  const stopListening = database.onWake(instancesTopic, (id) => id !== description.id && database.setAlone(false));
  database.wake(instancesTopic, description.id);
  const cancel = every(clock, heartbeatEveryMs, async () => {
    try {
      await beat(database.queries, description);
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

const beat = keptStatement((queries, { id, host, pid, embedded }: InstanceDescription) =>
  queries
    .insertInto('instances')
    .values({ id, host, pid, embedded, started_at: nowMs, heartbeat_at: nowMs, stopped_at: null })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ heartbeat_at: nowMs }))
    .compile(),
);

async function forgetOld(queries: Queries): Promise<void> {
  await queries
    .deleteFrom('instances')
    .where('heartbeat_at', '<', (eb) => eb(nowMs, '-', forgetAfterMs))
    .execute();
}

/** For a database that only one gateway can hold: all others are known to be dead. */
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

/** Ids of those that stopped or whose heartbeat is older. An id that is in neither list was forgotten long ago, and is dead as well. */
export async function deadInstances(queries: Queries, olderThanMs: number = deadAfterMs): Promise<string[]> {
  const rows = await queries
    .selectFrom('instances')
    .select('id')
    .where((eb) => eb.or([eb('stopped_at', 'is not', null), eb('heartbeat_at', '<', eb(nowMs, '-', olderThanMs))]))
    .orderBy('id')
    .execute();
  return rows.map((row) => row.id);
}
