// Reasons to refuse the start of `serve` that the settings alone do not show: a database that may lose committed data, and another instance on
// the same database if one of the two could not reach the devices of the other.

import { checkDurability } from '../database/durability.ts';
import { type LivingInstance, livingInstances } from '../database/instances.ts';
import type { Shared } from '../database/shared-deps.ts';
import { sleep } from '../kernel/clock.ts';
import { StartRefused } from '../kernel/start-refused.ts';

interface Deps extends Pick<Shared, 'database' | 'clock' | 'logger' | 'instanceId'> {
  /** Names of the channels inside this process. */
  embedded: readonly string[];
}

const lookAgainMs = 250;

export async function refuseDangers(deps: Deps): Promise<void> {
  const { database, embedded } = deps;
  const problems = await checkDurability(database);
  if (problems.length > 0) throw new StartRefused(problems.join('\n'));
  const other = await conflictingInstance(deps);
  if (!other) return;
  const who = `Another instance (process ${other.pid} on ${other.host})`;
  throw new StartRefused(
    embedded.length > 0
      ? `${who} uses this database, and the ${embedded.join(' and ')} of this one would be embedded, so devices of one could not be reached by the other: set TILLGATE_MQTT_URL and TILLGATE_QUEUE_URL on every instance.`
      : `${who} uses this database with its own ${other.embedded}: give it TILLGATE_MQTT_URL and TILLGATE_QUEUE_URL first.`,
  );
}

/** An instance that conflicts with this one. Its next heartbeat shows that it runs: a killed instance leaves a recent row. */
async function conflictingInstance({ database, clock, logger, instanceId, embedded }: Deps): Promise<LivingInstance | undefined> {
  const firstBeats = new Map<string, number>();
  for (;;) {
    const living = await livingInstances(database.queries);
    const others = living.filter((one) => one.id !== instanceId && (embedded.length > 0 || one.embedded !== ''));
    const beating = others.find(({ id, heartbeatAt }) => (firstBeats.get(id) ?? heartbeatAt) !== heartbeatAt);
    if (beating || others.length === 0) return beating;
    for (const { id, host, pid, heartbeatAt } of others) {
      if (firstBeats.has(id)) continue;
      firstBeats.set(id, heartbeatAt);
      logger.warn({ host, pid }, 'another instance used this database a moment ago; waiting for its next heartbeat');
    }
    await sleep(clock, lookAgainMs);
  }
}
