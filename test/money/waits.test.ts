// Waits of the new core, beside a database whose answers the test holds in its hand: no wake-up is lost, a lost one costs half a second, and
// a wait ends in time.
import { beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import type { OpState } from '../../src/money/case.ts';
import { createWaits, type Waits } from '../../src/money/waits.ts';
import { memoryDatabase } from '../support/engines.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let waits: Waits;
let state: OpState;
let reads: number;
/** Called when the row is read: the answer comes when it resolves. */
let answering: () => Promise<void>;
let wake: (id: string) => void;

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const { queries } = await memoryDatabase(clock);
  state = 'sent';
  reads = 0;
  answering = async () => {};
  const executeQuery = async () => {
    reads += 1;
    const read = state;
    await answering();
    return { rows: [{ state: read }] };
  };
  const held = new Proxy(queries, {
    get(target, name) {
      if (name === 'executeQuery') return executeQuery;
      const found: unknown = Reflect.get(target, name, target);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
  const onWake: Database['onWake'] = (_topic, listener) => {
    wake = listener;
    return () => {};
  };
  waits = createWaits({ clock, database: { queries: held, onWake } as Database });
});

/** What the wait ended with; undefined: it goes on. */
function waiting(from: OpState, forMs = 60_000, recipient = createFakeRecipient()) {
  const one: { ended: OpState | undefined } = { ended: undefined };
  void waits.waitFor('o', from, forMs, recipient).then((last) => {
    one.ended = last;
  });
  return one;
}

it('a wake-up ends it at once', async () => {
  const one = waiting('sent');
  await clock.advance(10);
  state = 'done';
  wake('o');
  await clock.settle();
  expect(one.ended).toBe('done');
  expect([reads, clock.pending]).toEqual([1, 0]);
});

it('a wake-up that comes while the row is read makes it be read again', async () => {
  const one = waiting('sent');
  const { promise, resolve } = Promise.withResolvers<void>();
  answering = () => promise;
  wake('o');
  await clock.settle();
  answering = async () => {};
  // The answer is on its way, and says `sent`.
  state = 'done';
  wake('o');
  resolve();
  await clock.settle();
  expect(one.ended).toBe('done');
  expect(reads).toBe(2);
});

it('without a wake-up the row is read every half second', async () => {
  const one = waiting('sent');
  await clock.advance(1_600);
  expect(reads).toBe(3);
  state = 'refused';
  await clock.advance(500);
  expect(one.ended).toBe('refused');
});

it('at its deadline the row is read once more', async () => {
  const [late, open] = [waiting('unknown', 700), waiting('unknown', 650)];
  await clock.advance(649);
  state = 'unknown';
  await clock.advance(1);
  expect(open.ended).toBe('unknown');
  state = 'done';
  await clock.advance(50);
  expect(late.ended).toBe('done');
});

it('a caller who is gone waits no longer, and makes room', async () => {
  const recipient = createFakeRecipient();
  const one = waiting('sent', 60_000, recipient);
  expect(waits.countOf('o')).toBe(1);
  recipient.leave();
  await clock.settle();
  expect(one.ended).toBe('sent');
  expect([waits.countOf('o'), clock.pending]).toEqual([0, 0]);
});

it('it ends with the call that it joined; one that began after that waits for the outcome', async () => {
  const joined = waiting('sent');
  state = 'unknown';
  wake('o');
  await clock.settle();
  expect(joined.ended).toBe('unknown');
  const later = waiting('unknown');
  await clock.advance(2_000);
  expect(later.ended).toBeUndefined();
  state = 'never';
  wake('o');
  await clock.settle();
  expect(later.ended).toBe('never');
});

it('goes on while the database is away', async () => {
  const one = waiting('sent');
  answering = () => Promise.reject(new Error('away'));
  await clock.advance(5_000);
  expect(one.ended).toBeUndefined();
  answering = async () => {};
  state = 'done';
  await clock.advance(500);
  expect(one.ended).toBe('done');
});
