// Questions to devices on the new core: what an answer proves, from which journal it comes, and which gateway asks.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import type { Event } from '../../src/money/event.ts';
import { type Asked, createRecall, type Recall } from '../../src/money/recall.ts';
import type { Ran } from '../../src/money/run.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let database: Database;
let recall: Recall;
let asked: string[];
let events: Event[];
let missed: string[];
let gathered: boolean;
let answer: Partial<AnswerMessage> | undefined;
let answering: Promise<void>;
let op: Asked;

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  const merchantId = (await seedMerchant(database.queries)).id;
  const deviceId = (await seedDevice(database.queries, merchantId)).id;
  const { id } = await seedCommand(database.queries, merchantId, deviceId, { state: 'unknown', request_hash: 'h' });
  op = { id, deviceId, journalId: 'own', state: 'unknown' };
  [asked, events, missed, gathered, answering] = [[], [], [], false, Promise.resolve()];
  recall = createRecall({
    database,
    instanceId: 'here',
    timeline: { add: () => {}, addCounted: () => {} },
    notes: { missed: (one) => void missed.push(one), wasAccepted: () => gathered },
    link: {
      presence: { of: () => undefined } as never,
      async ask(_deviceId, { name, args }) {
        asked.push(`${name} ${(args as { target?: string }).target ?? ''}`.trim());
        await answering;
        return answer as AnswerMessage | undefined;
      },
    },
    async run(event) {
      events.push(event);
      return {} as Ran;
    },
  });
});
afterEach(() => database.close());

const says = (report: object, journalId: string | undefined = 'own') => ({ outcome: 'done', report, journalId }) as Partial<AnswerMessage>;
const final = { state: 'final', outcome: 'done', report: { operationId: '7' } };

describe('a question', () => {
  it('makes what the journal says an event, with that journal and what was gathered', async () => {
    answer = says(final);
    expect(await recall.compare(op)).toEqual({ said: 'end', isOwn: true });
    answer = says({ state: 'never' }, 'spare');
    gathered = true;
    expect(await recall.compare(op)).toEqual({ said: 'end', isOwn: false });
    expect(asked).toEqual([`Recall ${op.id}`, `Recall ${op.id}`]);
    expect(events).toMatchObject([
      { type: 'Report', id: op.id, outcome: 'done', source: 'recall', report: { operationId: '7' }, journalId: 'own', wasAccepted: false },
      { type: 'Report', outcome: 'never', journalId: 'spare', wasAccepted: true },
    ]);
  });

  it('whose answer is that it runs is an acceptance; one that is unusable, or none, proves nothing', async () => {
    answer = says({ state: 'running' });
    expect(await recall.compare(op)).toEqual({ said: 'running', isOwn: true });
    expect(events).toEqual([{ type: 'Accepted', id: op.id, isRunning: true }]);
    answer = says({ state: 'what' });
    expect(await recall.compare(op)).toEqual({ said: 'unusable', isOwn: true });
    answer = undefined;
    expect(await recall.compare(op)).toEqual({ said: 'nothing', isOwn: false });
    expect(events).toHaveLength(1);
  });

  it('to a device without a journal is for its last transaction, which counts if it is this one', async () => {
    op = { ...op, journalId: null };
    answer = { outcome: 'done', report: { commandId: op.id.toUpperCase(), state: 'approved' } };
    expect(await recall.compare(op)).toEqual({ said: 'end', isOwn: true });
    answer = { outcome: 'done', report: { commandId: 'another', state: 'approved' } };
    expect(await recall.compare(op)).toMatchObject({ said: 'another' });
    expect(asked).toEqual(['LastTransaction', 'LastTransaction']);
    expect(events).toMatchObject([
      { type: 'Report', outcome: 'done', source: 'last-transaction' },
      { type: 'LastIsAnother', id: op.id },
    ]);
  });
});

describe('a question about an open operation', () => {
  const row = () => database.queries.selectFrom('commands').selectAll().where('id', '=', op.id).executeTakeFirstOrThrow();

  it('takes it over, sets the time of the next one, and notes that its caller was left without the outcome', async () => {
    await recall.ask(op);
    expect(await row()).toMatchObject({ instance_id: 'here', recalls: 1, next_recall_at: clock.now() + 2_000 });
    expect([asked.length, missed]).toEqual([1, [op.id]]);
  });

  it('is not asked by a gateway that another one was faster than', async () => {
    const { queries } = database;
    const faster = queries.updateTable('commands').set({ recalls: 5 }).where('id', '=', op.id);
    const asking = recall.ask(op);
    await faster.execute();
    await asking;
    expect(await row()).toMatchObject({ recalls: 5 });
    expect(asked).toEqual([]);
  });

  it('is asked once at a time, and once more when the device is back', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    answering = promise;
    const all = [recall.ask(op), recall.ask(op)];
    await clock.advance(10);
    expect(asked).toHaveLength(1);
    all.push(recall.ask(op, true));
    await clock.advance(10);
    resolve();
    await Promise.all(all);
    expect(asked).toHaveLength(2);
    await recall.ask(op);
    expect(asked).toHaveLength(3);
  });
});
