// A process that stands still: its event loop is paused (a stopped container, a long collection, a sleeping machine) while the world
// goes on. Whatever should have happened in it happens afterwards, in the order in which it came.
import type { Clock } from '../src/kernel/clock.ts';

export interface Standstill {
  readonly isOn: boolean;
  begin(): void;
  end(): void;
  /** Runs it now, or when the standstill is over. */
  whenAwake(action: () => void): void;
  /** Resolves when the standstill is over. */
  ended(): Promise<void>;
}

export function createStandstill(clock: Clock): Standstill {
  const held: (() => void)[] = [];
  let isOn = false;

  function whenAwake(action: () => void): void {
    if (isOn) held.push(action);
    else action();
  }

  return {
    get isOn() {
      return isOn;
    },
    begin() {
      isOn = true;
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
