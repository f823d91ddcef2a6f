// What the worker's tests share: callbacks on a database, and an ERP in memory that answers as it is told.
import { randomUUID } from 'node:crypto';
import { type Callbacks, type CallbacksDeps, createCallbacks } from '../../src/callbacks/callbacks.ts';
import { enqueueCallback, type NewCallback } from '../../src/callbacks/outbox.ts';
import type { AttemptResult, OutgoingCallback, Send } from '../../src/callbacks/sender.ts';
import type { Database } from '../../src/database/database.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { quietLogger } from '../support/quiet-logger.ts';

export const specifiedDelaysS = [60, 300, 1800, 3600, 21_600];

export function callbacksOn(database: Database, overrides: Partial<CallbacksDeps> = {}): Callbacks {
  return createCallbacks({
    database,
    clock: systemClock,
    logger: quietLogger,
    instanceId: randomUUID(),
    delaysS: specifiedDelaysS,
    allow: ['127.0.0.0/8'],
    ...overrides,
  });
}

/** As a slice does it: in a transaction, then the wake. */
export async function enqueue(
  database: Database,
  callbacks: Callbacks,
  callback: Partial<NewCallback> & { merchantId: string },
  hosts?: readonly string[],
): Promise<void> {
  await database.transaction((queries) =>
    enqueueCallback(
      queries,
      { random: systemRandom },
      { subjectKind: 'invoice', subjectId: randomUUID(), sequence: 1, url: 'http://erp.example/cb', ...callback },
    ),
  );
  callbacks.wake(hosts);
}

export const answered = (status: number): AttemptResult => ({ status, error: null, durationMs: 3, responseHead: `answer ${status}` });

export interface Call extends OutgoingCallback {
  atMs: number;
  signal: AbortSignal;
  /** Ends this attempt. */
  end(result: AttemptResult): void;
}

/** A Send whose attempts stay open until the test, or `answer`, ends them. */
export function memoryErp(options: { nowMs: () => number; answer?: (call: Call) => AttemptResult | undefined }): {
  send: Send;
  calls: Call[];
} {
  const calls: Call[] = [];
  const send: Send = (callback, signal) =>
    new Promise((resolve) => {
      const call: Call = { ...callback, signal, atMs: options.nowMs(), end: resolve };
      calls.push(call);
      signal.addEventListener('abort', () => resolve({ status: null, error: 'stopping', durationMs: 1, responseHead: null }));
      const result = options.answer?.(call);
      if (result !== undefined) resolve(result);
    });
  return { send, calls };
}
