// The hub of the event streams: one query of the database serves all streams. A page that gets a hint reads its data again, and all of it after
// a reconnect, so a lost hint does no harm.
// Invariants: no queries without open streams; one query at a time, at most four a second; all streams end with the process.
import { type Cancel, every } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { createHintReader, type HintDeps } from './hints.ts';
import { createListeners, type StreamBounds } from './listeners.ts';

export type EventHub = ReturnType<typeof createEventHub>;

export interface EventHubDeps extends HintDeps {
  logger: Logger;
  streamBounds: StreamBounds;
}

const lookEveryMs = 2_000;
const soonMs = 250;
const topics = ['commands', 'callbacks'];

export function createEventHub(deps: EventHubDeps) {
  const { database, clock, logger } = deps;
  const hints = createHintReader(deps);
  const listeners = createListeners({ ...deps.streamBounds, onFirst: start, onNoneLeft: rest });
  let stops: Cancel[] = [];
  let cancelSoon: Cancel | undefined;
  let looking: Promise<void> | undefined;

  function start(): void {
    hints.begin();
    stops = [every(clock, lookEveryMs, look), ...topics.map((topic) => database.onWake(topic, lookSoon))];
    void look();
  }

  function rest(): void {
    for (const stop of stops) stop();
    stops = [];
    cancelSoon?.();
    cancelSoon = undefined;
  }

  function lookSoon(): void {
    cancelSoon ??= clock.after(soonMs, () => {
      cancelSoon = undefined;
      void look();
    });
  }

  function look(): Promise<void> {
    looking ??= tellChanges().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  async function tellChanges(): Promise<void> {
    try {
      listeners.tell(await hints.changes());
      listeners.tell(await hints.devices());
    } catch (error) {
      logger.warn({ err: error }, 'changes for the event stream could not be read; the gateway will retry');
    }
  }

  return {
    join: listeners.join,
    tell: listeners.tell,
    /** Queries now: for tests, and after a wake-up. */
    look,
    stop(): void {
      listeners.endAll();
      rest();
    },
  };
}
