// Late notes of the new core: none is lost while the database is away, none hides a newer one, and each is a fact at once.
import { beforeEach, expect, it } from 'vitest';
import type { Op } from '../../src/money/case.ts';
import type { Event } from '../../src/money/event.ts';
import { createNotes, type Notes } from '../../src/money/notes.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let notes: Notes;
let written: Event[];
/** What the database does with a write: nothing, or an error, or a wait. */
let database: (event: Event) => Promise<void>;

beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  written = [];
  database = async () => {};
  const commit = async (event: Event) => {
    await database(event);
    written.push(event);
  };
  notes = createNotes({ clock, logger: quietLogger, commit });
});

const ended = { id: 'o', kind: 'Pay', requestHash: 'h', receivedAt: null, missedAt: null, state: 'done', standing: 'Done' };
const op = (overrides: Partial<Op> = {}) => ({ ...ended, ...overrides }) as Op;
const delivery = (was: 'received' | 'missed', id = 'o') => ({ type: 'Delivery', id, was });
const away = () => Promise.reject(new Error('The database is away.'));

it('an acceptance is written after a moment, unless its command has ended by then', async () => {
  notes.accepted('slow');
  notes.accepted('quick');
  expect([notes.wasAccepted('slow'), notes.wasAccepted('other')]).toEqual([true, false]);
  notes.ended('quick');
  await clock.advance(240);
  expect(written).toEqual([]);
  await clock.advance(20);
  expect(written).toEqual([{ type: 'Accepted', id: 'slow' }]);
  expect(notes.wasAccepted('slow')).toBe(false);
});

it('an answer counts as received when the caller has it, and as missed after a disconnect', async () => {
  const [receives, leaves] = [createFakeRecipient(), createFakeRecipient()];
  notes.answered(op({ id: 'told' }), receives);
  notes.answered(op({ id: 'untold' }), leaves);
  notes.answered(op({ id: 'named', requestHash: null }), undefined);
  notes.answered(op({ id: 'known', receivedAt: 1 }), undefined);
  await clock.advance(1_000);
  expect(written).toEqual([]);
  receives.receive();
  leaves.leave();
  await clock.advance(1);
  expect(written).toEqual([delivery('received', 'told'), delivery('missed', 'untold')]);
});

it.each([{ state: 'unknown' }, { state: 'disputed', standing: 'Disputed' }] as const)('an answer 3 is no outcome: %o', async (open) => {
  notes.answered(op(open), undefined);
  await clock.advance(1);
  expect(written).toEqual([delivery('missed')]);
});

it('what the database refuses is written when it is back', async () => {
  database = away;
  notes.missed('o');
  notes.accepted('a');
  await clock.advance(3_000);
  expect(written).toEqual([]);
  database = async () => {};
  await clock.advance(10_000);
  expect(written).toEqual([delivery('missed'), { type: 'Accepted', id: 'a' }]);
});

it('a note that comes while the one before it is written is written, too', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  database = () => promise;
  notes.missed('o');
  notes.received('o');
  database = async () => {};
  resolve();
  await clock.advance(1_000);
  expect(written).toEqual([delivery('missed'), delivery('received')]);
});

it('what was received stays received', async () => {
  database = away;
  notes.received('o');
  notes.missed('o');
  await clock.advance(1);
  database = async () => {};
  await clock.advance(10_000);
  expect(written).toEqual([delivery('received')]);
});

it('at its end it writes what is left, once', async () => {
  database = away;
  notes.missed('o');
  await clock.advance(1);
  database = async () => {};
  notes.accepted('a');
  await notes.stop();
  expect(written).toEqual([delivery('missed'), { type: 'Accepted', id: 'a' }]);
  await clock.advance(60_000);
  expect(written).toHaveLength(2);
});

it('what is not written yet is a fact', async () => {
  database = away;
  for (const id of ['told', 'untold', 'open']) notes.missed(id);
  notes.received('told');
  const seen = (given: Op) => {
    notes.overlay(given, 7);
    return [given.missedAt, given.receivedAt];
  };
  expect(seen(op({ id: 'told' }))).toEqual([null, 7]);
  expect(seen(op({ id: 'untold', missedAt: 3 }))).toEqual([3, null]);
  expect(seen(op({ id: 'open', state: 'unknown', missedAt: 3 }))).toEqual([7, null]);
  // What was received before a dispute is not its outcome.
  expect(seen(op({ id: 'told', state: 'disputed' }))).toEqual([null, null]);
});
