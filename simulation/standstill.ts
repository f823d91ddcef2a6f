// A process that stands still: its event loop is paused (a stopped container, a long collection, a sleeping machine) while the world
// goes on. Whatever should have happened in it happens afterwards, in the order in which it came.
import type { Clock } from '../src/kernel/clock.ts';

export interface Standstill {
  readonly isOn: boolean;
  /** It has lasted so long that brokers have closed its connections: what is said to it now is lost. */
  readonly isDeaf: boolean;
  begin(): void;
  end(): void;
  /** Runs it now, or when the standstill is over. */
  whenAwake(action: () => void): void;
  /** Resolves when the standstill is over. */
  ended(): Promise<void>;
}

const keptAliveMs = 45_000;

export function createStandstill(clock: Clock): Standstill {
  const held: (() => void)[] = [];
  let isOn = false;
  let sinceMs = 0;

  function whenAwake(action: () => void): void {
    if (isOn) held.push(action);
    else action();
  }

  return {
    get isOn() {
      return isOn;
    },
    get isDeaf() {
      return isOn && clock.elapsed() - sinceMs > keptAliveMs;
    },
    begin() {
      isOn = true;
      sinceMs = clock.elapsed();
    },
    end() {
      isOn = false;
      // Each in a turn of its own, as an event loop takes them; one that stops again holds back the rest.
      for (const action of held.splice(0)) clock.after(0, () => whenAwake(action));
    },
    whenAwake,
    ended: () => new Promise((resolve) => whenAwake(resolve)),
  };
}
