// An operator who decides without checking, in either direction, as soon as the gateway allows it [D63].
//   refused ... from its next command with a number on, a device is mute: it does its work, but no gateway receives its reports. The
//               till, answered as refused, may send the same number again. In any case it is charged or printed once [D129].
//   done ...... a command of any kind is lost before it reaches the device, or the device is mute while it executes or declines it. The
//               till, answered as done, hands over the goods: that loss is the operator's. The device denies it, and once the dispute is
//               resolved everything is as if the operation had been refused [D143].
// Then the device is connected again, sometimes after a restart.
import { sleep } from '../src/kernel/clock.ts';
import { operationNames, operationOf } from '../src/kernel/operations.ts';
import type { EventClock } from './event-clock.ts';
import type { Fleet } from './fleet.ts';
import type { SharedStorage } from './shared-storage.ts';
import { type ShopDevice, truthOf } from './shop-devices.ts';
import type { MemoryWire, Passing } from './wire.ts';

export interface EarlyDecision {
  decides: 'refused' | 'done';
  /** The command is lost on its way; otherwise the answers to it are. */
  isLost: boolean;
  restartsIt: boolean;
  /** Selects the kind of command that is settled as done: from 0 to 1. */
  dice: number;
}

export interface EarlyOperator {
  /** From its next such command on; no effect on a device that already has a decision pending. */
  await(target: ShopDevice, decision: EarlyDecision): void;
  /** Observes all messages. */
  passing(passing: Passing): void;
  /** No more decisions, and every device is connected again. */
  calm(): void;
  /** Whether the operator has settled this command as refused, without checking. */
  hasGuessed(commandId: string): boolean;
  /** Also if the device has contradicted the decision since, and the dispute is resolved. */
  hasOnceGuessed(commandId: string): boolean;
  /**
   * Settled as refused, and the device can no longer report that it did it, because its journal or this part of it is lost. Then it may be
   * done again.
   */
  isBeyondHelp(commandId: string): boolean;
  /**
   * The operator has settled this command as done, and its device has neither confirmed nor contradicted it, or the dispute is not
   * resolved.
   */
  isCalledDone(commandId: string): boolean;
  /** Also if that has ended. */
  wasCalledDone(commandId: string): boolean;
  /** The same for the CloseDoc, void or refund of this payment. */
  wasFollowerCalledDone(paymentId: string): boolean;
  /** Settled as done, and the device cannot deny it any more. */
  isDoneBeyondHelp(commandId: string): boolean;
  /** The number of decisions, and how many of them were wrong. */
  readonly counts: Record<string, number>;
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

interface Awaited extends EarlyDecision {
  target: ShopDevice;
  commandId: string | undefined;
  sinceMs: number;
}

const looksEveryMs = 20_000;
/** Longer than the longest time to answer and the two minutes after it. */
const givesUpAfterMs = 12 * 60_000;
/** A gateway that dies meanwhile never answers. */
const waitsMs = 30_000;

export function createEarlyOperator(deps: Deps): EarlyOperator {
  const { clock, storage, trace } = deps;
  const tried = new Map<string, EarlyDecision['decides']>();
  const counts: Record<string, number> = { guesses: 0, wrongGuesses: 0, calledDone: 0, wronglyCalledDone: 0 };
  const byDevice = new Map<string, Awaited>();
  let isCalm = false;

  function setSilent({ target: { id }, isLost }: Awaited, isSilent: boolean): void {
    for (const wire of Object.values(deps.wires)) {
      if (isLost) wire.setDeviceDeaf(id, isSilent);
      else wire.setDeviceMute(id, isSilent);
    }
  }

  function end(awaited: Awaited): void {
    byDevice.delete(awaited.target.id);
    setSilent(awaited, false);
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

  const is = (commandId: string, condition: string) =>
    storage.peek(`select 1 from commands where id = ? and ${condition}`, [commandId]).length > 0;

  /** The answer does not matter: the decision counts if it is stored. */
  function isSettledAs(commandId: string, state: EarlyDecision['decides']): boolean {
    return tried.get(commandId) === state && is(commandId, `state = '${state}' and settled_by = 'person'`);
  }

  function wasSettledAs(commandId: string, state: EarlyDecision['decides']): boolean {
    return isSettledAs(commandId, state) || (tried.get(commandId) === state && is(commandId, `disputed_from = '${state}'`));
  }

  async function decide(awaited: Awaited, commandId: string): Promise<boolean> {
    const { target, decides, restartsIt } = awaited;
    tried.set(commandId, decides);
    const decision = { state: decides, reason: 'The customer is gone.', actor: 'early' } as const;
    const deciding = deps.fleet().anyLife()?.ledger.decide(commandId, decision);
    await Promise.race([deciding?.catch(() => {}), sleep(clock, waitsMs)]);
    if (!isSettledAs(commandId, decides)) return false;
    const isWrong = truthOf(target, { id: commandId }).isDone !== (decides === 'done');
    count(decides === 'done' ? 'calledDone' : 'guesses');
    if (isWrong) count(decides === 'done' ? 'wronglyCalledDone' : 'wrongGuesses');
    const [row] = storage.peek('select name from commands where id = ?', [commandId]);
    if (isWrong && decides === 'done') count(`wronglyCalledDone ${row?.['name']}`);
    trace(`command ${commandId} is settled as ${decides} by a person who has not looked`);
    if (restartsIt) await target.device.crash();
    end(awaited);
    return true;
  }

  function count(what: string): void {
    counts[what] = (counts[what] ?? 0) + 1;
  }

  return {
    counts,
    hasGuessed: (commandId) => isSettledAs(commandId, 'refused'),
    hasOnceGuessed: (commandId) => wasSettledAs(commandId, 'refused'),
    isBeyondHelp: (commandId) => isSettledAs(commandId, 'refused') && isForgotten(deps, commandId),
    isCalledDone(commandId) {
      const isListed = storage.peek('select 1 from decisions where command_id = ?', [commandId]).length > 0;
      // The new core keeps it with the command.
      return tried.get(commandId) === 'done' && (isListed || is(commandId, `(is_to_confirm = 1 or state = 'disputed')`));
    },
    wasCalledDone: (commandId) => wasSettledAs(commandId, 'done'),
    wasFollowerCalledDone(paymentId) {
      const followers = storage.peek('select id from commands where target_id = ?', [paymentId]);
      return followers.some(({ id }) => wasSettledAs(String(id), 'done'));
    },
    isDoneBeyondHelp: (commandId) => isSettledAs(commandId, 'done') && isForgotten(deps, commandId),
    await(target, decision) {
      if (isCalm || byDevice.get(target.id)?.commandId !== undefined) return;
      byDevice.set(target.id, { ...decision, target, commandId: undefined, sinceMs: 0 });
    },
    passing({ kind, deviceId, message }) {
      const awaited = byDevice.get(deviceId);
      if (!awaited || awaited.commandId !== undefined || kind !== 'command' || !isMeant(awaited, message)) return;
      awaited.commandId = message.id;
      awaited.sinceMs = clock.awake();
      setSilent(awaited, true);
      clock.after(looksEveryMs, () => look(awaited));
    },
    calm() {
      isCalm = true;
      for (const awaited of [...byDevice.values()]) end(awaited);
    },
  };
}

/** The device can no longer report the outcome. */
function isForgotten({ storage, devices }: Deps, commandId: string): boolean {
  const [row] = storage.peek('select device_id, journal_id from commands where id = ?', [commandId]);
  const target = devices.find(({ id }) => id === row?.['device_id']);
  return target?.device.journal().journalId !== row?.['journal_id'] || target?.forgotten.has(commandId) === true;
}

/** Every kind is equally likely to be settled as done, although refunds and voids are rarer than sales. */
function isMeant({ decides, dice, target }: Awaited, { name, args }: { name: string; args: unknown }): boolean {
  if (decides === 'refused') return hasNumber(name, args);
  const names = operationNames.filter((each) => operationOf(each).device === target.kind);
  return name === names[Math.floor(dice * names.length)];
}

function hasNumber(name: string, args: unknown): boolean {
  const { documentNr, receipt } = args as { documentNr?: string; receipt?: { Uid?: string } };
  return (name === 'Pay' && documentNr !== undefined) || (name === 'PrintReceipt' && receipt?.Uid !== undefined);
}
