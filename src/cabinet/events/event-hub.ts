// The event stream's middle: one look at the database for all who listen, and each hears of his own merchant only. Hints, no content:
// kind, id, version; a page that is hinted at reads its own query, and after a reconnect everything anew, so nothing hangs on one hint.
// Always holds: nobody listens, nobody looks; a user has a few streams at most, and the oldest makes room; a stream that does not take
// what it is given is cut; all end with their session and with the process.
import type { Database } from '../../database/database.ts';
import { type Cancel, type Clock, every } from '../../kernel/clock.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Link } from '../../link/link.ts';
import { createChangeReader } from '../views/changes.ts';
import type { Scope } from '../views/scope.ts';

export interface Hint {
  kind: 'command' | 'invoice' | 'callback' | 'device' | 'attention';
  id: string;
  version: number;
}

export interface Listener {
  scope: Scope;
  /** Whose streams are counted together. */
  user: string;
  /** False: it does not take any more. */
  send(hint: Hint): boolean;
  end(): void;
}

export interface EventHub {
  /** Throws Too_Many_Requests when too many listen in all. Returns how to stop. */
  join(listener: Listener): Cancel;
  /** For a test, and after a wake-up: looks now. */
  look(): Promise<void>;
  stop(): void;
}

export interface EventHubDeps {
  database: Database;
  clock: Clock;
  logger: Logger;
  link: Pick<Link, 'presence'>;
}

const lookEveryMs = 2_000;
const soonMs = 250;
const streamsPerUser = 6;
const streamsInAll = 1_000;
const topics = ['commands', 'callbacks'];

export function createEventHub({ database, clock, logger, link }: EventHubDeps): EventHub {
  const listeners = new Set<Listener>();
  let reader = createChangeReader();
  let stops: Cancel[] = [];
  let cancelSoon: Cancel | undefined;
  let looking: Promise<void> | undefined;
  let liveOn = new Map<string, string>();
  let deviceVersion = 0;

  function start(): void {
    reader = createChangeReader();
    liveOn = presence();
    stops = [every(clock, lookEveryMs, look), ...topics.map((topic) => database.onWake(topic, lookSoon))];
    void look();
  }

  function rest(): void {
    for (const stop of stops) stop();
    stops = [];
    cancelSoon?.();
    cancelSoon = undefined;
  }

  /** However many wake-ups come, there are four looks a second at most. */
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
      const changes = await reader.read(database.queries, clock.now());
      const touched = new Map<string, number>();
      const told = new Map<string, Hint & { merchantId: string }>();
      for (const { kind, id, merchantId, version, touchesAttention } of changes) {
        // Of one thing only the newest: whoever reads it anew sees them all.
        told.set(`${kind} ${id}`, { kind, id, version, merchantId });
        if (touchesAttention) touched.set(merchantId, version);
      }
      for (const { merchantId, ...hint } of told.values()) tell(merchantId, hint);
      for (const [merchantId, version] of touched) tell(merchantId, { kind: 'attention', id: merchantId, version });
      await tellPresence();
    } catch (error) {
      logger.warn({ err: error }, 'changes for the event stream could not be read; trying again');
    }
  }

  function presence(): Map<string, string> {
    return new Map(link.presence.all().map(({ deviceId, snapshot }) => [deviceId, snapshot.liveOn.join()]));
  }

  async function tellPresence(): Promise<void> {
    const now = presence();
    const changed = [...now].flatMap(([deviceId, live]) => (liveOn.get(deviceId) === live ? [] : [deviceId]));
    liveOn = now;
    if (changed.length === 0) return;
    deviceVersion += 1;
    const rows = await database.queries
      .selectFrom('devices')
      .select(['id', 'merchant_id'])
      .where('id', 'in', changed.slice(0, 1_000))
      .execute();
    for (const row of rows) tell(row.merchant_id, { kind: 'device', id: row.id, version: deviceVersion });
  }

  function tell(merchantId: string, hint: Hint): void {
    for (const listener of [...listeners]) {
      if (listener.scope.merchantId !== undefined && listener.scope.merchantId !== merchantId) continue;
      if (!listener.send(hint)) leave(listener);
    }
  }

  function leave(listener: Listener): void {
    if (!listeners.delete(listener)) return;
    listener.end();
    if (listeners.size === 0) rest();
  }

  return {
    join(listener) {
      if (listeners.size >= streamsInAll) {
        throw new GatewayError('Too_Many_Requests', 'Too many pages are open; the page goes on without live news.', { retryAfterS: 30 });
      }
      const own = [...listeners].filter(({ user }) => user === listener.user);
      for (const oldest of own.slice(0, Math.max(0, own.length - streamsPerUser + 1))) leave(oldest);
      listeners.add(listener);
      if (listeners.size === 1) start();
      return () => leave(listener);
    },
    look,
    stop() {
      for (const listener of [...listeners]) leave(listener);
      rest();
    },
  };
}
