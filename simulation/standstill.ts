// A frozen process: its event loop is paused (a stopped container, a long garbage collection, a sleeping machine) while the world
// continues. Pending events happen afterwards, in their order.
import type { Clock } from '../src/kernel/clock.ts';

export interface Standstill {
  readonly isOn: boolean;
  /** It has lasted so long that brokers have closed its connections: messages to it are lost. */
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
      // One per iteration, as in an event loop; if it freezes again, the others wait.
      for (const action of held.splice(0)) clock.after(0, () => whenAwake(action));
    },
    whenAwake,
    ended: () => new Promise((resolve) => whenAwake(resolve)),
  };
}
