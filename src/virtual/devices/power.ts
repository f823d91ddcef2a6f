// The power of a virtual device: on, cut with an automatic restart after a short time, or switched off until it is switched on.
// One client runs at a time. After a cut the old client does nothing any more, and the next one starts from the stored state.

import { sleep } from '../../kernel/clock.ts';
import type { World } from '../../kernel/world.ts';
import type { DeviceClient } from '../client/client.ts';
import type { Screen } from '../paper/screen.ts';

export interface PowerDeps extends Pick<World, 'clock' | 'logger'> {
  deviceId: string;
  screen: Screen;
  restartAfterMs: number;
  /** Opens the stored state and returns a client that continues from it, not yet started. */
  boot(): Promise<DeviceClient>;
  start(client: DeviceClient): void;
}

export class Power {
  readonly #deps: PowerDeps;
  #client: DeviceClient | undefined;
  #restarting: Promise<void> | undefined;
  #isSwitchedOff = false;
  #isStopped = false;
  // One promise for all waiters: no list to clean up.
  #loss = Promise.withResolvers<undefined>();

  constructor(deps: PowerDeps) {
    this.#deps = deps;
  }

  /** The running client; undefined while the power is off. */
  get client(): DeviceClient | undefined {
    return this.#client;
  }

  async boot(): Promise<void> {
    const client = await this.#deps.boot();
    if (this.#isStopped || this.#isSwitchedOff) return;
    this.#client = client;
    this.#deps.screen.power(true);
    this.#deps.start(client);
  }

  /** Resolves when the device runs again, or was switched off in the meantime. */
  crash(): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    this.#restarting ??= this.#restart();
    return this.#restarting;
  }

  async switch(isOn: boolean): Promise<void> {
    if (this.#isStopped || this.#isSwitchedOff === !isOn) return;
    this.#isSwitchedOff = !isOn;
    if (!isOn) this.#lose();
    // A running restart checks the switch itself.
    else if (this.#restarting === undefined && this.#client === undefined) await this.boot();
  }

  /** Resolves when the device runs, or at once if it is switched off. */
  async restarted(): Promise<void> {
    await this.#restarting;
  }

  /** Resolves when the power is cut. */
  lost(): Promise<undefined> {
    return this.#loss.promise;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const last = this.#client;
    this.#client = undefined;
    await last?.stop();
  }

  #lose(): void {
    this.#client?.drop();
    this.#client = undefined;
    this.#deps.screen.power(false);
    this.#loss.resolve(undefined);
    this.#loss = Promise.withResolvers();
  }

  async #restart(): Promise<void> {
    const { clock, logger, deviceId, restartAfterMs } = this.#deps;
    logger.info({ deviceId }, 'the virtual device lost its power');
    this.#lose();
    await sleep(clock, restartAfterMs);
    try {
      if (!this.#isStopped && !this.#isSwitchedOff) await this.boot();
    } finally {
      this.#restarting = undefined;
    }
  }
}
