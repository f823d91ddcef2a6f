// The gateways of the shop: one to three instances on one database, each restarted after its end. A gateway ends by a crash, at any moment
// or at a chosen statement, or by a graceful stop; it may freeze in between. A call to a stopped one is refused.
import type { Database } from '../src/database/database.ts';
import { openDatabase } from '../src/database/open.ts';
import type { Clock } from '../src/kernel/clock.ts';
import type { Logger } from '../src/kernel/logger.ts';
import type { Random } from '../src/kernel/random.ts';
import { core } from '../test/support/core.ts';
import { seededRandom } from '../test/support/seeded-random.ts';
import type { AnswerWatch } from './answer-watch.ts';
import type { CallbackReceiver } from './callback-receiver.ts';
import type { EventClock } from './event-clock.ts';
import { type GatewayLife, startGatewayLife } from './gateway-life.ts';
import type { Interruptions } from './interruptions.ts';
import type { Plan } from './plan.ts';
import type { ShapeRecorder } from './shape-recorder.ts';
import type { Session, SharedStorage } from './shared-storage.ts';
import { createStandstill, type Standstill } from './standstill.ts';
import type { MemoryWire } from './wire.ts';

export interface Place {
  readonly index: number;
  /** The gateway that runs there. */
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
  /** Another instance has written new work. */
  wake: Database['wake'];
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
  answerWatch: AnswerWatch;
  shapes: Pick<ShapeRecorder, 'noting'>;
  state: { isCalm: boolean; isDatabaseDown: boolean };
  trace(line: string): void;
}

const restartAfterMs = { from: 500, to: 40_000 };
const stopGraceMs = 20_000;
const lastWordsMs = 2_000;
const wakeAfterMs = 5;
/** How often the wall clock of a gateway is set when it resumes. */
const clockSetRate = 0.3;

export class Fleet {
  readonly counts = { lives: 0, crashes: 0, stalls: 0, gracefulStops: 0 };
  readonly #deps: FleetDeps;
  readonly #random: Random;
  readonly #processes: readonly Process[];

  constructor(deps: FleetDeps) {
    this.#deps = deps;
    this.#random = seededRandom(deps.seed + 6);
    this.#processes = Array.from({ length: deps.plan.gateways }, (_, index) => emptyPlace(index, deps.clock));
  }

  get places(): readonly Place[] {
    return this.#processes;
  }

  async startAll(): Promise<void> {
    await Promise.all(this.#processes.map((process) => this.#start(process)));
  }

  crashOne(): void {
    this.#crash(this.#pick());
  }

  stallOne(): void {
    this.#stall(this.#pick());
  }

  stopOne(): void {
    void this.#stopGracefully(this.#pick());
  }

  setClockOfOne(): void {
    this.#pick().skewMs = this.#drawSkewMs();
  }

  cutOne(channel: 'mqtt' | 'queue', isCut: boolean, instanceId = this.#pick().instanceId): string | undefined {
    if (instanceId !== undefined) this.#deps.wires[channel].setGatewayCut(instanceId, isCut);
    return instanceId;
  }

  /** A gateway that is alive, not frozen, and accepts calls. */
  anyLife(): GatewayLife | undefined {
    return this.#processes.find(({ life, standstill, isStopping }) => life && !standstill.isOn && !isStopping)?.life;
  }

  /** Resumes frozen gateways and restarts dead ones. */
  mend(): void {
    this.#deps.answerWatch.disturbed();
    for (const process of this.#processes) {
      process.skewMs = 0;
      if (process.standstill.isOn) process.standstill.end();
      void this.#start(process);
    }
  }

  #pick(): Process {
    return this.#processes[Math.floor(this.#random.fraction() * this.#processes.length)] as Process;
  }

  #between(fromMs: number, toMs: number): number {
    return Math.floor(fromMs + this.#random.fraction() * (toMs - fromMs));
  }

  #drawSkewMs(): number {
    return Math.floor((this.#random.fraction() - 0.5) * 2 * this.#deps.plan.gatewaySkewMs);
  }

  /** Other instances are woken a moment later, or not at all. */
  #withNeighbours(database: Database, own: Process, lifeClock: Clock): Database {
    const { clock, plan, state } = this.#deps;
    return {
      ...database,
      // Rows of the same moment share a commit, as on a real database.
      soon: (action) => void lifeClock.after(0, action),
      wake: (topic, detail) => {
        database.wake(topic, detail);
        for (const other of this.#processes) {
          const { life } = other;
          if (other === own || !life || (!state.isCalm && this.#random.fraction() < plan.lostWakeRate)) continue;
          clock.after(wakeAfterMs, () => {
            if (other.life === life) other.standstill.whenAwake(() => other.wake(topic, detail));
          });
        }
      },
    };
  }

  async #start(process: Process): Promise<void> {
    if (process.life || process.isStarting) return;
    const { clock, seed, state, trace, answerWatch } = this.#deps;
    process.isStarting = true;
    answerWatch.disturbed();
    this.counts.lives += 1;
    const random = seededRandom(seed * 1_000 + this.counts.lives);
    const instanceId = random.uuid();
    process.standstill = createStandstill(clock);
    process.skewMs = state.isCalm ? 0 : this.#drawSkewMs();
    trace(`gateway ${process.index} starts as ${instanceId}`);
    const session = this.#openSession(process);
    process.session = session;
    process.instanceId = instanceId;
    try {
      const life = this.#deps.shapes.noting(await this.#live(process, session, random, instanceId));
      if (process.session === session) process.life = life;
    } catch (error) {
      // The database may be down at that moment.
      trace(`gateway ${process.index} does not start: ${String(error)}`);
      if (process.session === session) this.#end(process);
    } finally {
      if (process.session === session) process.isStarting = false;
    }
  }

  #openSession(process: Process): Session {
    const { storage, state, interruptions, trace, answerWatch } = this.#deps;
    return storage.session({
      standstill: process.standstill,
      isDatabaseDown: () => state.isDatabaseDown,
      meet: (place, when) => {
        const harm = interruptions.meet(place, when);
        if (harm === undefined) return undefined;
        answerWatch.disturbed();
        trace(`gateway ${process.index}: ${harm} ${when} ${place}`);
        if (harm === 'crash') this.#crash(process);
        if (harm === 'stall') this.#stall(process);
        return harm;
      },
    });
  }

