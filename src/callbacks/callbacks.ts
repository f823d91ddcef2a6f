// The room's front door: callbacks that outbox.ts wrote in the caller's transaction are sent by the worker, listed and sent again by people.
import type { Database } from '../database/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { createAddressGuard } from './address-guard.ts';
import { countCallbacks, type ListedAttempt, type ListedCallback, type ListFilter, listAttempts, listCallbacks } from './delivery-log.ts';
import type { Addressee } from './outbox.ts';
import { createRetention } from './retention.ts';
import { createSender, type Send } from './sender.ts';
import { createTestSender, type SendTest } from './test-callback.ts';
import { CallbackWorker, type WorkerCounts, type WorkerLimits } from './worker.ts';

export interface CallbacksDeps {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** Different in every process. */
  instanceId: string;
  /** Seconds before each retry, as TILLGATE_CALLBACK_DELAYS_S; the first attempt needs none [D25]. */
  delaysS: readonly number[];
  /** How long delivered ones are kept, as TILLGATE_KEEP_DAYS. */
  keepDays?: number;
  /** Ranges that may be dialled though they are not public [D29]. */
  allow: readonly string[];
  limits?: Partial<WorkerLimits & { attemptTimeoutMs: number }>;
  /** Instead of real HTTP: the simulation's. */
  send?: Send;
  /** Stands around every send: for traces. */
  watchSend?: ((send: Send) => Send) | undefined;
}

/** As the database knows them, of all instances. */
export interface CallbackStats {
  pending: number;
  oldestPendingAgeMs: number;
  dead: number;
}

export interface Callbacks {
  /** After the commit of a transaction that wrote callbacks (outbox.ts): these, or any. */
  wake(written?: readonly Addressee[]): void;
  start(): void;
  stop(): Promise<void>;
  list(filter: ListFilter): Promise<ListedCallback[]>;
  /** Once and at once, to try an address of a merchant. */
  sendTest: SendTest;
  attempts(callbackId: string): Promise<ListedAttempt[]>;
  stats(): Promise<CallbackStats>;
  /** Of this process, from its start. */
  counts(): WorkerCounts;
}

const defaultKeepDays = 90;
const defaultLimits = { total: 256, perHost: 8, leaseMs: 60_000, stopGraceMs: 3_000, attemptTimeoutMs: 15_000 };

export function createCallbacks(deps: CallbacksDeps): Callbacks {
  const { database, clock } = deps;
  const limits = { ...defaultLimits, ...deps.limits };
  if (limits.leaseMs <= limits.attemptTimeoutMs) throw new Error('A callback lease must outlast an attempt.');
  const guard = createAddressGuard({ clock, allow: deps.allow });
  const sender = createSender({ clock, guard, attemptTimeoutMs: limits.attemptTimeoutMs, socketsPerHost: limits.perHost });
  const bareSend = deps.send ?? sender.send;
  const send = deps.watchSend?.(bareSend) ?? bareSend;
  const worker = new CallbackWorker({ ...deps, limits, send });
  const retention = createRetention({ ...deps, keepDays: deps.keepDays ?? defaultKeepDays });

  return {
    wake(written) {
      // This process sends what it has written. If it does not, the others are woken.
      if (!worker.wake(written)) database.wake('callbacks');
    },
    start() {
      worker.start();
      retention.start();
    },
    async stop() {
      await retention.stop();
      await worker.stop();
      sender.close();
    },
    sendTest: createTestSender({ database, clock, send }),
    list: (filter) => listCallbacks(database.queries, filter),
    attempts: (callbackId) => listAttempts(database.queries, callbackId),
    stats: () => countCallbacks(database.queries),
    counts: () => worker.counts,
  };
}
