// A virtual device as a whole: its body (journal, bank, fiscal memory on their stores), its power switch, its customer and its mishaps.
// The stores outlive a crash, the instance does not: after a short time a new one starts from what is written.
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { formatLei } from '../../kernel/money.ts';
import type { Random } from '../../kernel/random.ts';
import type { DeviceKind, JsonObject, LedgerCommandName } from '../../link/protocol.ts';
import { type Bank, openBank } from '../books/bank.ts';
import { type FiscalMemory, openFiscalMemory } from '../books/fiscal-memory.ts';
import type { VatTable } from '../books/vat.ts';
import { createDeviceClient, type DeviceClient } from '../client/client.ts';
import type { Connector, DeviceChannel } from '../client/connector.ts';
import type { Ending } from '../client/device-work.ts';
import { type Journal, openJournal, withoutJournal } from '../client/journal.ts';
import type { RecordStore } from '../client/record-store.ts';
import { type Faults, noFaults, skewedClock, withFaults } from '../mishaps/faults.ts';
import { createMisdelivery, type WireWatch, withMisdelivery } from '../mishaps/misdelivery.ts';
import { createMishaps, type Mishaps } from '../mishaps/mishaps.ts';
import { createScreen, type Screen } from '../paper/screen.ts';
import type { Roll } from './counter.ts';
import { createCustomer, type SwitchableCustomer } from './customer.ts';
import { Power } from './power.ts';
import { type RegisterTiming, registerAmountOf } from './register.ts';
import { type TerminalTiming, terminalAmountOf } from './terminal.ts';
import { createWork } from './work.ts';

export interface VirtualDeviceDeps {
  kind: DeviceKind;
  deviceId: string;
  name: string;
  /** The bank behind it. */
  bank: string;
  connectors: readonly Connector[];
  stores: { journal: RecordStore; bank: RecordStore; fiscal: RecordStore };
  clock: Clock;
  random: Random;
  logger: Logger;
  faults?: Partial<Faults>;
  timing?: Partial<TerminalTiming & RegisterTiming>;
  /** False: no amount is magic. */
  hasMagic?: boolean;
  restartAfterMs?: number;
  presenceEveryMs?: number;
  vat?: VatTable;
  limitShiftTo24h?: boolean;
  /** Sees every command and answer on its wire. */
  watch?: WireWatch | undefined;
}

/** Of the device's own, from nobody on the wire. */
export interface LocalCommand {
  id: string;
  name: LedgerCommandName;
  args: JsonObject;
  withinMs?: number;
}

export interface VirtualDevice {
  readonly kind: DeviceKind;
  readonly deviceId: string;
  readonly name: string;
  readonly screen: Screen;
  readonly bank: Bank;
  readonly customer: SwitchableCustomer;
  readonly mishaps: Mishaps;
  /** Of the instance that runs now. */
  journal(): Journal;
  /** A register's; a terminal's stays empty. */
  fiscalMemory(): FiscalMemory;
  isOn(): boolean;
  isConnected(channel: DeviceChannel): boolean;
  faults(): Faults;
  setFaults(faults: Partial<Faults>): void;
  /** Cuts the power; it comes back by itself after `restartAfterMs`. Resolves when the device runs again. */
  crash(): Promise<void>;
  /** Off, it stays off until it is switched on. */
  setPower(isOn: boolean): Promise<void>;
  /** The paper is no longer out. */
  newRoll(): void;
  /** Runs a command of the device's own, through crashes, to its ending. A known id is not run again. */
  perform(command: LocalCommand): Promise<Ending>;
  stop(): Promise<void>;
}

const localWithinMs = 5 * 60_000;
const amountsOf = { terminal: terminalAmountOf, register: registerAmountOf };

