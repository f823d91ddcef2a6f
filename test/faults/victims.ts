// The victims of a kill series: a program or a server at random, or a gateway that kills itself at a named moment.
import { type Program, patienceMs, type Settings } from '../support/gateway-process.ts';
import type { ShopDevice } from '../support/served-shop.ts';
import type { Victim } from './kill-series.ts';
import { dieAt, moments, startMoments } from './moments.ts';

export function deviceVictim(name: string, device: ShopDevice | undefined): Victim {
  if (!device) throw new Error(`There is no ${name}.`);
  return { name, kill9: () => device.program.kill9(), restart: () => device.restart(false) };
}

export interface Life {
  gateway(): Program;
  start(more?: Settings): Promise<void>;
}

export function gatewayVictim(name: string, life: Life): Victim {
  return { name, kill9: () => life.gateway().kill9(), restart: () => life.start() };
}

/**
 * Killed twice a round: at random, and then at the next of the named moments, in a run that is set up for it. The moment must occur.
 * A moment of the start occurs before that run is ready.
 */
export function gatewayAtMoments(name: string, life: Life, chosen = [...Object.keys(moments), ...Object.keys(startMoments)]): Victim {
  let round = 0;

  async function dies(moment: string): Promise<void> {
    const { exited, err } = life.gateway();
    const tooLate = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error(`The gateway never came to the moment "${moment}".`)), 4 * patienceMs).unref();
    });
    const { signal } = await Promise.race([exited, tooLate]);
    if (signal !== 'SIGKILL') throw new Error(`The gateway ended by itself before the moment "${moment}":\n${err()}`);
  }

  return {
    name,
    async kill9() {
      const moment = chosen[round % chosen.length] ?? '';
      round += 1;
      await life.gateway().kill9();
      if (moment in startMoments) {
        const hasStarted = await life.start(dieAt(moment)).then(
          () => true,
          () => false,
        );
        if (hasStarted) throw new Error(`The gateway started, and never came to the moment "${moment}".`);
      } else {
        // The first, second or third occurrence, so that not always the first sale after a start is hit.
        await life.start(dieAt(moment, 1 + (round % 3)));
        await dies(moment);
      }
      return moment;
    },
    restart: () => life.start(),
  };
}

/** Uses the victims in turn. */
export function takingTurns(victims: Victim[]): Victim {
  let turn = 0;
  const current = () => {
    const victim = victims[turn % victims.length];
    if (!victim) throw new Error('There is nobody to kill.');
    return victim;
  };
  return {
    get name() {
      return current().name;
    },
    kill9: () => current().kill9(),
    async restart() {
      await current().restart();
      turn += 1;
    },
  };
}
