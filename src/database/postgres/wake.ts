// Wakes other instances through LISTEN and NOTIFY, on its own connection, which reconnects after any failure.
// Best effort: notifications that are sent while the connection is down are lost, and every listener also polls.
import type pg from 'pg';
import { growingPauseMs } from '../../kernel/backoff.ts';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { databaseDown } from '../errors.ts';
import type { LocalWake } from '../local-wake.ts';
import { createClientClass, cutConnection } from './client.ts';
import { translatePostgresError } from './errors.ts';

const channel = 'tillgate';
const WakeClient = createClientClass(() => undefined);
const retryPauses = { firstMs: 250, maxMs: 10_000 };
const checkEveryMs = 15_000;
const farewellAtMostMs = 1_000;
// PostgreSQL's limit is 8,000 bytes.
const payloadAtMostBytes = 7_900;
const maxUnsent = 10_000;
const notifyAll = 'select pg_notify($1, payload) from json_array_elements_text(cast($2 as json)) as payload';

export interface PostgresWakeOptions {
  connection: pg.ClientConfig;
  clock: Clock;
  logger: Logger;
  local: LocalWake;
}

export interface PostgresWake {
  /** Tries once to listen; if that fails, it keeps retrying in the background. */
  start(): Promise<void>;
  notify(topic: string, detail: string): void;
  readonly isListening: boolean;
  stop(): Promise<void>;
}

export function createPostgresWake({ connection, clock, logger, local }: PostgresWakeOptions): PostgresWake {
  let client: pg.Client | undefined;
  let isStopped = false;
  let failures = 0;
  let cancelTimer: Cancel = () => {};
  const send = createSender(logger, () => client);

  async function connect(): Promise<void> {
    const fresh = new WakeClient(connection);
    let isLost = false;
    const lose = (error?: unknown) => {
      if (isLost) return;
      isLost = true;
      if (client === fresh) client = undefined;
      cutConnection(fresh);
      if (isStopped) return;
      failures += 1;
      const retryMs = growingPauseMs(failures, retryPauses);
      const err = error === undefined ? databaseDown('The connection has ended.') : translatePostgresError(error);
      logger.warn({ err, retryMs }, 'the connection that listens for other instances is down');
      cancelTimer();
      cancelTimer = clock.after(retryMs, () => void connect());
    };
    fresh.on('error', lose);
    fresh.on('end', () => lose());
    fresh.on('notification', (message) => {
      // Notifications are sent on this same connection, so the sender's process id identifies this instance's own.
      if (message.processId !== (fresh as unknown as { processID: number }).processID) receive(message.payload);
    });
    try {
      await fresh.connect();
      await fresh.query(`listen ${channel}`);
    } catch (error) {
      lose(error);
      return;
    }
    if (isStopped || isLost) return lose();
    client = fresh;
    failures = 0;
    checkLater(fresh, lose);
  }

  /** Only a query detects a server that vanished without closing the connection. */
  function checkLater(current: pg.Client, lose: (error: unknown) => void): void {
    cancelTimer = clock.after(checkEveryMs, () => {
      current.query('select 1').then(() => {
        if (client === current) checkLater(current, lose);
      }, lose);
    });
  }

  function receive(payload: string | undefined): void {
    let message: unknown;
    try {
      message = JSON.parse(payload ?? '');
    } catch {
      message = undefined;
    }
    const { topic, detail } = (message ?? {}) as { topic?: unknown; detail?: unknown };
    if (typeof topic === 'string' && typeof detail === 'string') local.wake(topic, detail);
    else logger.warn({}, 'a malformed wake notification was ignored');
  }

  return {
    start: connect,
    notify(topic, detail) {
      const payload = JSON.stringify({ topic, detail });
      if (Buffer.byteLength(payload) > payloadAtMostBytes) throw new RangeError('The detail of a wake-up is too long: it must be an id.');
      send(payload);
    },
    get isListening() {
      return client !== undefined;
    },
    async stop() {
      isStopped = true;
      cancelTimer();
      const last = client;
      client = undefined;
      if (!last) return;
      // A frozen server never acknowledges the end.
      const cancelCut = clock.after(farewellAtMostMs, () => cutConnection(last));
      await last.end().catch(() => {});
      cancelCut();
    },
  };
}

/**
 * A commit with a notification waits for every other such commit of the server, so payloads that come while one is under way share the
 * next. Payloads that cannot be sent are dropped.
 */
function createSender(logger: Logger, currentClient: () => pg.Client | undefined): (payload: string) => void {
  /** In the order of arrival, without duplicates. */
  const unsent = new Set<string>();
  let isSending = false;

  async function sendAll(): Promise<void> {
    isSending = true;
    for (let client = currentClient(); client && unsent.size > 0; client = currentClient()) {
      const payloads = JSON.stringify([...unsent]);
      unsent.clear();
      await client.query(notifyAll, [channel, payloads]).catch((error: unknown) => {
        logger.debug({ err: error }, 'other instances could not be woken');
      });
    }
    unsent.clear();
    isSending = false;
  }

  return (payload) => {
    if (unsent.size >= maxUnsent) return;
    unsent.add(payload);
    if (!isSending) void sendAll();
  };
}
