// Devices with unreliable memory. A lapse waits for the next command to its device, mutes the device, lets it do
// its work, and then makes it report that the command never began:
//   forgets ... the journal is lost, and the device has started another: it reports under a new journalId
//   cut ....... the journal has lost its end and kept its id: it denies a command that the ledger knows as accepted
//   denies .... an old device without a journal denies it unasked
// The gateway must accept none of these reports. None happens while a copy of the command may still be in transit: a device that forgot
// would execute that copy as well, and no gateway could prevent it.
import { ledgerCommandNames } from '../src/link/protocol.ts';
import type { EventClock } from './event-clock.ts';
import type { SharedStorage } from './shared-storage.ts';
import type { ShopDevice } from './shop-devices.ts';
import type { MemoryWire, Passing } from './wire.ts';

export type Lapse = 'forgets' | 'cut' | 'denies';

export interface DeviceLapses {
  /** From its next command on; no effect on a device that already has a lapse pending. */
  await(target: ShopDevice, lapse: Lapse): void;
  /** Observes all messages. */
  passing(passing: Passing): void;
  /** No more of them, and every device is connected again. */
  calm(): void;
  /** How often a device really reported never about an accepted command. */
  readonly counts: Record<Lapse, number>;
}

interface Deps {
  clock: EventClock;
  storage: Pick<SharedStorage, 'peek'>;
  devices: readonly ShopDevice[];
  wires: Record<'mqtt' | 'queue', MemoryWire>;
  trace(line: string): void;
}

interface Awaited {
  target: ShopDevice;
  lapse: Lapse;
  commandId: string | undefined;
  sinceMs: number;
}

const ledgerNames: ReadonlySet<string> = new Set(ledgerCommandNames);
/** Longer than a message travels, and than a copy may be sent. */
const copiesLandMs = 31_000;
const looksEveryMs = 5_000;
const givesUpAfterMs = 180_000;

export function createDeviceLapses(deps: Deps): DeviceLapses {
  const { clock, storage, devices, trace } = deps;
  const wires = Object.values(deps.wires);
  const counts: Record<Lapse, number> = { forgets: 0, cut: 0, denies: 0 };
  const byDevice = new Map<string, Awaited>();
  let isCalm = false;

  function setMute({ id }: ShopDevice, isMute: boolean): void {
    for (const wire of wires) wire.setDeviceMute(id, isMute);
  }

  function end(awaited: Awaited): void {
    byDevice.delete(awaited.target.id);
    setMute(awaited.target, false);
  }

  /** Open in the ledger, and for `cut` stored there as accepted: otherwise the gateway must accept a never, or does not ask. */
  function isDoubtful({ lapse, commandId }: Awaited): boolean {
    const [row] = storage.peek('select state, accepted_at from commands where id = ?', [commandId]);
    if (row === undefined || !['sent', 'unknown'].includes(String(row['state']))) return false;
    return lapse !== 'cut' || row['accepted_at'] !== null;
  }

  function look(awaited: Awaited): void {
    const { target, commandId } = awaited;
    if (isCalm || byDevice.get(target.id) !== awaited || commandId === undefined) return;
    if (clock.awake() - awaited.sinceMs > givesUpAfterMs) return end(awaited);
    const isAtWork = !target.device.isOn() || target.device.journal().unfinished().length > 0;
    const isTooEarly = isAtWork || clock.now() - target.lastCommandAtMs < copiesLandMs;
    if (isTooEarly) return void clock.after(looksEveryMs, () => look(awaited));
    end(awaited);
    if (isDoubtful(awaited)) sayNever(awaited.lapse, target, commandId);
  }

  function sayNever(lapse: Lapse, target: ShopDevice, id: string): void {
    counts[lapse] += 1;
    trace(`command ${id}: ${target.name} ${lapse}`);
    if (lapse === 'forgets') return void target.loseJournal();
    if (lapse === 'cut') return void target.cutJournal(id);
    const time = new Date(clock.now() + target.device.faults().clockSkewMs).toISOString();
    deps.wires.mqtt.sayAs(target.id, { v: 1, id, device: target.id, clock: time, outcome: 'never' });
  }

  return {
    counts,
    await(target, lapse) {
      if (!isCalm && !byDevice.has(target.id)) byDevice.set(target.id, { target, lapse, commandId: undefined, sinceMs: 0 });
    },
    passing({ kind, deviceId, message }) {
      const awaited = byDevice.get(deviceId);
      const target = devices.find(({ id }) => id === deviceId);
      if (!awaited || !target) return;
      if (kind === 'command' && awaited.commandId === undefined && ledgerNames.has(message.name)) {
        awaited.commandId = message.id;
        awaited.sinceMs = clock.awake();
        clock.after(copiesLandMs, () => look(awaited));
        if (awaited.lapse !== 'cut') setMute(target, true);
      }
      // `accepted` is sent; later answers are not.
      const isAccepted = kind === 'answer' && message.id === awaited.commandId && message.outcome === 'accepted';
      if (isAccepted && awaited.lapse === 'cut') clock.after(0, () => setMute(target, byDevice.get(deviceId) === awaited));
    },
    calm() {
      isCalm = true;
      for (const awaited of [...byDevice.values()]) end(awaited);
    },
  };
}
