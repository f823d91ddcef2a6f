// A shop in memory: the gateway's rooms on a database, two wires, virtual terminals and registers, all in virtual time from a seed.
// The wire can be told what to change in a device's answers, the database where to fail, the gateway when to die.
import { startGatewayLife } from '../../simulation/gateway-life.ts';
import { hookedStorage, type StatementHook } from '../../simulation/hooked-storage.ts';
import { createMemoryWire, fairWeather, type Passing } from '../../simulation/wire.ts';
import { readMoneyOf } from '../../src/cabinet/views/money-sql.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { type ErrorName, errorCodes, GatewayError } from '../../src/kernel/error-codes.ts';
import type { DeviceAnswer } from '../../src/ledger/answers.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { ChannelName } from '../../src/link/channel.ts';
import type { Link } from '../../src/link/link.ts';
import { type JsonObject, ledgerCommandNames } from '../../src/link/protocol.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { createMemoryStore } from '../../src/virtual/client/record-store.ts';
import { createVirtualDevice, type VirtualDevice, type VirtualDeviceDeps } from '../../src/virtual/devices/virtual-device.ts';
import type { Faults } from '../../src/virtual/mishaps/faults.ts';
import { core } from './core.ts';
import { migratedStorage } from './engines.ts';
import { seedDevice, seedMerchant } from './fixtures.ts';
import { recordingLogger } from './quiet-logger.ts';
import { seededRandom } from './seeded-random.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** What a caller is told: the number, and the report as an object. */
export interface Told {
  code: number;
  report: JsonObject | undefined;
  message: string;
  /** The operation's id, and whether it was recognised by its content. */
  oid: string | undefined;
  isRepeated: boolean;
  /** The operation's State. */
  state: string | undefined;
}

export interface WorldOptions {
  seed?: number;
  hook?: StatementHook;
  /** Instead of SQLite in memory. */
  database?: Database;
  /** Instead of the one that this run tests. */
  core?: 'old' | 'new';
  /** Instead of virtual time. */
  clock?: Clock;
}

export type SaleWorld = Awaited<ReturnType<typeof createSaleWorld>>;

const ledgerNames: ReadonlySet<string> = new Set(ledgerCommandNames);

