// The interface of the room: outbox.ts writes callbacks in the caller's transaction, the worker sends them, people list and resend them.

import type { Shared } from '../database/shared-deps.ts';
import { createAddressGuard } from './address-guard.ts';
import { countCallbacks, type ListedAttempt, type ListedCallback, type ListFilter, listAttempts, listCallbacks } from './delivery-log.ts';
import type { Addressee } from './outbox.ts';
import { createRetention } from './retention.ts';
import { createSender, type Send } from './sender.ts';
import { createTestSender, type SendTest } from './test-callback.ts';
import { CallbackWorker, type WorkerCounts, type WorkerLimits } from './worker.ts';

export interface CallbacksDeps extends Pick<Shared, 'database' | 'clock' | 'logger'> {
  /** Different in every process. */
  instanceId: string;
  /** Seconds before each retry (TILLGATE_CALLBACK_DELAYS_S); the first attempt is immediate [D25]. */
  delaysS: readonly number[];
  /** How long delivered callbacks are kept (TILLGATE_KEEP_DAYS). */
  keepDays?: number;
  /** Address ranges that are allowed although they are not public [D29]. */
  allow: readonly string[];
  limits?: Partial<WorkerLimits & { attemptTimeoutMs: number }>;
  /** Replaces HTTP in the simulation. */
  send?: Send;
  /** Wraps every send, for traces. */
  watchSend?: ((send: Send) => Send) | undefined;
}

/** From the database, for all instances. */
export interface CallbackStats {
  pending: number;
  oldestPendingAgeMs: number;
  dead: number;
}

export interface Callbacks {
  /** Call it after the commit of a transaction that wrote callbacks (outbox.ts). `written`: these; absent: any. */
  wake(written?: readonly Addressee[]): void;
  start(): void;
  stop(): Promise<void>;
  list(filter: ListFilter): Promise<ListedCallback[]>;
  /** Sends one callback at once, to test an address of a merchant. */
  sendTest: SendTest;
  attempts(callbackId: string): Promise<ListedAttempt[]>;
  stats(): Promise<CallbackStats>;
  /** Of this process, since its start. */
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
      // This process sends its own callbacks. If its worker does not run, the other instances are woken.
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
