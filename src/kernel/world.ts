// What the gateway takes from outside. Tests and the simulation pass their own.
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import type { Random } from './random.ts';

export interface World {
  clock: Clock;
  random: Random;
  logger: Logger;
}