  #live(process: Process, session: Session, random: Random, instanceId: string): Promise<GatewayLife> {
    const { clock, logger, wires, receiver, answerWatch } = this.#deps;
    const { standstill } = process;
    return startGatewayLife({
      core,
      clock,
      random,
      logger,
      wires: Object.values(wires),
      instanceId,
      standstill,
      skewMs: () => process.skewMs,
      onAnswer: (answer) => answerWatch.received(process.index, answer),
      open: async (lifeClock) => {
        const database = await openDatabase({ inMemory: true, storage: session.storage, role: 'gateway', clock: lifeClock, logger });
        process.wake = database.wake;
        return this.#withNeighbours(database, process, lifeClock);
      },
      send: receiver.sendFor(instanceId, standstill),
    });
  }

  /** This process does nothing any more. */
  #end(process: Process): void {
    const { clock, plan, receiver, answerWatch } = this.#deps;
    answerWatch.disturbed();
    const wires = Object.values(this.#deps.wires);
    const { life, session, instanceId } = process;
    process.life = undefined;
    process.session = undefined;
    process.isStarting = false;
    process.isStopping = false;
    life?.crash();
    session?.kill();
    if (instanceId !== undefined) for (const wire of wires) wire.forgetGateway(instanceId);
    receiver.died(instanceId ?? '');
    if (plan.isBrokerEmbedded) for (const wire of wires) wire.dropAllDevices();
    for (const listener of [...process.onDeath]) listener();
    process.calls = 0;
    clock.after(this.#between(restartAfterMs.from, restartAfterMs.to), () => void this.#start(process));
  }

  #crash(process: Process): void {
    if (!process.session) return;
    this.#deps.trace(`gateway ${process.index} dies`);
    this.counts.crashes += 1;
    this.#end(process);
  }

  /** Its event loop is paused. */
  #stall(process: Process): void {
    const { clock, trace, answerWatch, state } = this.#deps;
    const dice = this.#random.fraction();
    const forMs = this.#between(1_000, dice < 0.5 ? 9_000 : dice < 0.88 ? 80_000 : 400_000);
    const { standstill } = process;
    if (standstill.isOn) return;
    trace(`gateway ${process.index} stands still for ${forMs} ms`);
    this.counts.stalls += 1;
    standstill.begin();
    answerWatch.disturbed();
    clock.after(forMs, () => {
      answerWatch.disturbed();
      // The wall clock may be set when a machine resumes, in the middle of its work; the monotonic clock continued.
      if (!state.isCalm && this.#random.fraction() < clockSetRate) process.skewMs = this.#drawSkewMs();
      standstill.end();
    });
  }

  async #stopGracefully(process: Process): Promise<void> {
    const { trace } = this.#deps;
    const { life, standstill } = process;
    if (!life || process.isStopping) return;
    trace(`gateway ${process.index} is asked to stop`);
    this.counts.gracefulStops += 1;
    process.isStopping = true;
    this.#deps.answerWatch.disturbed();
    await this.#until(() => process.calls === 0, stopGraceMs);
    // A frozen gateway cannot stop either.
    await standstill.ended();
    await life.letGo();
    await this.#until(() => process.calls === 0, lastWordsMs);
    await standstill.ended();
    if (process.life !== life) return;
    await life.stop().catch((error: unknown) => trace(`gateway ${process.index} could not say goodbye: ${String(error)}`));
    if (process.life !== life) return;
    trace(`gateway ${process.index} has stopped`);
    this.#end(process);
  }

  #until(isTrue: () => boolean, atMostMs: number): Promise<void> {
    const { clock } = this.#deps;
    return new Promise((resolve) => {
      const untilMs = clock.elapsed() + atMostMs;
      const look = () => (isTrue() || clock.elapsed() >= untilMs ? resolve() : void clock.after(100, look));
      look();
    });
  }
}

function emptyPlace(index: number, clock: EventClock): Process {
  return {
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
    wake: () => {},
  };
}