export async function createVirtualDevice(deps: VirtualDeviceDeps): Promise<VirtualDevice> {
  const { kind, deviceId, random, logger, restartAfterMs = 1_000 } = deps;
  let faults: Faults = { ...noFaults, ...deps.faults };
  const clock = skewedClock(deps.clock, () => faults);
  const screen = createScreen(clock);
  const misdelivery = createMisdelivery();
  const mishaps = createMishaps({ kind, hasMagic: deps.hasMagic ?? true, amountOf: amountsOf[kind] });
  const roll: Roll = { paper: 'OK' };
  const customer = customerInFrontOf(screen, deps.clock);
  const network = { clock: deps.clock, random, faults: () => faults };
  const connectors = deps.connectors.map((connector) => withMisdelivery(withFaults(connector, network), misdelivery, deps.watch));
  // The bank is another house: it does not lose power with the device.
  const bank = await openBank({ store: deps.stores.bank, clock: deps.clock, random, name: deps.bank });
  let journal: Journal;
  let fiscalMemory: FiscalMemory;

  const power = new Power({
    deviceId,
    clock: deps.clock,
    logger,
    screen,
    restartAfterMs,
    boot,
    start: (client) => client.start((channel) => faults[channel]),
  });

  async function boot(): Promise<DeviceClient> {
    journal = await openJournal({ store: deps.stores.journal, random });
    fiscalMemory = await openFiscalMemory({ store: deps.stores.fiscal });
    return createDeviceClient({
      deviceId,
      clock,
      random,
      logger,
      journal: faults.noJournal ? withoutJournal(journal) : journal,
      work: createWork({ ...body, memory: fiscalMemory }),
      connectors,
      onFailure(error) {
        logger.error({ deviceId, err: error }, 'the virtual device cannot go on and restarts');
        void power.crash();
      },
      ...(deps.presenceEveryMs === undefined ? {} : { presenceEveryMs: deps.presenceEveryMs }),
    });
  }

  const body = {
    kind,
    deviceId,
    deviceName: deps.name,
    bank,
    screen,
    customer,
    mishaps,
    misdelivery,
    roll,
    timing: deps.timing,
    vat: deps.vat,
    limitShiftTo24h: deps.limitShiftTo24h,
    crash() {
      void power.crash();
      return new Promise<never>(() => {});
    },
  };

  function setFaults(change: Partial<Faults>): void {
    const before = faults;
    faults = { ...faults, ...change };
    for (const channel of ['mqtt', 'queue'] as const) {
      if (before[channel] !== faults[channel]) power.client?.setChannel(channel, faults[channel]);
    }
    if (before.noJournal !== faults.noJournal) void power.crash();
  }

  await power.boot();
  return {
    kind,
    deviceId,
    name: deps.name,
    screen,
    bank,
    customer,
    mishaps,
    journal: () => journal,
    fiscalMemory: () => fiscalMemory,
    isOn: () => power.client !== undefined,
    isConnected: (channel) => power.client?.isConnected(channel) ?? false,
    faults: () => faults,
    setFaults,
    crash: () => power.crash(),
    setPower: (isOn) => power.switch(isOn),
    newRoll: () => putInNewRoll(roll, mishaps, screen),
    perform: (command) => performThroughCrashes(power, command),
    async stop() {
      await power.stop();
      await Promise.all(Object.values(deps.stores).map((store) => store.close()));
    },
  };
}

async function performThroughCrashes(power: Power, { withinMs = localWithinMs, ...command }: LocalCommand): Promise<Ending> {
  for (;;) {
    await power.restarted();
    if (!power.client) throw new Error('The device is switched off.');
    const ending = await Promise.race([power.client.device.runLocal({ ...command, withinMs }), power.lost()]);
    if (ending) return ending;
  }
}

function putInNewRoll(roll: Roll, mishaps: Mishaps, screen: Screen): void {
  mishaps.arm({ paperOut: false });
  roll.paper = 'OK';
  if (screen.display().state === 'outOfPaper') screen.show('idle', '');
}

function customerInFrontOf(screen: Screen, clock: Clock): SwitchableCustomer {
  return createCustomer({
    clock,
    onCard: ({ commandId, amountBani }) =>
      screen.show('enterPin', `${formatLei(amountBani)} MDL: enter the PIN`, { commandId, amountBani }),
  });
}
