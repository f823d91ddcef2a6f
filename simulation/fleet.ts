// The gateways of the shop: one to three places on one database, each with one life after another. A life ends by a crash, at any moment
// or at a chosen statement, or by a graceful stop; it may stand still in between. Whoever calls a place that is empty finds nobody.
import type { Database } from '../src/database/database.ts';
import { openDatabase } from '../src/database/open.ts';
import type { Cancel } from '../src/kernel/clock.ts';
import type { Logger } from '../src/kernel/logger.ts';
import { seededRandom } from '../test/support/seeded-random.ts';
import type { CallbackReceiver } from './callback-receiver.ts';
import type { EventClock } from './event-clock.ts';
import { type GatewayLife, startGatewayLife } from './gateway-life.ts';
import type { Interruptions } from './interruptions.ts';
import type { Plan } from './plan.ts';
import type { Session, SharedStorage } from './shared-storage.ts';
import { createStandstill, type Standstill } from './standstill.ts';
import type { MemoryWire } from './wire.ts';

export interface Place {
  readonly index: number;
  /** Who may be called there. */
  life: GatewayLife | undefined;
  standstill: Standstill;
  /** Calls that wait for an answer. */
  calls: number;
  /** Takes no new calls. */
  isStopping: boolean;
  onDeath: Set<() => void>;
}

interface Process extends Place {
  instanceId: string | undefined;
  session: Session | undefined;
  isStarting: boolean;
  skewMs: number;
  /** Another instance has something new. */
  hear: Database['wake'];
}

export interface FleetDeps {
  clock: EventClock;
  seed: number;
  plan: Plan;
  logger: Logger;
  storage: SharedStorage;
  wires: Record<'mqtt' | 'queue', MemoryWire>;
  interruptions: Interruptions;
  receiver: CallbackReceiver;
  state: { isCalm: boolean; isDatabaseDown: boolean };
  trace(line: string): void;
}

const restartAfterMs = { from: 500, to: 40_000 };
const stopGraceMs = 20_000;
const lastWordsMs = 2_000;
const wakeAfterMs = 5;

