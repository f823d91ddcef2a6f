// A device of the shop: a virtual terminal or register with its bank and memory, on both channels, that may lose its journal.
import type { Queries } from '../src/database/database.ts';
import type { Clock } from '../src/kernel/clock.ts';
import type { Logger } from '../src/kernel/logger.ts';
import type { Random } from '../src/kernel/random.ts';
import { createMemoryStore } from '../src/virtual/client/record-store.ts';
import { createVirtualDevice, type VirtualDevice } from '../src/virtual/devices/virtual-device.ts';
import { seedDevice } from '../test/support/fixtures.ts';
import type { DevicePlan } from './plan.ts';
import type { MemoryWire } from './wire.ts';

export interface ShopDevice extends DevicePlan {
  id: string;
  /** Its name in the chronicle. */
  name: string;
  device: VirtualDevice;
  loseJournal(): Promise<void>;
  /** The journal loses its end and keeps its id: the device no longer knows this command, without noticing it. */
  cutJournal(commandId: string): Promise<void>;
  /** The entries that were cut off. */
  readonly forgotten: ReadonlySet<string>;
  lastCommandAtMs: number;
  /** When its clock was last set wrong, or right. */
  clockSetAtMs: number;
}

interface Deps {
  clock: Clock;
  wires: Record<'mqtt' | 'queue', MemoryWire>;
  queries: Queries;
  merchantId: string;
  random: Random;
  logger: Logger;
  bankNumbersRestart: boolean;
}

const timing = { customerMs: 3_000, bankMs: 800, printMs: 500 };
const restartAfterMs = 8_000;

export async function addDevice(deps: Deps, plan: DevicePlan, name: string): Promise<ShopDevice> {
  const { clock, wires, random, logger } = deps;
  const { id } = await seedDevice(deps.queries, deps.merchantId, { id: random.uuid(), kind: plan.kind });
  const stores = { journal: createMemoryStore(), bank: createMemoryStore(), fiscal: createMemoryStore() };
  const device = await createVirtualDevice({
    kind: plan.kind,
    deviceId: id,
    name,
    bank: 'Bank',
    bankRestartsNumbers: deps.bankNumbersRestart,
    connectors: [wires.mqtt.connector(id), wires.queue.connector(id)],
    stores,
    clock,
    random,
    logger,
    faults: { noJournal: !plan.hasJournal },
    timing,
    restartAfterMs,
  });
  const forgotten = new Set<string>();
  return {
    ...plan,
    id,
    name,
    device,
    lastCommandAtMs: 0,
    clockSetAtMs: Number.NEGATIVE_INFINITY,
    forgotten,
    async cutJournal(commandId) {
      const { records } = await stores.journal.load();
      forgotten.add(commandId);
      await stores.journal.replace(records.filter(({ id }) => id !== commandId));
      await device.crash();
    },
    async loseJournal() {
      await stores.journal.replace([]);
      await device.crash();
    },
  };
}

/** The real effect: the bank's entry or the fiscal document of this command. */
export function truthOf(target: ShopDevice, command: { id: string }) {
  const entry = target.device.bank.find(command.id).find(({ kind }) => kind !== 'decline');
  const document = target.device.fiscalMemory().find(command.id);
  const isDone = target.kind === 'register' ? document !== undefined : entry !== undefined;
  return { isDone, entry };
}
