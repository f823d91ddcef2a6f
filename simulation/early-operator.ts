// An operator who decides without checking. From its next command with a number on, a device is mute: it does its work, and no gateway
// receives its reports. As soon as the gateway allows it [D63], the operator settles it as refused, mostly wrongly. Then the
// device is connected again, sometimes after a restart; the till, answered as refused, may send the same number again. Whatever it
// does: charged or printed once [D129].
import { sleep } from '../src/kernel/clock.ts';
import type { EventClock } from './event-clock.ts';
import type { Fleet } from './fleet.ts';
import type { SharedStorage } from './shared-storage.ts';
import type { ShopDevice } from './shop-devices.ts';
import type { MemoryWire, Passing } from './wire.ts';

export interface EarlyOperator {
  /** From its next command with a number on; does nothing to a device that has one before it. */
  await(target: ShopDevice, restartsIt: boolean): void;
  /** Sees what runs over the wires. */
  passing(passing: Passing): void;
  /** No more decisions, and every device is connected again. */
  calm(): void;
  /** Whether the operator has settled this command as refused, without checking. */
  hasGuessed(commandId: string): boolean;
  /** Also if the device has contradicted the decision since, and the dispute is resolved. */
  hasOnceGuessed(commandId: string): boolean;
  /** So settled, and the device cannot report any more that it did it: it has lost its journal, or this end of it. Then it may be done again. */
  isBeyondHelp(commandId: string): boolean;
  /** How often, and how often the device had done it by then. */
  readonly counts: { guesses: number; wrongGuesses: number };
}

interface Deps {
  clock: EventClock;
  storage: Pick<SharedStorage, 'peek'>;
  devices: readonly ShopDevice[];
  wires: Record<'mqtt' | 'queue', MemoryWire>;
  /** Gateways start after the wires. */
  fleet(): Pick<Fleet, 'anyLife'>;
  trace(line: string): void;
}

interface Awaited {
  target: ShopDevice;
  restartsIt: boolean;
  commandId: string | undefined;
  sinceMs: number;
}

const looksEveryMs = 20_000;
/** Longer than the longest time to answer and the two minutes after it. */
const givesUpAfterMs = 12 * 60_000;
/** A gateway that dies meanwhile never answers. */
const waitsMs = 30_000;

export function createEarlyOperator(deps: Deps): EarlyOperator {
  const { clock, storage, devices, trace } = deps;
  const tried = new Set<string>();
  const counts = { guesses: 0, wrongGuesses: 0 };
  const byDevice = new Map<string, Awaited>();
  let isCalm = false;

  function setMute({ id }: ShopDevice, isMute: boolean): void {
    for (const wire of Object.values(deps.wires)) wire.setDeviceMute(id, isMute);
  }

  function end({ target }: Awaited): void {
    byDevice.delete(target.id);
    setMute(target, false);
  }

  function look(awaited: Awaited): void {
    const { target, commandId } = awaited;
    if (isCalm || byDevice.get(target.id) !== awaited || commandId === undefined) return;
    const [row] = storage.peek(`select 1 from commands where id = ? and state in ('sent', 'unknown')`, [commandId]);
    if (!row || clock.awake() - awaited.sinceMs > givesUpAfterMs) return end(awaited);
    void decide(awaited, commandId).then((isDecided) => {
      if (!isDecided) clock.after(looksEveryMs, () => look(awaited));
    });
  }

  /** Whatever the answer was: it counts if it is written. */
  function hasGuessed(commandId: string): boolean {
    const settled = `select 1 from commands where id = ? and state = 'refused' and settled_by = 'person'`;
    return tried.has(commandId) && storage.peek(settled, [commandId]).length > 0;
  }

  function hasOnceGuessed(commandId: string): boolean {
    const contradicted = `select 1 from commands where id = ? and disputed_from = 'refused'`;
    return hasGuessed(commandId) || (tried.has(commandId) && storage.peek(contradicted, [commandId]).length > 0);
  }

  function isBeyondHelp(commandId: string): boolean {
    const [row] = storage.peek('select device_id, journal_id from commands where id = ?', [commandId]);
    const target = devices.find(({ id }) => id === row?.['device_id']);
    const knowsIt = target?.device.journal().journalId === row?.['journal_id'] && !target?.forgotten.has(commandId);
    return hasGuessed(commandId) && !knowsIt;
  }

  async function decide(awaited: Awaited, commandId: string): Promise<boolean> {
    tried.add(commandId);
    const decision = { state: 'refused', reason: 'The customer is gone.', actor: 'early' } as const;
    const deciding = deps.fleet().anyLife()?.ledger.decide(commandId, decision);
    await Promise.race([deciding?.catch(() => {}), sleep(clock, waitsMs)]);
    if (!hasGuessed(commandId)) return false;
    const { target, restartsIt } = awaited;
    const isWrong = target.device.bank.find(commandId).length > 0 || target.device.fiscalMemory().find(commandId) !== undefined;
    counts.guesses += 1;
    if (isWrong) counts.wrongGuesses += 1;
    trace(`command ${commandId} is settled as refused by a person who has not looked`);
    if (restartsIt) await target.device.crash();
    end(awaited);
    return true;
  }

  return {
    counts,
    hasGuessed,
    hasOnceGuessed,
    isBeyondHelp,
    await(target, restartsIt) {
      if (!isCalm && !byDevice.has(target.id)) byDevice.set(target.id, { target, restartsIt, commandId: undefined, sinceMs: 0 });
    },
    passing({ kind, deviceId, message }) {
      const awaited = byDevice.get(deviceId);
      if (!awaited || awaited.commandId !== undefined || kind !== 'command' || !hasNumber(message.name, message.args)) return;
      if (!devices.some(({ id }) => id === deviceId)) return;
      awaited.commandId = message.id;
      awaited.sinceMs = clock.awake();
      setMute(awaited.target, true);
      clock.after(looksEveryMs, () => look(awaited));
    },
    calm() {
      isCalm = true;
      for (const awaited of [...byDevice.values()]) end(awaited);
    },
  };
}

function hasNumber(name: string, args: unknown): boolean {
  const { documentNr, receipt } = args as { documentNr?: string; receipt?: { Uid?: string } };
  return (name === 'Pay' && documentNr !== undefined) || (name === 'PrintReceipt' && receipt?.Uid !== undefined);
}
