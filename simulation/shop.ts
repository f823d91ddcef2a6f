// The simulated shop: one database, gateways that start and die on it, devices with their banks and memories, the ERPs that get
// callbacks, and the chronicle of all events.
import { sql } from 'kysely';
import type { Database } from '../src/database/database.ts';
import type { Logger } from '../src/kernel/logger.ts';
import { seedMerchant } from '../test/support/fixtures.ts';
import { seededRandom } from '../test/support/seeded-random.ts';
import { createAnswerWatch } from './answer-watch.ts';
import { createCallbackReceiver } from './callback-receiver.ts';
import { createChronicle } from './chronicle.ts';
import { createRecorder, watchRows } from './compare/recorder.ts';
import { createDeviceLapses } from './device-lapses.ts';
import { createEarlyOperator } from './early-operator.ts';
import type { EventClock } from './event-clock.ts';
import { Fleet } from './fleet.ts';
import type { GatewayLife } from './gateway-life.ts';
import { createInterruptions } from './interruptions.ts';
import { migratedImage } from './migrated-image.ts';
import { placesThatMatter } from './places-that-matter.ts';
import type { Plan } from './plan.ts';
import { createShapeRecorder } from './shape-recorder.ts';
import { createSharedStorage } from './shared-storage.ts';
import { addDevice, type ShopDevice } from './shop-devices.ts';
import { createMemoryWire, fairWeather, type Passing } from './wire.ts';
import { watchWire } from './wire-watch.ts';

const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };

export type Shop = Awaited<ReturnType<typeof openShop>>;

export async function openShop(deps: { clock: EventClock; seed: number; plan: Plan; isCompared?: boolean }) {
  const { clock, seed, plan, isCompared = false } = deps;
  const { violations, trace, violated, digest, historyOf } = createChronicle(clock);
  const state = { isCalm: true, isDatabaseDown: false };
  const storage = createSharedStorage(clock, await migratedImage());
  const interruptions = createInterruptions(seededRandom(seed + 7), placesThatMatter);
  const receiver = createCallbackReceiver({ clock, random: seededRandom(seed + 5), plan, state, trace, violated });
  const devices: ShopDevice[] = [];
  const shapes = createShapeRecorder({ storage, devices });
  const recorder = isCompared ? createRecorder({ storage, devices, now: () => clock.now() }) : undefined;
  const watch = watchWire({
    ...{ clock, storage, devices, trace, violated },
    hasGuessed: (id) => earlyOperator.hasGuessed(id),
    wasCalledDone: (id) => earlyOperator.wasCalledDone(id),
    wasFollowerCalledDone: (id) => earlyOperator.wasFollowerCalledDone(id),
  });
  const wireOptions = {
    clock,
    random: seededRandom(seed + 1),
    logger: quiet,
    weather: () => (state.isCalm ? fairWeather : plan.weather),
    mayDouble: (deviceId: string) => devices.find(({ id }) => id === deviceId)?.hasJournal ?? true,
    onPassing(passing: Passing) {
      shapes.passing(passing);
      recorder?.passing(passing);
      watch(passing);
      lapses.passing(passing);
      earlyOperator.passing(passing);
    },
  };
  const wires = { mqtt: createMemoryWire('mqtt', wireOptions), queue: createMemoryWire('queue', wireOptions) };
  const lapses = createDeviceLapses({ clock, storage, devices, wires, trace });
  const earlyOperator = createEarlyOperator({ clock, storage, devices, wires, fleet: () => fleet, trace });
  const answerWatch = createAnswerWatch({ clock, storage, violated });
  const recorded = { noting: (life: GatewayLife) => shapes.noting(recorder?.noting(life) ?? life) };
  const fleet = new Fleet({
    ...{ clock, seed, plan, logger: quiet, storage, wires, interruptions, receiver, answerWatch },
    ...{ shapes: recorded, state, trace },
  });

  await fleet.startAll();
  const life = fleet.anyLife();
  if (!life) throw new Error('No gateway has started.');
  const { id: merchantId } = await seedMerchant(life.database.queries, {
    id: seededRandom(seed + 2).uuid(),
    callback_secret: 'c2VjcmV0',
  });
  await watchSettlements(life.database);
  if (recorder) await watchRows(life.database.queries);
  const counted = { terminal: 0, register: 0 };
  for (const [at, devicePlan] of plan.devices.entries()) {
    counted[devicePlan.kind] += 1;
    const name = `${devicePlan.kind} ${counted[devicePlan.kind]}`;
    const random = seededRandom(seed + 100 + at);
    const shared = {
      clock,
      wires,
      queries: life.database.queries,
      merchantId,
      random,
      logger: quiet,
      bankNumbersRestart: plan.bankNumbersRestart,
    };
    devices.push(await addDevice(shared, devicePlan, name));
  }

  return {
    clock,
    seed,
    plan,
    merchantId,
    devices,
    wires,
    state,
    fleet,
    storage,
    lapses,
    earlyOperator,
    answerWatch,
    shapes,
    recorder,
    interruptions,
    receiver,
    violations,
    trace,
    violated,
    digest,
    historyOf,
    async close(): Promise<void> {
      for (const { device } of devices) await device.stop();
      storage.close();
    },
  };
}

/**
 * Database triggers record when a command is disputed, when its dispute ends, and when a settled one is settled again: only a dispute and a late CloseDoc allow it
 * [D143].
 */
async function watchSettlements(database: Database): Promise<void> {
  await sql`create trigger settled_twice after update on commands
    when old.settled_at is not null and (new.settled_at is not old.settled_at or new.state <> old.state)
      and old.state <> 'disputed' and new.state <> 'disputed' and not (old.name = 'CloseDoc' and old.state <> 'done' and new.state = 'done')
    begin insert into audit_log (at, actor, action, subject, detail) values (now_ms(), 'simulation', 'settled twice', old.id, '{}'); end`.execute(
    database.queries,
  );
  await sql`create trigger disputed_at after update on commands when old.state <> 'disputed' and new.state = 'disputed'
    begin insert into audit_log (at, actor, action, subject, detail) values (now_ms(), 'simulation', 'disputed', old.id, json_object('from', old.state)); end`.execute(
    database.queries,
  );
  await sql`create trigger resolved_at after update on commands when old.state = 'disputed' and new.state <> 'disputed'
    begin insert into audit_log (at, actor, action, subject, detail) values (now_ms(), 'simulation', 'resolved', old.id, '{}'); end`.execute(
    database.queries,
  );
}
