// What the new core sends, and what it commits about it: nothing twice, nothing for a caller who has left, and no outcome is given up.
import { beforeEach, expect, it } from 'vitest';
import type { CarryResult, Delivery } from '../../src/link/carrying/delivery.ts';
import type { Op, OpState } from '../../src/money/case.ts';
import type { Event } from '../../src/money/event.ts';
import type { Ran } from '../../src/money/run.ts';
import { createSending, type Sending } from '../../src/money/send.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let sending: Sending;
let carried: Delivery[];
let events: Event[];
/** Of the case after an event; undefined: its row is not there. */
let state: OpState | undefined;
let isAway: boolean;
let noted: string[];
let gathered: boolean;
let kept: unknown[];
let result: Promise<CarryResult>;
const ended = { kind: 'ended', by: 'answer', outcome: 'done', report: {}, reason: undefined, journalId: 'j', channel: 'mqtt' } as const;
const done: CarryResult = { ...ended, wasAccepted: true };

beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  [carried, events, noted, kept] = [[], [], [], []];
  [state, isAway, gathered] = ['done', false, false];
  result = Promise.resolve(done);
  sending = createSending({
    clock,
    logger: quietLogger,
    timeline: { add: () => {} },
    link: {
      carry(delivery) {
        carried.push(delivery);
        return result;
      },
    },
    notes: {
      accepted: (id) => void noted.push(`accepted ${id}`),
      missed: (id) => void noted.push(`missed ${id}`),
      ended: (id) => void noted.push(`ended ${id}`),
      wasAccepted: () => gathered,
      whileEnding: (_id, work) => work(),
    },
    unmatched: { keepAnswer: async (answer) => void kept.push(answer) },
    async run(event) {
      events.push(event);
      if (isAway) throw new Error('The database is away.');
      return { case: { ops: state === undefined ? {} : { o: { id: 'o', state } } } } as unknown as Ran;
    },
  });
});

const op = { id: 'o', deviceId: 'd', kind: 'Pay', args: {}, journalId: 'j', amountBani: 100 } as unknown as Op;
const send = (recipient = createFakeRecipient()) =>
  sending.send({ op, channel: 'mqtt', deadlines: { startWithinMs: 1, answerWithinMs: 2 } as never, recipient });

it('is sent once, and its end is committed with the acceptance before it', async () => {
  await send();
  expect(carried).toHaveLength(1);
  expect(events).toMatchObject([{ type: 'Report', id: 'o', outcome: 'done', source: 'answer', journalId: 'j', wasAccepted: true }]);
  expect(noted).toEqual(['ended o']);
});

it('is not sent for a caller who has left; one who leaves later misses the outcome', async () => {
  const gone = createFakeRecipient();
  gone.leave();
  await send(gone);
  expect(carried).toEqual([]);
  expect(events).toMatchObject([{ type: 'NotSent', id: 'o' }]);
  const recipient = createFakeRecipient();
  const sent = send(recipient);
  recipient.leave();
  await sent;
  expect(noted).toContain('missed o');
});

it('is under way until its end is committed, so that its device is not asked about it', async () => {
  const { promise, resolve } = Promise.withResolvers<CarryResult>();
  result = promise;
  const sent = send();
  await clock.advance(1_000);
  expect([sending.has('o'), sending.count]).toEqual([true, 1]);
  resolve(done);
  await sent;
  expect([sending.has('o'), sending.count]).toEqual([false, 0]);
});

it('an end that cannot be committed is committed later, and nothing is sent again', async () => {
  isAway = true;
  expect(await send()).toBeUndefined();
  await clock.advance(100_000);
  expect(events.length).toBeGreaterThan(3);
  isAway = false;
  await clock.advance(40_000);
  const tries = events.length;
  await clock.advance(300_000);
  expect(events).toHaveLength(tries);
  expect(new Set(events.map((event) => JSON.stringify(event))).size).toBe(1);
  expect(carried).toHaveLength(1);
});

it.each<[CarryResult, object]>([
  [
    { kind: 'silent', reason: 'x', wasAccepted: false },
    { type: 'Deadline', id: 'o', isContactLost: true },
  ],
  [
    { kind: 'timeout', wasAccepted: true },
    { type: 'Deadline', id: 'o', isContactLost: true },
  ],
  [
    { kind: 'not-sent', reason: 'No channel.' },
    { type: 'NotSent', id: 'o', reason: 'No channel.' },
  ],
])('what the link cannot tell is open, and what certainly stayed here was not sent: %o', async (given, event) => {
  result = Promise.resolve(given);
  await send();
  expect(events).toEqual([event]);
});

it('a call about what was not sent fails if that cannot be written', async () => {
  result = Promise.resolve({ kind: 'not-sent', reason: 'No channel.' });
  isAway = true;
  await expect(send()).rejects.toThrow('away');
});

it('an acceptance that was gathered counts for the end, and stays beside a never', async () => {
  result = Promise.resolve({ ...ended, outcome: 'never', wasAccepted: false });
  gathered = true;
  state = 'never';
  await send();
  expect(events).toMatchObject([{ outcome: 'never', wasAccepted: true }]);
  expect(noted).toEqual([]);
});

it('an outcome whose row the database has lost is kept', async () => {
  state = undefined;
  await send();
  expect(kept).toEqual([{ id: 'o', deviceId: 'd', outcome: 'done', report: {} }]);
});

it('what may have been committed is looked for until it is there, for a minute', async () => {
  state = undefined;
  sending.readBack('o');
  await clock.advance(9_000);
  expect(events.length).toBeGreaterThanOrEqual(3);
  expect(events[0]).toMatchObject({ type: 'NotSent', id: 'o' });
  state = 'never';
  await clock.advance(60_000);
  const looks = events.length;
  await clock.advance(600_000);
  expect(events).toHaveLength(looks);
  state = undefined;
  sending.readBack('p');
  await clock.advance(600_000);
  expect(events.filter((event) => 'id' in event && event.id === 'p')).toHaveLength(7);
});
