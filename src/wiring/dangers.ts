// What `serve` does not start with though the settings alone look sound: a database that may lose what it promised to keep, and another
// instance on the same database whose devices this one could not reach, or the other way round.
import type { Database } from '../database/database.ts';
import { checkDurability } from '../database/durability.ts';
import { type LivingInstance, livingInstances } from '../database/instances.ts';
import { type Clock, sleep } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { StartRefused } from '../kernel/start-refused.ts';

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  instanceId: string;
  /** The channels inside this process, as people call them. */
  embedded: readonly string[];
}

const lookAgainMs = 250;

export async function refuseDangers(deps: Deps): Promise<void> {
  const { database, embedded } = deps;
  const problems = await checkDurability(database);
  if (problems.length > 0) throw new StartRefused(problems.join('\n'));
  const other = await livingNeighbour(deps);
  if (!other) return;
  const who = `Another instance (process ${other.pid} on ${other.host})`;
  throw new StartRefused(
    embedded.length > 0
      ? `${who} uses this database, and the ${embedded.join(' and ')} of this one would be embedded, so devices of one could not be reached by the other: set TILLGATE_MQTT_URL and TILLGATE_QUEUE_URL on every instance.`
      : `${who} uses this database with its own ${other.embedded}: give it TILLGATE_MQTT_URL and TILLGATE_QUEUE_URL first.`,
  );
}

/** One that does not fit together with this one. Its next heartbeat shows whether it lives: one that was killed leaves a fresh row. */
async function livingNeighbour({ database, clock, logger, instanceId, embedded }: Deps): Promise<LivingInstance | undefined> {
  const firstBeats = new Map<string, number>();
  for (;;) {
    const living = await livingInstances(database.queries);
    const others = living.filter((one) => one.id !== instanceId && (embedded.length > 0 || one.embedded !== ''));
    const beating = others.find(({ id, heartbeatAt }) => (firstBeats.get(id) ?? heartbeatAt) !== heartbeatAt);
    if (beating || others.length === 0) return beating;
    for (const { id, host, pid, heartbeatAt } of others) {
      if (firstBeats.has(id)) continue;
      firstBeats.set(id, heartbeatAt);
      logger.warn({ host, pid }, 'another instance used this database a moment ago; waiting to see whether it still lives');
    }
    await sleep(clock, lookAgainMs);
  }
}
