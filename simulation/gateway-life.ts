// One run of a gateway: the rooms of src wired as gateway.ts wires them, without HTTP, from start to stop or crash.
// After a crash it does nothing any more: its timers do not fire, its channels are closed, its statements never return.
// While it is frozen nothing happens in it either; its timers and messages wait.
import { createCallbacks } from '../src/callbacks/callbacks.ts';
import type { Send } from '../src/callbacks/sender.ts';
import { createCards } from '../src/cards/cards.ts';
import type { Database } from '../src/database/database.ts';
import { type Instance, startInstance } from '../src/database/instances.ts';
import { createPresenceKeeper } from '../src/devices/presence-keeper.ts';
import { createFiscal } from '../src/fiscal/fiscal.ts';
import { createInvoices } from '../src/invoices/invoices.ts';
import type { Clock } from '../src/kernel/clock.ts';
import type { Logger } from '../src/kernel/logger.ts';
import type { Random } from '../src/kernel/random.ts';
import { createLedger } from '../src/ledger/ledger.ts';
import type { Channel, ChannelListener } from '../src/link/channel.ts';
import { createLink, type Link } from '../src/link/link.ts';
import type { AnswerMessage } from '../src/link/wire-schemas.ts';
import { createMoneyRooms, type MoneyRooms } from '../src/money/rooms.ts';
import type { Standstill } from './standstill.ts';
import type { MemoryWire } from './wire.ts';

export interface LifeOptions {
  clock: Clock;
  random: Random;
  logger: Logger;
  wires: readonly MemoryWire[];
  /** Opens the database for this run, with its clock. */
  open(clock: Clock): Promise<Database>;
  send: Send;
  /** Which money core; the old one unless given. */
  core?: 'old' | 'new';
  alterLink?: ((link: Link) => Link) | undefined;
  /** Drawn here unless given. */
  instanceId?: string;
  standstill?: Standstill;
  /** How far its wall clock is from the world's. */
  skewMs?: () => number;
  /** This gateway, while not frozen, has received an answer. */
  onAnswer?: (answer: AnswerMessage) => void;
}

export type GatewayLife = Awaited<ReturnType<typeof startGatewayLife>>;

/** Timers end with the process, and wait while it is frozen; the wall clock may be wrong. */
function clockOf({ clock, standstill, skewMs = () => 0 }: LifeOptions, isAlive: () => boolean): Clock {
  return {
    now: () => clock.now() + skewMs(),
    elapsed: () => clock.elapsed(),
    after(delayMs, action) {
      let isOver = false;
      const fire = () => {
        if (isAlive() && !isOver) action();
      };
      const cancel = clock.after(delayMs, standstill ? () => standstill.whenAwake(fire) : fire);
      return () => {
        isOver = true;
        cancel();
      };
    },
  };
}

/** Messages of a channel wait while the process is frozen, and are lost if that lasts too long. */
function heldBack(channel: Channel, { standstill, onAnswer }: LifeOptions): Channel {
  if (!standstill) return channel;
  const hold =
    <Args extends unknown[]>(tell: (...args: Args) => void) =>
    (...args: Args) =>
      standstill.isDeaf ? undefined : standstill.whenAwake(() => tell(...args));
  const held = (listener: ChannelListener): ChannelListener => ({
    offer: hold((...args) => listener.offer(...args)),
    answer: hold((...args) => {
      listener.answer(...args);
      onAnswer?.(args[2]);
    }),
    presence: hold((...args) => listener.presence(...args)),
    gone: hold((...args) => listener.gone(...args)),
    up: hold((...args) => listener.up(...args)),
    down: hold((...args) => listener.down(...args)),
    dropped: hold((...args) => listener.dropped(...args)),
  });
  return Object.assign(Object.create(channel) as Channel, { start: (listener: ChannelListener) => channel.start(held(listener)) });
}

export async function startGatewayLife(options: LifeOptions) {
  const { random, logger, wires } = options;
  let isAlive = true;
  const clock = clockOf(options, () => isAlive);
  const instanceId = options.instanceId ?? random.uuid();
  const database = await options.open(clock);
  const shared = { database, clock, random, logger, instanceId };
  const channels = wires.map((wire) => heldBack(wire.channel(instanceId), options));
  const realLink = createLink({ clock, random, logger, gatewayId: instanceId, channels });
  const link = options.alterLink?.(realLink) ?? realLink;
  const callbacks = createCallbacks({ ...shared, delaysS: [60, 300, 1_800, 3_600, 21_600], allow: [], send: options.send });
  const { ledger, cards, fiscal, invoices, dryRuns, removals } = options.core === 'new' ? newRooms() : oldRooms();
  const presenceKeeper = createPresenceKeeper({ ...shared, link });

  function newRooms() {
    return createMoneyRooms({ ...shared, link, callbacks, scanGraceS: 0, timeZone: 'Europe/Chisinau' });
  }

  function oldRooms(): MoneyRooms {
    const invoices = createInvoices({ ...shared, callbacks, scanGraceS: 0, timeZone: 'Europe/Chisinau' });
    const ledger = createLedger({ ...shared, link });
    const cards = createCards({ ...shared, ledger, link, invoices, callbacks });
    return { invoices, ledger, cards, fiscal: createFiscal({ ...shared, ledger, callbacks, link }) };
  }

  function cut(): void {
    isAlive = false;
    for (const wire of wires) wire.forgetGateway(instanceId);
  }

  let instance: Instance;
  try {
    instance = await startInstance(shared, { id: instanceId, host: 'simulation', pid: 1, embedded: '', version: 'simulated' });
    await invoices.start();
    await link.start();
  } catch (error) {
    cut();
    throw error;
  }
  ledger.start();
  callbacks.start();
  presenceKeeper.start();

  return {
    instanceId,
    database,
    link,
    ledger,
    cards,
    fiscal,
    invoices,
    dryRuns,
    removals,
    callbacks,
    isAlive: () => isAlive,
    /** The process is killed. The owner of the storage passes it to the next run. */
    crash: cut,
    /** The grace of calls in flight is over: the link releases those that still wait for a device. */
    letGo: () => link.stop(),
    async stop() {
      await presenceKeeper.stop();
      await link.stop();
      await ledger.stop();
      await callbacks.stop();
      await invoices.stop();
      await instance.stop();
      cut();
    },
  };
}
