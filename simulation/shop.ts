// The simulated shop: one database, gateways that live and die on it, devices with their banks and memories, and everything that
// is seen on the way, for the trace and for the invariants.
import { createHash } from 'node:crypto';
import { databaseDown } from '../src/database/errors.ts';
import { openDatabase } from '../src/database/open.ts';
import { createMemoryStorage } from '../src/database/sqlite/memory.ts';
import type { Logger } from '../src/kernel/logger.ts';
import type { Random } from '../src/kernel/random.ts';
import { ledgerCommandNames } from '../src/link/protocol.ts';
import { createMemoryStore } from '../src/virtual/client/record-store.ts';
import { createVirtualDevice, type VirtualDevice } from '../src/virtual/devices/virtual-device.ts';
import { seedDevice, seedMerchant } from '../test/support/fixtures.ts';
import { seededRandom } from '../test/support/seeded-random.ts';
import type { EventClock } from './event-clock.ts';
import { type GatewayLife, startGatewayLife } from './gateway-life.ts';
import { hookedStorage, type StatementStep } from './hooked-storage.ts';
import type { DevicePlan, Plan } from './plan.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { createMemoryWire, fairWeather, type Passing } from './wire.ts';

export interface ShopDevice extends DevicePlan {
  id: string;
  device: VirtualDevice;
  loseJournal(): Promise<void>;
  lastCommandAtMs: number;
}

const ledgerNames: ReadonlySet<string> = new Set(ledgerCommandNames);
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };

export type Shop = Awaited<ReturnType<typeof openShop>>;

