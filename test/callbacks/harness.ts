// What the worker's tests share: callbacks on a database, and an ERP in memory that answers as it is told.
import { randomUUID } from 'node:crypto';
import type { KyselyPlugin } from 'kysely';
import { type Callbacks, type CallbacksDeps, createCallbacks } from '../../src/callbacks/callbacks.ts';
import { type Addressee, enqueueCallback, type NewCallback } from '../../src/callbacks/outbox.ts';
import type { AttemptResult, OutgoingCallback, Send } from '../../src/callbacks/sender.ts';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

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

/** What the worker is told of this merchant's callbacks, one for each time that a host is named. */
export const to = (merchantId: string, ...hosts: string[]): Addressee[] => hosts.map((host) => ({ host, merchantId }));

/** As a slice does it: in a transaction, then the wake. */
export async function enqueue(
  database: Database,
  callbacks: Callbacks,
  callback: Partial<NewCallback> & { merchantId: string },
  written?: readonly Addressee[],
): Promise<void> {
  await database.transaction((queries) =>
    enqueueCallback(
      queries,
      { random: systemRandom },
      { subjectKind: 'invoice', subjectId: randomUUID(), sequence: 1, url: 'http://erp.example/cb', ...callback },
    ),
  );
  callbacks.wake(written);
}

export interface WatchedDatabase {
  database: Database;
  /** In their order: `scan` over all hosts, `claim`, or the first words of the statement. */
  statements: string[];
  wakes(): number;
  /** From now on statements of this kind fail; undefined: none. */
  fail(kind: string | undefined): void;
  /** What happens while the next claim is under way. */
  duringClaim(happens: () => void): void;
}

/** The same database, which tells what was asked of it and whom it woke. */
export function watchDatabase(plain: Database): WatchedDatabase {
  const statements: string[] = [];
  let wakes = 0;
  let failing: string | undefined;
  let happensDuringClaim = () => {};
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      const { sql } = plain.queries.getExecutor().compileQuery(node, queryId);
      const kind = /recursive hosts/.test(sql) ? 'scan' : /leased_until" = now_ms/.test(sql) ? 'claim' : sql.trim().split(' ', 3).join(' ');
      statements.push(kind);
      if (kind === failing) throw databaseDown('It is away.');
      if (kind === 'claim') {
        happensDuringClaim();
        happensDuringClaim = () => {};
      }
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const database: Database = {
    ...plain,
    queries: plain.queries.withPlugin(plugin),
    wake(topic, detail) {
      wakes += 1;
      plain.wake(topic, detail);
    },
  };
  return {
    database,
    statements,
    wakes: () => wakes,
    fail(kind) {
      failing = kind;
    },
    duringClaim(happens) {
      happensDuringClaim = happens;
    },
  };
}

/** Nothing came in the time that an attempt has. */
export const silence: AttemptResult = { status: null, error: 'No answer within 15 s.', durationMs: 15_000, responseHead: null };
export const answered = (status: number): AttemptResult => ({ status, error: null, durationMs: 3, responseHead: `answer ${status}` });

/** After so long that its host counts as slow. */
export const late: AttemptResult = { ...answered(200), durationMs: 4_000 };

export interface Call extends OutgoingCallback {
  atMs: number;
  signal: AbortSignal;
  /** Ends this attempt. */
  end(result: AttemptResult): void;
}

export const hostsOf = (calls: readonly Call[]): string[] => calls.map(({ url }) => new URL(url).host);
/** Hosts that nobody answers at. */
export const dead = (count: number): string[] => Array.from({ length: count }, (_, at) => `dead.example:${at + 1}`);

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

export interface Stage {
  clock: VirtualClock;
  startMs: number;
  plain: Database;
  watched: WatchedDatabase;
  merchantId: string;
  /** Callbacks that run until the stage is closed, and the ERP that they call, whose times count from the start. */
  begin(
    answer?: (call: Call) => AttemptResult | undefined,
    overrides?: Partial<CallbacksDeps>,
  ): { send: Send; calls: Call[]; callbacks: Callbacks };
  write(callbacks: readonly Partial<NewCallback>[]): Promise<void>;
  /** One callback to each host, as often as it is named, of the stage's merchant or of another. */
  writeTo(hosts: readonly string[], from?: string): Promise<void>;
  close(): Promise<void>;
}

/** One merchant on a watched SQLite in memory, in virtual time. */
export async function openStage(): Promise<Stage> {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const startMs = clock.now();
  const plain = await memoryDatabase(clock);
  const { id: merchantId } = await seedMerchant(plain.queries);
  const watched = watchDatabase(plain);
  const started: Callbacks[] = [];
  const write: Stage['write'] = (callbacks) =>
    plain.transaction(async (queries) => {
      for (const callback of callbacks) {
        const whole = { merchantId, subjectKind: 'invoice' as const, subjectId: randomUUID(), sequence: 1, url: 'http://erp.example/cb' };
        await enqueueCallback(queries, { random: systemRandom }, { ...whole, ...callback });
      }
    });
  return {
    clock,
    startMs,
    plain,
    watched,
    merchantId,
    begin(answer, overrides = {}) {
      const erp = memoryErp({ nowMs: () => clock.now() - startMs, ...(answer ? { answer } : {}) });
      const callbacks = callbacksOn(watched.database, { clock, send: erp.send, ...overrides });
      callbacks.start();
      started.push(callbacks);
      return { ...erp, callbacks };
    },
    write,
    writeTo: (hosts, from = merchantId) => write(hosts.map((host) => ({ url: `http://${host}/`, merchantId: from }))),
    async close() {
      watched.fail(undefined);
      for (const callbacks of started) {
        const stopped = callbacks.stop();
        await clock.advance(10_000);
        await stopped;
      }
      await plain.close();
    },
  };
}
