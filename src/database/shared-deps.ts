// What every room of a gateway may depend on; each room picks its part.
import type { World } from '../kernel/world.ts';
import type { Database } from './database.ts';

export interface Shared extends World {
  database: Database;
  instanceId: string;
  /** The current trace, if traces are configured. */
  traceparent?: (() => string | undefined) | undefined;
}