export function createFleet(deps: FleetDeps) {
  const { clock, seed, plan, logger, wires, trace, state } = deps;
  const random = seededRandom(seed + 6);
  const counts = { lives: 0, crashes: 0, stalls: 0, gracefulStops: 0 };
  const processes = Array.from(
    { length: plan.gateways },
    (_, index): Process => ({
      index,
      life: undefined,
      standstill: createStandstill(clock),
      calls: 0,
      isStopping: false,
      onDeath: new Set(),
      instanceId: undefined,
      session: undefined,
      isStarting: false,
      skewMs: 0,
      hear: () => {},
    }),
  );

  const between = (fromMs: number, toMs: number) => Math.floor(fromMs + random.fraction() * (toMs - fromMs));

  /** Other instances hear of it a moment later, or not at all. */
  function withNeighbours(database: Database, own: Process): Database {
    return {
      ...database,
      wake(topic, detail) {
        database.wake(topic, detail);
        for (const other of processes) {
          const { life } = other;
          if (other === own || !life || (!state.isCalm && random.fraction() < plan.lostWakeRate)) continue;
          clock.after(wakeAfterMs, () => {
            if (other.life === life) other.standstill.whenAwake(() => other.hear(topic, detail));
          });
        }
      },
    };
  }

  async function start(process: Process): Promise<void> {
    if (process.life || process.isStarting) return;
    process.isStarting = true;
    counts.lives += 1;
    const lifeRandom = seededRandom(seed * 1_000 + counts.lives);
    const instanceId = lifeRandom.uuid();
    process.standstill = createStandstill(clock);
    process.skewMs = state.isCalm ? 0 : Math.floor((random.fraction() - 0.5) * 2 * plan.gatewaySkewMs);
    trace(`gateway ${process.index} starts as ${instanceId}`);
    const session = deps.storage.session({
      standstill: process.standstill,
      isDatabaseDown: () => state.isDatabaseDown,
      meet(place, when) {
        const harm = deps.interruptions.meet(place, when);
        if (harm === undefined) return undefined;
        trace(`gateway ${process.index}: ${harm} ${when} ${place}`);
        if (harm === 'crash') crash(process);
        if (harm === 'stall') stall(process);
        return harm;
      },
    });
    process.session = session;
    process.instanceId = instanceId;
    try {
      const life = await startGatewayLife({
        clock,
        random: lifeRandom,
        logger,
        wires: Object.values(wires),
        instanceId,
        standstill: process.standstill,
        skewMs: () => process.skewMs,
        async open(lifeClock) {
          const database = await openDatabase({ inMemory: true, storage: session.storage, role: 'gateway', clock: lifeClock, logger });
          process.hear = database.wake;
          return withNeighbours(database, process);
        },
        send: deps.receiver.sendFor(instanceId, process.standstill),
      });
      if (process.session === session) process.life = life;
    } catch (error) {
      // The database may be away just then.
      trace(`gateway ${process.index} does not start: ${String(error)}`);
      if (process.session === session) end(process);
    } finally {
      if (process.session === session) process.isStarting = false;
    }
  }

  /** Nothing of this process acts any more. */
  function end(process: Process): void {
    const { life, session, instanceId } = process;
    process.life = undefined;
    process.session = undefined;
    process.isStarting = false;
    process.isStopping = false;
    life?.crash();
    session?.kill();
    if (instanceId !== undefined) for (const wire of Object.values(wires)) wire.forgetGateway(instanceId);
    deps.receiver.died(instanceId ?? '');
    if (plan.isBrokerEmbedded) for (const wire of Object.values(wires)) wire.dropAllDevices();
    for (const told of [...process.onDeath]) told();
    process.calls = 0;
    clock.after(between(restartAfterMs.from, restartAfterMs.to), () => void start(process));
  }

  function crash(process: Process): void {
    if (!process.session) return;
    trace(`gateway ${process.index} dies`);
    counts.crashes += 1;
    end(process);
  }

  /** Its event loop is paused. */
  function stall(process: Process, forMs = between(1_000, random.fraction() < 0.5 ? 9_000 : 80_000)): Cancel {
    const { standstill } = process;
    if (standstill.isOn) return () => {};
    trace(`gateway ${process.index} stands still for ${forMs} ms`);
    counts.stalls += 1;
    standstill.begin();
    return clock.after(forMs, () => standstill.end());
  }

  async function stopGracefully(process: Process): Promise<void> {
    const { life } = process;
    if (!life || process.isStopping) return;
    trace(`gateway ${process.index} is asked to stop`);
    counts.gracefulStops += 1;
    process.isStopping = true;
    await until(() => process.calls === 0, stopGraceMs);
    await life.letGo();
    await until(() => process.calls === 0, lastWordsMs);
    await life.stop().catch((error: unknown) => trace(`gateway ${process.index} could not say goodbye: ${String(error)}`));
    if (process.life !== life) return;
    trace(`gateway ${process.index} has stopped`);
    end(process);
  }

  function until(isTrue: () => boolean, atMostMs: number): Promise<void> {
    return new Promise((resolve) => {
      const untilMs = clock.elapsed() + atMostMs;
      const look = () => (isTrue() || clock.elapsed() >= untilMs ? resolve() : void clock.after(100, look));
      look();
    });
  }

  const pick = (): Process => processes[Math.floor(random.fraction() * processes.length)] as Process;

  return {
    counts,
    places: processes as readonly Place[],
    startAll: () => Promise.all(processes.map((process) => start(process))),
    crashOne: () => crash(pick()),
    stallOne: () => void stall(pick()),
    stopOne: () => void stopGracefully(pick()),
    setClockOfOne() {
      pick().skewMs = Math.floor((random.fraction() - 0.5) * 2 * plan.gatewaySkewMs);
    },
    cutOne(channel: 'mqtt' | 'queue', isCut: boolean, instanceId = pick().instanceId): string | undefined {
      if (instanceId !== undefined) wires[channel].setGatewayCut(instanceId, isCut);
      return instanceId;
    },
    /** Somebody who lives, moves and takes calls. */
    anyLife: () => processes.find(({ life, standstill, isStopping }) => life && !standstill.isOn && !isStopping)?.life,
    /** Wakes who stands still, and brings back who is dead. */
    mend() {
      for (const process of processes) {
        process.skewMs = 0;
        if (process.standstill.isOn) process.standstill.end();
        void start(process);
      }
    },
  };
}
