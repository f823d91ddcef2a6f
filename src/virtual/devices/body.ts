// The hardware of a virtual device: journal, bank and fiscal memory on their stores, screen, printer and customer, and the channels with
// their faults. Booting it returns a client that continues from its storage; the caller implements power cuts.

import { formatLei } from '../../kernel/money.ts';
import type { World } from '../../kernel/world.ts';
import type { DeviceKind } from '../../link/protocol.ts';
import { openBank } from '../books/bank.ts';
import { type FiscalMemory, openFiscalMemory } from '../books/fiscal-memory.ts';
import type { VatTable } from '../books/vat.ts';
import { createDeviceClient, type DeviceClient } from '../client/client.ts';
import type { Connector } from '../client/connector.ts';
import { type Journal, openJournal, withoutJournal } from '../client/journal.ts';
import type { RecordStore } from '../client/record-store.ts';
import { type Faults, noFaults, skewedClock, withFaults } from '../mishaps/faults.ts';
import { createMisdelivery, type WireWatch, withMisdelivery } from '../mishaps/misdelivery.ts';
import { createMishaps } from '../mishaps/mishaps.ts';
import { createScreen } from '../paper/screen.ts';
import type { Roll, Timing } from './counter.ts';
import { createCustomer } from './customer.ts';
import { registerAmountOf } from './register.ts';
import { terminalAmountOf } from './terminal.ts';
import { createWork } from './work.ts';

export interface BodyDeps extends World {
  kind: DeviceKind;
  deviceId: string;
  name: string;
  /** Code of its bank. */
  bank: string;
  bankRestartsNumbers?: boolean | undefined;
  connectors: readonly Connector[];
  stores: { journal: RecordStore; bank: RecordStore; fiscal: RecordStore };
  faults?: Partial<Faults>;
  timing?: Partial<Timing>;
  /** False: no amount is magic. */
  hasMagic?: boolean;
  presenceEveryMs?: number;
  vat?: VatTable;
  limitShiftTo24h?: boolean;
  /** Observes every command and answer of the device. */
  watch?: WireWatch | undefined;
}

const amountsOf = { terminal: terminalAmountOf, register: registerAmountOf };

export async function openBody(deps: BodyDeps) {
  const { kind, deviceId, random, logger, timing, vat, limitShiftTo24h } = deps;
  // The bank is remote: it does not lose power with the device.
  const bank = await openBank({
    store: deps.stores.bank,
    clock: deps.clock,
    random,
    name: deps.bank,
    restartsNumbers: deps.bankRestartsNumbers,
  });
  const faultsNow = () => body.faults;
  const clock = skewedClock(deps.clock, faultsNow);
  const screen = createScreen(clock);
  const misdelivery = createMisdelivery();
  const mishaps = createMishaps({ kind, hasMagic: deps.hasMagic ?? true, amountOf: amountsOf[kind] });
  const roll: Roll = { paper: 'OK' };
  const customer = createCustomer({
    clock: deps.clock,
    onCard: ({ commandId, amountBani }) =>
      screen.show('enterPin', `${formatLei(amountBani)} MDL: enter the PIN`, { commandId, amountBani }),
  });
  const network = { clock: deps.clock, random, faults: faultsNow };
  const connectors = deps.connectors.map((connector) => withMisdelivery(withFaults(connector, network), misdelivery, deps.watch));
  const parts = { bank, screen, customer, mishaps, misdelivery, roll, timing, vat, limitShiftTo24h };

  let journal: Journal;
  let fiscalMemory: FiscalMemory;

  const body = {
    screen,
    bank,
    customer,
    mishaps,
    /** Of the last booted instance. */
    get journal() {
      return journal;
    },
    get fiscalMemory() {
      return fiscalMemory;
    },
    faults: { ...noFaults, ...deps.faults },
    newRoll(): void {
      mishaps.arm({ paperOut: false });
      roll.paper = 'OK';
      if (screen.display().state === 'outOfPaper') screen.show('idle', '');
    },
    async boot({ crash }: { crash(): Promise<void> }): Promise<DeviceClient> {
      journal = await openJournal({ store: deps.stores.journal, random });
      fiscalMemory = await openFiscalMemory({ store: deps.stores.fiscal });
      const crashInWork = () => {
        void crash();
        return new Promise<never>(() => {});
      };
      return createDeviceClient({
        deviceId,
        clock,
        random,
        logger,
        journal: body.faults.noJournal ? withoutJournal(journal) : journal,
        work: createWork({ ...parts, kind, deviceId, deviceName: deps.name, memory: fiscalMemory, crash: crashInWork }),
        connectors,
        onFailure(error) {
          logger.error({ deviceId, err: error }, 'the virtual device failed and restarts');
          void crash();
        },
        ...(deps.presenceEveryMs === undefined ? {} : { presenceEveryMs: deps.presenceEveryMs }),
      });
    },
  };
  return body;
}
