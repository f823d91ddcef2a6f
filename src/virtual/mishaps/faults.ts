// Bad days on purpose: channels cut, messages delayed, doubled, reordered or lost, a clock that is wrong, no journal.
// A fault script is a list of changes with their times; each can also be set by hand while the device runs.
import type { Clock } from '../../kernel/clock.ts';
import type { Random } from '../../kernel/random.ts';
import type { Connector } from '../client/connector.ts';

export interface Faults {
  /** Whether the device is on that channel. */
  mqtt: boolean;
  queue: boolean;
  /** Every message waits this long, both ways. */
  delayMs: number;
  /** And by chance up to this much longer, which reorders. */
  jitterMs: number;
  /** From 0 to 1: how many messages come twice, are overtaken by later ones, or get lost. */
  duplicateRate: number;
  reorderRate: number;
  lossRate: number;
  /** How far the device's clock is wrong; positive: it is ahead. */
  clockSkewMs: number;
  /** An old terminal. Takes effect by restarting the device. */
  noJournal: boolean;
}

export const noFaults: Readonly<Faults> = {
  mqtt: true,
  queue: true,
  delayMs: 0,
  jitterMs: 0,
  duplicateRate: 0,
  reorderRate: 0,
  lossRate: 0,
  clockSkewMs: 0,
  noJournal: false,
};

export interface FaultStep {
  /** Counted from the start of the script. */
  afterMs: number;
  set: Partial<Faults>;
}

/** How long a message that is overtaken is held back. */
const overtakenMs = 400;

/** Reads a fault script, a list of steps, or a single set of faults; throws a sentence that names what is wrong. */
export function parseFaultScript(value: unknown): FaultStep[] {
  if (!Array.isArray(value)) return [{ afterMs: 0, set: checkFaults(value) }];
  return value.map((step: { afterMs?: unknown; set?: unknown } | null) => {
    const afterMs = step?.afterMs;
    if (typeof afterMs !== 'number' || !(afterMs >= 0)) throw new Error('Each step of a fault script needs afterMs, a number from 0.');
    return { afterMs, set: checkFaults(step?.set) };
  });
}

function checkFaults(value: unknown): Partial<Faults> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new Error('Faults must be an object.');
  for (const [name, fault] of Object.entries(value) as [string, unknown][]) {
    if (!Object.hasOwn(noFaults, name)) throw new Error(`There is no fault "${name}"; there are ${Object.keys(noFaults).join(', ')}.`);
    const isSwitch = typeof noFaults[name as keyof Faults] === 'boolean';
    if (isSwitch && typeof fault !== 'boolean') throw new Error(`Fault "${name}" is true or false.`);
    if (!isSwitch && (typeof fault !== 'number' || !Number.isFinite(fault))) throw new Error(`Fault "${name}" is a number.`);
    if (typeof fault === 'number' && fault < 0 && name !== 'clockSkewMs') throw new Error(`Fault "${name}" must not be negative.`);
  }
  return value;
}

/** Plays a script from now on; the returned function stops it. */
export function playFaultScript(steps: readonly FaultStep[], clock: Clock, set: (faults: Partial<Faults>) => void): () => void {
  const cancels = steps.map((step) => clock.after(step.afterMs, () => set(step.set)));
  return () => {
    for (const cancel of cancels) cancel();
  };
}

/** The device's own idea of the time; how long something takes it measures rightly. */
export function skewedClock(clock: Clock, faults: () => Faults): Clock {
  return {
    now: () => clock.now() + faults().clockSkewMs,
    elapsed: () => clock.elapsed(),
    after: (delayMs, action) => clock.after(delayMs, action),
  };
}

export interface FaultDeps {
  clock: Clock;
  random: Random;
  faults(): Faults;
}

/** The same connector on a bad network. */
export function withFaults(connector: Connector, { clock, random, faults }: FaultDeps): Connector {
  function carry(deliver: () => void): void {
    const { delayMs, jitterMs, duplicateRate, reorderRate, lossRate } = faults();
    if (lossRate > 0 && random.fraction() < lossRate) return;
    const copies = duplicateRate > 0 && random.fraction() < duplicateRate ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      const isOvertaken = reorderRate > 0 && random.fraction() < reorderRate;
      const waitMs = delayMs + (jitterMs > 0 ? random.fraction() * jitterMs : 0) + (isOvertaken ? overtakenMs : 0);
      if (waitMs === 0) deliver();
      else clock.after(waitMs, deliver);
    }
  }

  function send(sendNow: () => boolean): boolean {
    if (!connector.isConnected) return false;
    carry(sendNow);
    return true;
  }

  return {
    channel: connector.channel,
    get isConnected() {
      return connector.isConnected;
    },
    start: (listener) =>
      connector.start({
        connected: () => listener.connected(),
        disconnected: () => listener.disconnected(),
        command: (bytes) => carry(() => listener.command(bytes)),
      }),
    sendAnswer: (answer, replyTo) => send(() => connector.sendAnswer(answer, replyTo)),
    sendPresence: (presence) => send(() => connector.sendPresence(presence)),
    stop: () => connector.stop(),
    drop: () => connector.drop(),
  };
}
