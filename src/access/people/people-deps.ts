// What the parts of this folder are built from.
import type { Database } from '../../database/database.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';
import type { WrongTry } from './tries.ts';

export interface PeopleDeps {
  database: Database;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Only a sandbox accepts the sandbox's user. */
  isSandbox: boolean;
  /** Users of one merchant. */
  maxUsers: number;
  /** {base_url}: the prefix of links. */
  baseUrl: () => string;
  /** A session ends after this long without use. */
  sessionIdleMs: number;
  /** Operators must set up one-time codes before anything else. */
  requiresTotp: boolean;
  /** A wrong password or code. */
  onFailedLogin?: ((failed: WrongTry) => void) | undefined;
}
