// The room's front door: what it is put together of, each part shown to be there. Virtual time on SQLite in memory; one attempt is real HTTP.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Callbacks, CallbacksDeps } from '../../src/callbacks/callbacks.ts';
import { enqueueCallback } from '../../src/callbacks/outbox.ts';
import type { Database } from '../../src/database/database.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCallback, seedMerchant } from '../support/fixtures.ts';
import { until } from '../support/until.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { startErp } from './erp.ts';
import { answered, callbacksOn, enqueue, memoryErp } from './harness.ts';

const dayMs = 24 * 3_600_000;
let clock: VirtualClock;
let database: Database;
let merchantId: string;
const closing: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  clock = createVirtualClock(1_000 * dayMs, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
});
afterEach(async () => {
  for (const close of closing.splice(0)) {
    const closed = close();
    await clock.advance(10_000);
    await closed;
  }
  await database.close();
});

function begin(overrides: Partial<CallbacksDeps> = {}): Callbacks {
  const callbacks = callbacksOn(database, { clock, ...overrides });
  callbacks.start();
  closing.push(() => callbacks.stop());
  return callbacks;
}

describe('callbacks', () => {
  it('take no lease that an attempt could outlast', () => {
    const open = (leaseMs: number) => callbacksOn(database, { clock, limits: { leaseMs, attemptTimeoutMs: 15_000 } });
    expect(() => open(14_999)).toThrow('must outlast');
    expect(() => open(15_000)).toThrow('must outlast');
    expect(() => open(15_001)).not.toThrow();
  });

  it('go out by HTTP by default, and leave no connection behind', async () => {
    const erp = await startErp();
    let isClosed = false;
    erp.answer = (request, response) => {
      request.socket.once('close', () => {
        isClosed = true;
      });
      response.end('thanks');
    };
    const callbacks = callbacksOn(database, { clock: systemClock });
    callbacks.start();
    await enqueue(database, callbacks, { merchantId, url: `${erp.base}/cb` });
    await until(() => callbacks.counts().delivered === 1);
    expect(erp.heard.map(({ url }) => url)).toEqual(['/cb']);
    await callbacks.stop();
    await until(() => isClosed, 1_000);
    await erp.close();
  });

  it.each([
    [undefined, 90],
    [10, 10],
  ])('that were delivered are kept for their days (set: %s)', async (keepDays, days) => {
    const ended = (daysAgo: number) => {
      const at = clock.now() - daysAgo * dayMs;
      return seedCallback(database.queries, merchantId, { state: 'delivered', created_at: at, ended_at: at, next_attempt_at: null });
    };
    await ended(days + 1);
    const { id } = await ended(days - 1);
    const callbacks = begin(keepDays === undefined ? {} : { keepDays });
    await clock.advance(3_600_000);
    expect((await callbacks.list({ limit: 10 })).map((each) => each.id)).toEqual([id]);
  });

  it('can be tested at an address, which gets no real data', async () => {
    const erp = memoryErp({ nowMs: () => clock.now(), answer: () => answered(204) });
    const callbacks = begin({ send: erp.send });
    const id = randomUUID();
    expect(await callbacks.sendTest({ id, merchantId, template: 'http://erp.example/#State#' })).toMatchObject({
      status: 204,
      url: 'http://erp.example/Test',
    });
    expect(erp.calls).toMatchObject([{ id, sequence: 0 }]);
    expect(await callbacks.list({ limit: 10 })).toEqual([]);
  });

  it('belong to the trace of the work that wrote them, and every send can be watched', async () => {
    const erp = memoryErp({ nowMs: () => clock.now(), answer: () => answered(200) });
    const watched: (string | undefined)[] = [];
    const callbacks = begin({
      send: erp.send,
      watchSend: (send) => (callback, signal) => {
        watched.push(callback.traceparent);
        return send(callback, signal);
      },
    });
    for (const traceparent of [() => '00-1-2-01', () => undefined]) {
      const callback = { merchantId, subjectKind: 'invoice' as const, subjectId: randomUUID(), sequence: 1, url: 'http://erp.example/' };
      await enqueueCallback(database.queries, { random: systemRandom, traceparent }, callback);
      callbacks.wake();
      await clock.settle();
    }
    expect([watched, erp.calls.length]).toEqual([['00-1-2-01', undefined], 2]);
  });

  it('that a dead gateway had leased are sent at the start of the next, those of a live one are not', async () => {
    const leased = (leasedBy: string) => {
      const untilMs = clock.now() + 60_000;
      return seedCallback(database.queries, merchantId, { leased_by: leasedBy, leased_until: untilMs, next_attempt_at: untilMs });
    };
    for (const [id, heartbeatAt] of [
      ['dead', clock.now() - 15_001],
      ['living', clock.now() - 15_000],
    ] as const) {
      const instance = { id, host: 'h', pid: 1, embedded: '', started_at: 1, heartbeat_at: heartbeatAt, stopped_at: null };
      await database.queries.insertInto('instances').values(instance).execute();
    }
    const ofDead = await leased('dead');
    await leased('living');
    const erp = memoryErp({ nowMs: () => clock.now(), answer: () => answered(200) });
    begin({ send: erp.send });
    await clock.advance(1_000);
    expect(erp.calls.map(({ id }) => id)).toEqual([ofDead.id]);
  });
});
