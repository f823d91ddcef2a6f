// Fault injection: cut channels, delayed, duplicated, reordered or lost messages, a wrong clock, no journal.
// A fault script is a list of changes with times; each fault can also be set by hand while the device runs.

import type { Clock } from '../../kernel/clock.ts';
import type { World } from '../../kernel/world.ts';
import type { Connector } from '../client/connector.ts';

export interface Faults {
  /** Whether the channel is connected. */
  mqtt: boolean;
  queue: boolean;
  /** Delay of every message in both directions. */
  delayMs: number;
  /** Random additional delay up to this, which reorders messages. */
  jitterMs: number;
  /** From 0 to 1: rates of messages that are duplicated, overtaken by later ones, or lost. */
  duplicateRate: number;
  reorderRate: number;
  lossRate: number;
  /** Error of the device's clock; positive: it is ahead. */
  clockSkewMs: number;
  /** An old terminal. Restarts the device to take effect. */
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
  /** From the start of the script. */
  afterMs: number;
  set: Partial<Faults>;
}

/** Delay of a message that is to be overtaken. */
const overtakenMs = 400;

/** Reads a fault script (a list of steps) or a single set of faults; throws an error that names the problem. */
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

/** Plays a script from now on. */
export function playFaultScript(steps: readonly FaultStep[], clock: Clock, set: (faults: Partial<Faults>) => void): void {
  for (const step of steps) clock.after(step.afterMs, () => set(step.set));
}

/** The device's wall clock with its error; elapsed times are correct. */
export function skewedClock(clock: Clock, faults: () => Faults): Clock {
  return {
    now: () => clock.now() + faults().clockSkewMs,
    elapsed: () => clock.elapsed(),
    after: (delayMs, action) => clock.after(delayMs, action),
  };
}

export interface FaultDeps extends Pick<World, 'clock' | 'random'> {
  faults(): Faults;
}

/** The connector with network faults. */
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