export async function createSaleWorld(options: WorldOptions = {}) {
  readMoneyOf(core);
  const clock = (options.clock ?? createVirtualClock(undefined, { settle: 'microtasks' })) as VirtualClock;
  const random = seededRandom(options.seed ?? 1);
  const logger = recordingLogger();
  const storage = await migratedStorage();
  const passings: Passing[] = [];
  const callbackUrls: string[] = [];
  const world = {
    weather: { ...fairWeather },
    /** What the wire makes of a device's answer; undefined loses it. */
    onAnswer: (answer: AnswerMessage): AnswerMessage | undefined => answer,
    hook: options.hook ?? (() => undefined),
    callbackStatus: 200,
  };
  const wireOptions = {
    clock,
    random,
    logger,
    weather: () => world.weather,
    onPassing: (passing: Passing) => passings.push(passing),
    onAnswer: (answer: AnswerMessage) => world.onAnswer(answer),
  };
  const wires = { mqtt: createMemoryWire('mqtt', wireOptions), queue: createMemoryWire('queue', wireOptions) };

  /** `alterLink`: what happens between this gateway's ledger and its link, a pause for example. */
  function startLife(overrides: { database?: Database; alterLink?: (link: Link) => Link } = {}) {
    const given = overrides.database ?? options.database;
    return startGatewayLife({
      core: options.core ?? core,
      clock,
      random,
      logger,
      wires: [wires.mqtt, wires.queue],
      alterLink: overrides.alterLink,
      open: async (lifeClock) =>
        given ??
        (await openDatabase({
          inMemory: true,
          storage: hookedStorage(storage, (step) => world.hook(step)),
          role: 'gateway',
          clock: lifeClock,
          logger,
        })),
      send: async ({ url }) => {
        callbackUrls.push(url);
        return { status: world.callbackStatus, error: null, durationMs: 1, responseHead: null };
      },
    });
  }

  let life = await startLife();
  const devices: VirtualDevice[] = [];
  const merchantId = (await seedMerchant(life.database.queries, { id: random.uuid() })).id;
  const otherMerchantId = (await seedMerchant(life.database.queries, { id: random.uuid() })).id;

  async function addDevice(
    kind: 'terminal' | 'register',
    overrides: Partial<VirtualDeviceDeps> & { faults?: Partial<Faults>; isAway?: boolean; merchantId?: string; id?: string } = {},
  ) {
    const { isAway, merchantId: owner = merchantId, id: known, ...deps } = overrides;
    // With an id: other hardware under the id of a registered device.
    const { id } = known === undefined ? await seedDevice(life.database.queries, owner, { id: random.uuid(), kind }) : { id: known };
    const { stores = { journal: createMemoryStore(), bank: createMemoryStore(), fiscal: createMemoryStore() } } = deps;
    if (isAway) for (const wire of Object.values(wires)) wire.setDeviceCut(id, true);
    const device = await createVirtualDevice({
      kind,
      deviceId: id,
      name: kind,
      bank: 'Bank One',
      connectors: [wires.mqtt.connector(id), wires.queue.connector(id)],
      clock,
      random,
      logger,
      ...deps,
      stores,
    });
    devices.push(device);
    if (!options.clock) await clock.advance(100);
    return Object.assign(device, { id, stores });
  }

  async function told(call: Promise<DeviceAnswer>): Promise<Told> {
    try {
      const { report, ...fields } = await call;
      return { code: 0, report: parse(report), message: '', ...namesOf(fields) };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return { code: codeOf(error.errorName), report: parse(error.report), message: error.message, ...namesOf(error.fields) };
    }
  }

  const calls = {
    clock,
    random,
    logger,
    storage,
    wires,
    passings,
    callbackUrls,
    merchantId,
    otherMerchantId,
    startLife,
    told,
    get life() {
      return life;
    },
    get database() {
      return life.database;
    },
    get cards() {
      return life.cards;
    },
    get fiscal() {
      return life.fiscal;
    },
    get ledger() {
      return life.ledger;
    },
    terminal: (overrides?: Parameters<typeof addDevice>[1]) => addDevice('terminal', overrides),
    register: (overrides?: Parameters<typeof addDevice>[1]) => addDevice('register', overrides),

    /** Lets time pass until it is settled. */
    async meanwhile<Value>(promise: Promise<Value>, withinMs = 60_000): Promise<Value> {
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      promise.then(end, end);
      await clock.runUntil(() => isOver, withinMs);
      return await promise;
    },

    /** Lets time pass until the call is answered. */
    async run(call: Promise<DeviceAnswer>, withinMs = 15 * 60_000): Promise<Told> {
      let result: Told | undefined;
      let failure: unknown;
      told(call).then(
        (value) => {
          result = value;
        },
        (error: unknown) => {
          failure = error;
        },
      );
      await clock.runUntil(() => result !== undefined || failure !== undefined, withinMs);
      if (result === undefined) throw failure;
      return result;
    },

    pay(deviceId: string, lei: number, documentNr: string | undefined = random.uuid(), extras: { idempotency?: Idempotency } = {}) {
      const call = life.cards.pay({ merchantId, deviceId, amountBani: Math.round(lei * 100), documentNr, ...extras });
      // The caller may look at it much later.
      call.catch(() => {});
      return call;
    },

    /** The device is cut off on both channels, or back. */
    setAway(deviceId: string, isAway: boolean, channels: readonly ChannelName[] = ['mqtt', 'queue']) {
      for (const channel of channels) wires[channel].setDeviceCut(deviceId, isAway);
    },

    /** An answer in a device's name, as if it came by its own topic. */
    sayAs(deviceId: string, answer: AnswerMessage): void {
      wires.mqtt.sayAs(deviceId, answer);
    },

    /** kill -9, and a new process on what the old one left. */
    async crash(): Promise<void> {
      life.crash();
      storage.connect(() => clock.now());
    },
    async restart(): Promise<void> {
      life = await startLife();
    },

    async commands(): Promise<Command[]> {
      // A request to stop is no command of its own for the device.
      const all = life.database.queries.selectFrom('commands').select('id').where('name', '<>', 'Abort');
      const rows = await all.orderBy('issued_at').execute();
      const found = await Promise.all(rows.map(({ id }) => life.ledger.find(id)));
      return found.flatMap((command) => command ?? []);
    },
    async lastCommand(name?: string): Promise<Command> {
      const last = (await this.commands()).filter((command) => name === undefined || command.name === name).at(-1);
      if (!last) throw new Error('There is no command.');
      return last;
    },
    async steps(commandId: string): Promise<string[]> {
      return (await life.ledger.timelineOf(commandId)).map(({ step }) => step);
    },
    /** Ledger commands that were handed to a wire, by name and channel. */
    ledgerSends: () =>
      passings.flatMap((passing) =>
        passing.kind === 'command' && ledgerNames.has(passing.message.name)
          ? [{ id: passing.message.id, name: passing.message.name, channel: passing.channel, message: passing.message }]
          : [],
      ),
    sendsOf: (name: string) =>
      passings.flatMap((passing) => (passing.kind === 'command' && passing.message.name === name ? [passing.message] : [])),

    async stop(): Promise<void> {
      for (const device of devices) await device.stop();
      await life.stop();
    },
  };
  // Not by assignment: that would take the first life for all that follow.
  return Object.defineProperties(world, Object.getOwnPropertyDescriptors(calls)) as typeof world & typeof calls;
}

export interface Idempotency {
  key: string;
  requestHash: string;
}

function codeOf(name: ErrorName): number {
  return errorCodes[name].code;
}

function namesOf(fields: { OID?: string; Repeated?: boolean; State?: string } = {}) {
  return { oid: fields.OID, isRepeated: fields.Repeated === true, state: fields.State };
}

function parse(report: string | undefined): JsonObject | undefined {
  return report === undefined ? undefined : (JSON.parse(report) as JsonObject);
}
