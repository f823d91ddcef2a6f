// What the parts of this folder are built from.

import type { Shared } from '../../database/shared-deps.ts';
import type { WrongTry } from './tries.ts';

export interface PeopleDeps extends Pick<Shared, 'database' | 'clock' | 'random' | 'logger'> {
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