export async function openShop(deps: { clock: EventClock; seed: number; plan: Plan; bug?: PlantedBug | undefined }) {
  const { clock, seed, plan, bug } = deps;
  const hash = createHash('sha256');
  const violations: string[] = [];
  const storage = createMemoryStorage();
  const crashListeners = new Set<() => void>();
  const heardCallbacks = new Set<string>();
  const callbackDice = seededRandom(seed + 5);
  const state = { isCalm: false, crashAtNextStatement: false, isDatabaseDown: false };
  let life: GatewayLife | undefined;
  let lives = 0;
  let traced = 0;

  function trace(line: string): void {
    traced += 1;
    hash.update(`${clock.elapsed()} ${line}\n`);
  }

  function violated(sentence: string): void {
    if (violations.length < 50) violations.push(`${new Date(clock.now()).toISOString()} ${sentence}`);
  }

  const devices: ShopDevice[] = [];
  const deviceOf = (id: string) => devices.find((each) => each.id === id);
  const published = new Map<string, number>();

  // The layer of the wire has its own promises: a good device would hide a bad gateway.
  function watch(passing: Passing): void {
    const { kind, channel, deviceId, message } = passing;
    trace(`${kind} ${channel} ${deviceId} ${message.id} ${kind === 'command' ? message.name : message.outcome}`);
    if (kind !== 'command' || !ledgerNames.has(message.name)) return;
    const target = deviceOf(deviceId);
    if (!target) return;
    target.lastCommandAtMs = clock.now();
    const running = target.device
      .journal()
      .unfinished()
      .find((entry) => entry.id !== message.id);
    if (running) violated(`${message.name} ${message.id} went to device ${deviceId}, which is busy with ${running.name} ${running.id}`);
    const copies = (published.get(message.id) ?? 0) + 1;
    published.set(message.id, copies);
    if (copies > 1 && !target.hasJournal)
      violated(`${message.name} ${message.id} went twice to device ${deviceId}, which keeps no journal`);
  }

  const wireOptions = {
    clock,
    random: seededRandom(seed + 1),
    logger: quiet,
    weather: () => (state.isCalm ? fairWeather : plan.weather),
    mayDouble: (deviceId: string) => deviceOf(deviceId)?.hasJournal ?? true,
    onPassing: watch,
  };
  const wires = { mqtt: createMemoryWire('mqtt', wireOptions), queue: createMemoryWire('queue', wireOptions) };

  function onStatement({ kind }: StatementStep): 'hang' | undefined {
    if (state.crashAtNextStatement && life && kind !== 'rollback') {
      state.crashAtNextStatement = false;
      crash();
      return 'hang';
    }
    if (state.isDatabaseDown) throw databaseDown('The database is away.');
    return undefined;
  }

  async function startGateway(): Promise<void> {
    lives += 1;
    trace(`gateway ${lives} starts`);
    const next = await startGatewayLife({
      clock,
      random: seededRandom(seed * 1_000 + lives),
      logger: quiet,
      wires: [wires.mqtt, wires.queue],
      open: (lifeClock) =>
        openDatabase({
          inMemory: true,
          storage: hookedStorage(storage, onStatement, bug?.alterSql),
          role: 'gateway',
          clock: lifeClock,
          logger: quiet,
        }),
      alterChannel: bug?.alterChannel,
      alterLink: bug?.alterLink,
      async send({ url }) {
        const isFailing = !state.isCalm && callbackDice.fraction() < plan.failingCallbackRate;
        trace(`callback ${url} ${isFailing}`);
        if (!isFailing) heardCallbacks.add(url);
        return { status: isFailing ? 500 : 200, error: null, durationMs: 1, responseHead: null };
      },
    });
    life = next;
  }

  function crash(): void {
    const dying = life;
    if (!dying) return;
    life = undefined;
    trace('gateway dies');
    dying.crash();
    const executor = storage.connect(() => clock.now());
    void bug?.onCrash?.(executor, clock.now());
    if (plan.isBrokerEmbedded) for (const wire of Object.values(wires)) wire.dropAllDevices();
    for (const listener of [...crashListeners]) listener();
  }

  async function addDevice(devicePlan: DevicePlan, random: Random, merchantId: string): Promise<void> {
    const queries = life?.database.queries;
    if (!queries) throw new Error('No gateway.');
    const { id } = await seedDevice(queries, merchantId, { id: random.uuid(), kind: devicePlan.kind });
    const stores = { journal: createMemoryStore(), bank: createMemoryStore(), fiscal: createMemoryStore() };
    const device = await createVirtualDevice({
      kind: devicePlan.kind,
      deviceId: id,
      name: devicePlan.kind,
      bank: 'Bank',
      connectors: [wires.mqtt.connector(id), wires.queue.connector(id)],
      stores,
      clock,
      random,
      logger: quiet,
      faults: { noJournal: !devicePlan.hasJournal },
      timing: { customerMs: 4_000, bankMs: 800, printMs: 500 },
      restartAfterMs: 8_000,
    });
    devices.push({
      ...devicePlan,
      id,
      device,
      lastCommandAtMs: 0,
      async loseJournal() {
        await stores.journal.replace([]);
        await device.crash();
      },
    });
  }

  await startGateway();
  const merchantRandom = seededRandom(seed + 2);
  const merchantId = merchantRandom.uuid();
  const started = life;
  if (!started) throw new Error('No gateway.');
  await seedMerchant(started.database.queries, { id: merchantId, callback_secret: 'c2VjcmV0' });
  await bug?.alterDatabase?.(started.database);
  for (const [at, devicePlan] of plan.devices.entries()) await addDevice(devicePlan, seededRandom(seed + 100 + at), merchantId);

  return {
    clock,
    seed,
    plan,
    merchantId,
    devices,
    wires,
    state,
    violations,
    heardCallbacks,
    trace,
    violated,
    startGateway,
    crash,
    onCrash(listener: () => void): () => void {
      crashListeners.add(listener);
      return () => crashListeners.delete(listener);
    },
    get life() {
      return life;
    },
    get lives() {
      return lives;
    },
    get traced() {
      return traced;
    },
    digest: () => hash.copy().digest('hex'),
    async close(): Promise<void> {
      for (const { device } of devices) await device.stop();
      storage.close();
    },
  };
}
