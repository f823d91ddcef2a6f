// A virtual device as a whole: its body (journal, bank, fiscal memory on their stores), its power switch and its faults.
// The stores outlive a crash, the instance does not: after a short time a new one starts from what is written.
import { type Clock, sleep } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';
import type { DeviceKind, JsonObject, LedgerCommandName } from '../../link/protocol.ts';
import { type Bank, openBank } from '../books/bank.ts';
import { type FiscalMemory, openFiscalMemory } from '../books/fiscal-memory.ts';
import { moldovanVat, type VatTable } from '../books/vat.ts';
import { createDeviceClient, type DeviceClient } from '../client/client.ts';
import type { Connector, DeviceChannel } from '../client/connector.ts';
import type { DeviceWork, Ending } from '../client/device-work.ts';
import { type Journal, openJournal, withoutJournal } from '../client/journal.ts';
import type { RecordStore } from '../client/record-store.ts';
import { type Faults, noFaults, skewedClock, withFaults } from '../mishaps/faults.ts';
import { createMisdelivery } from '../mishaps/misdelivery.ts';
import { createScreen, type Screen } from '../paper/screen.ts';
import { createRegister, defaultRegisterTiming, type RegisterTiming } from './register.ts';
import { createTerminal, defaultTerminalTiming, type TerminalTiming } from './terminal.ts';

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
}

export interface VirtualDevice {
  readonly kind: DeviceKind;
  readonly deviceId: string;
  readonly name: string;
  readonly screen: Screen;
  readonly bank: Bank;
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
  /** Runs a command of the device's own, through crashes, to its ending. A known id is not run again. */
  perform(command: { id: string; name: LedgerCommandName; args: JsonObject; withinMs?: number }): Promise<Ending>;
  stop(): Promise<void>;
}

const firmware = 'tillgate-virtual-1';
const localWithinMs = 5 * 60_000;

export async function createVirtualDevice(deps: VirtualDeviceDeps): Promise<VirtualDevice> {
  const { kind, deviceId, random, logger, restartAfterMs = 1_000 } = deps;
  let faults: Faults = { ...noFaults, ...deps.faults };
  const clock = skewedClock(deps.clock, () => faults);
  const screen = createScreen(clock);
  const misdelivery = createMisdelivery();
  const connectors = deps.connectors.map((connector) => withFaults(connector, { clock: deps.clock, random, faults: () => faults }));
  // The bank is another house: it does not lose power with the device.
  const bank = await openBank({ store: deps.stores.bank, clock: deps.clock, random, name: deps.bank });

  let journal: Journal;
  let fiscalMemory: FiscalMemory;
  let client: DeviceClient | undefined;
  let restarting: Promise<void> | undefined;
  let isStopped = false;
  let onCrash: (() => void)[] = [];

  function createWork(): DeviceWork {
    const shared = {
      bank,
      screen,
      misdelivery,
      hasMagic: deps.hasMagic ?? true,
      firmware,
      crash: () => {
        void crash();
        return new Promise<never>(() => {});
      },
    };
    if (kind === 'terminal') return createTerminal({ ...shared, timing: { ...defaultTerminalTiming, ...deps.timing } });
    return createRegister({
      ...shared,
      deviceId,
      deviceName: deps.name,
      memory: fiscalMemory,
      vat: deps.vat ?? moldovanVat,
      limitShiftTo24h: deps.limitShiftTo24h ?? false,
      timing: { ...defaultRegisterTiming, ...deps.timing },
    });
  }

  async function boot(): Promise<void> {
    journal = await openJournal({ store: deps.stores.journal, random });
    fiscalMemory = await openFiscalMemory({ store: deps.stores.fiscal });
    if (isStopped) return;
    client = createDeviceClient({
      deviceId,
      clock,
      random,
      logger,
      journal: faults.noJournal ? withoutJournal(journal) : journal,
      work: createWork(),
      connectors,
      copiesOf: (answer) => misdelivery.copiesOf(answer),
      onFailure(error) {
        logger.error({ deviceId, err: error }, 'the virtual device cannot go on and restarts');
        void crash();
      },
      ...(deps.presenceEveryMs === undefined ? {} : { presenceEveryMs: deps.presenceEveryMs }),
    });
    screen.power(true);
    client.start((channel) => faults[channel]);
  }

  function crash(): Promise<void> {
    if (isStopped) return Promise.resolve();
    restarting ??= restart();
    return restarting;
  }

  async function restart(): Promise<void> {
    logger.info({ deviceId }, 'the virtual device lost its power');
    client?.drop();
    client = undefined;
    screen.power(false);
    for (const told of onCrash) told();
    onCrash = [];
    await sleep(deps.clock, restartAfterMs);
    if (!isStopped) await boot();
    restarting = undefined;
  }

  function setFaults(change: Partial<Faults>): void {
    const before = faults;
    faults = { ...faults, ...change };
    for (const channel of ['mqtt', 'queue'] as const) {
      if (before[channel] !== faults[channel]) client?.setChannel(channel, faults[channel]);
    }
    if (before.noJournal !== faults.noJournal) void crash();
  }

  await boot();
  return {
    kind,
    deviceId,
    name: deps.name,
    screen,
    bank,
    journal: () => journal,
    fiscalMemory: () => fiscalMemory,
    isOn: () => client !== undefined,
    isConnected: (channel) => client?.isConnected(channel) ?? false,
    faults: () => faults,
    setFaults,
    crash,
    async perform({ withinMs = localWithinMs, ...command }) {
      for (;;) {
        await restarting;
        if (!client) throw new Error('The device is switched off.');
        const crashed = new Promise<undefined>((resolve) => {
          onCrash.push(() => resolve(undefined));
        });
        const ending = await Promise.race([client.device.runLocal({ ...command, withinMs }), crashed]);
        if (ending) return ending;
      }
    },
    async stop() {
      isStopped = true;
      const last = client;
      client = undefined;
      await last?.stop();
      await Promise.all(Object.values(deps.stores).map((store) => store.close()));
    },
  };
}
