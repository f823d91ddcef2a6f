// Asking a device about a command, with a link that a test holds in its hand: who asks, how often, what is believed, and what a person sees.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { CommandEvent } from '../../src/ledger/command-event.ts';
import { createRecall, type Recall } from '../../src/ledger/settling/recall.ts';
import { findCommand } from '../../src/ledger/store.ts';
import type { JsonObject } from '../../src/link/protocol.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

interface Question {
  deviceId: string;
  asked: { name: string; args: object; timeoutMs: number; preferredChannel: string };
  answer: (answer?: AnswerMessage) => void;
}

let clock: VirtualClock;
let database: Database;
let recall: Recall;
let merchantId: string;
let deviceId: string;
let questions: Question[];
let liveOn: string[] | undefined;
let events: Omit<CommandEvent, 'atMs'>[];
let said: [string, ...unknown[]][];

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
  questions = [];
  events = [];
  said = [];
  liveOn = ['queue'];
  const deps = {
    database,
    instanceId: 'here',
    link: {
      ask: (asked: string, question: Question['asked']) =>
        new Promise((resolve) => {
          questions.push({ deviceId: asked, asked: question, answer: resolve });
        }),
      presence: { of: () => liveOn && { liveOn }, isLiveAnywhere: () => liveOn !== undefined },
    },
    settlements: {
      accepted: (id: string) => said.push(['accepted', id]),
      async apply(command: Command, { outcome }: { outcome: string }, by: string) {
        said.push(['apply', command.id, outcome, by]);
        return { ...command, state: 'done', settledBy: by };
      },
      async stillRuns(command: Command) {
        said.push(['stillRuns', command.id]);
        return command;
      },
    },
    timeline: { add: (event: CommandEvent) => events.push(event), addCounted: (event: CommandEvent) => events.push(event) },
  };
  recall = createRecall(deps as unknown as Parameters<typeof createRecall>[0]);
});

async function command(overrides: object = {}): Promise<Command> {
  const seeded = { state: 'unknown' as const, journal_id: 'j', instance_id: 'there', ...overrides };
  const { id } = await seedCommand(database.queries, merchantId, deviceId, seeded);
  return latest(id);
}
const latest = async (id: string) => (await findCommand(database.queries, id)) as Command;
const answer = (report?: JsonObject): AnswerMessage => ({
  v: 1,
  id: 'q',
  device: deviceId,
  clock: '',
  outcome: 'done',
  ...(report && { report }),
});
const final = answer({ state: 'final', outcome: 'done', report: {} });
const steps = () => events.map(({ step, channel, detail }) => [step, channel, detail]);

describe('a question about an open command', () => {
  it('is asked by one instance, which says when the next is due before it asks', async () => {
    const open = await command({ recalls: 2 });
    const asking = recall.ask(open);
    await clock.settle();
    expect(questions).toMatchObject([
      { deviceId, asked: { name: 'Recall', args: { target: open.id }, timeoutMs: 10_000, preferredChannel: 'queue' } },
    ]);
    const row = await database.queries.selectFrom('commands').selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ instance_id: 'here', recalls: 3, next_recall_at: clock.now() + 8_000, outcome_missed_at: clock.now() });
    questions[0]?.answer(final);
    expect(await asking).toMatchObject({ state: 'done', settledBy: 'recall' });
    expect(said).toEqual([['apply', open.id, 'done', 'recall']]);
    expect(steps()).toEqual([
      ['recall', 'queue', undefined],
      ['recalled', 'queue', 'final done'],
    ]);
  });

  it('that another instance asked first is not asked: the current state is returned', async () => {
    const open = await command();
    await database.queries.updateTable('commands').set({ instance_id: 'elsewhere', recalls: 1 }).execute();
    expect(await recall.ask(open)).toMatchObject({ id: open.id, instanceId: 'elsewhere', recalls: 1 });
    expect([questions, events]).toEqual([[], []]);
  });

  it('is one at a time, also for two callers; after it another may be asked', async () => {
    const open = await command();
    const asking = [recall.ask(open), recall.ask(open)];
    await clock.settle();
    expect(questions).toHaveLength(1);
    questions[0]?.answer();
    const [one, other] = await Promise.all(asking);
    expect(one).toEqual(await latest(open.id));
    expect(other).toBe(one);
    void recall.ask(one as Command);
    await clock.settle();
    expect(questions).toHaveLength(2);
  });

  it('is asked anew when the device has just come back, and later callers wait for that one', async () => {
    const open = await command();
    const before = recall.ask(open);
    await clock.settle();
    const after = recall.ask(await latest(open.id), true);
    await clock.settle();
    expect(questions).toHaveLength(2);
    questions[0]?.answer();
    await before;
    const joined = recall.ask(await latest(open.id));
    questions[1]?.answer(final);
    expect(await joined).toBe(await after);
    expect(questions).toHaveLength(2);
  });

  it.each([[undefined], [[]]])('goes by MQTT when it is not known where the device is (%j)', async (known) => {
    liveOn = known;
    void recall.ask(await command());
    await clock.settle();
    expect(questions[0]?.asked.preferredChannel).toBe('mqtt');
  });

  it('that is answered with running, with nonsense or not at all settles nothing, and what was received is a step', async () => {
    const open = await command();
    let stands = open;
    const unsupported = { ...answer(), outcome: 'unsupported' } as const;
    for (const word of [answer({ state: 'running' }), answer({ state: 'maybe' }), unsupported, undefined]) {
      const asking = recall.ask(stands);
      await clock.settle();
      questions.at(-1)?.answer(word);
      stands = await asking;
      expect(stands).toEqual(await latest(open.id));
    }
    expect(said).toEqual([['accepted', open.id]]);
    const recalls = ['recall', 'queue', undefined];
    const told = (detail: string) => ['recalled', 'queue', detail];
    expect(steps()).toEqual([recalls, told('running'), recalls, told('unusable done'), recalls, told('unusable unsupported'), recalls]);
  });

  it('that gets an answer that may not be accepted has that answer as a step', async () => {
    const asking = recall.ask(await command());
    await clock.settle();
    questions[0]?.answer({ ...answer({ state: 'never' }), journalId: 'another' });
    await asking;
    expect(steps()).toEqual([
      ['recall', 'queue', undefined],
      ['recalled', 'queue', 'never'],
    ]);
  });
});

describe('a device without a journal', () => {
  const lastTransaction = async (word: AnswerMessage | undefined, overrides: object = {}) => {
    const open = await command({ journal_id: null, ...overrides });
    const asking = recall.ask(open);
    await clock.settle();
    expect(questions.map(({ asked }) => asked)).toMatchObject([
      { name: 'LastTransaction', args: {}, timeoutMs: 10_000, preferredChannel: 'queue' },
    ]);
    questions[0]?.answer(word?.report?.['commandId'] === 'same' ? { ...word, report: { ...word.report, commandId: open.id } } : word);
    await asking;
    return latest(open.id);
  };
  const asked = ['asked last transaction', 'queue', undefined];
  const told = (detail: string) => ['last transaction reported', 'queue', detail];
  const why = 'The device keeps no journal, and its last transaction is another one.';

  it('is asked for its last transaction, which settles by an equal id', async () => {
    const { id } = await lastTransaction(answer({ commandId: 'same', state: 'approved' }));
    expect(said).toEqual([['apply', id, 'done', 'last-transaction']]);
    expect(steps()).toEqual([asked, told('final done')]);
  });

  it('that is executing it has accepted it', async () => {
    const { id, reviewSinceMs } = await lastTransaction(answer({ commandId: 'same', state: 'running' }));
    expect([said, reviewSinceMs]).toEqual([[['accepted', id]], null]);
  });

  it('that reports another command puts it on the review list once', async () => {
    expect(await lastTransaction(answer({ commandId: 'other', state: 'approved' }))).toMatchObject({
      reviewSinceMs: clock.now(),
      reviewReason: why,
    });
    expect(steps()).toEqual([asked, told('another'), ['review', undefined, why]]);
    expect(said).toEqual([]);
  });

  it('that refuses to say is no device with another last transaction', async () => {
    await lastTransaction({ ...answer(), outcome: 'refused' });
    expect(steps()[1]).toEqual(told('unusable refused'));
  });

  it('that does not answer, or whose command is on the list already, changes nothing', async () => {
    expect(await lastTransaction(undefined)).toMatchObject({ reviewSinceMs: null });
    questions = [];
    await database.queries.deleteFrom('commands').execute();
    const listed = { review_since: 1, review_reason: 'something else' };
    expect(await lastTransaction(answer({ commandId: 'other', state: 'approved' }), listed)).toMatchObject({
      reviewReason: 'something else',
    });
    expect(steps()).toEqual([asked, asked, told('another')]);
  });

  it('whose command was settled while it was asked puts nothing on the list', async () => {
    const open = await command({ journal_id: null });
    const asking = recall.ask(open);
    await clock.settle();
    await database.queries.updateTable('commands').set({ state: 'refused', settled_at: 1, settled_by: 'late-answer' }).execute();
    questions[0]?.answer(answer({ commandId: 'other', state: 'approved' }));
    expect(await asking).toMatchObject({ state: 'refused', reviewSinceMs: null });
    expect(steps()).toEqual([asked, told('another')]);
  });
});

describe('a person who asks about an open command', () => {
  it('has it asked as any other: this instance takes it over, and says when the next question is due', async () => {
    const open = await command({ recalls: 1 });
    const asking = recall.recheck(open);
    await clock.settle();
    expect(await latest(open.id)).toMatchObject({ instanceId: 'here', recalls: 2 });
    questions[0]?.answer(final);
    expect(await asking).toMatchObject({ state: 'done', settledBy: 'recall' });
  });

  it('of a device without a journal has its last transaction asked for', async () => {
    const asking = recall.recheck(await command({ journal_id: null }));
    await clock.settle();
    expect(questions.map(({ asked }) => asked.name)).toEqual(['LastTransaction']);
    questions[0]?.answer();
    await asking;
  });
});

describe('a device that is asked before an operator decides', () => {
  it('says that it is at it, or how it ended; one that is away is not asked', async () => {
    const open = await command();
    for (const [word, found] of [
      [answer({ state: 'running' }), 'running'],
      [final, { id: open.id, state: 'done', settledBy: 'recall' }],
      [undefined, undefined],
    ] as const) {
      const asking = recall.whatNow(open);
      await clock.settle();
      questions.at(-1)?.answer(word);
      if (typeof found === 'object') expect(await asking).toMatchObject(found);
      else expect(await asking).toBe(found);
    }
    liveOn = undefined;
    expect(await recall.whatNow(open)).toBeUndefined();
    expect(questions).toHaveLength(3);
  });
});

describe('a device that is asked about a settled command', () => {
  const settled = (overrides: object = {}) =>
    command({ state: 'refused', settled_at: 1, settled_by: 'person', journal_id: 'j', ...overrides });
  const ask = async (asked: Command, word?: AnswerMessage, journalId = asked.journalId) => {
    const said = word && { ...word, ...(journalId !== null && { journalId }) };
    const hearing = recall.confirm(asked);
    await clock.settle();
    questions.at(-1)?.answer(said);
    return hearing;
  };

  it('is not confirmed by other hardware, whose answer is compared all the same [D304]', async () => {
    const asked = await settled();
    for (const word of [final, { ...final, outcome: 'unsupported' } as const, answer({ state: 'running' }), answer({ state: 'never' })])
      expect(await ask(asked, word, 'another')).toBe(false);
    expect(said.map(([call]) => call)).toEqual(['apply', 'stillRuns', 'apply']);
  });

  it('counts as confirmed by any answer of its journal, which is compared where possible', async () => {
    const asked = await settled();
    expect(await ask(asked)).toBe(false);
    expect(await ask(asked, { ...final, outcome: 'unsupported' })).toBe(true);
    expect(said).toEqual([]);
    expect(await ask(asked, final)).toBe(true);
    expect(await ask(asked, answer({ state: 'running' }))).toBe(true);
    expect(said).toEqual([
      ['apply', asked.id, 'done', 'recall'],
      ['stillRuns', asked.id],
    ]);
    const step = { commandId: asked.id, channel: 'queue' };
    const recalls = { ...step, step: 'recall' };
    expect(events).toEqual([
      recalls,
      recalls,
      { ...step, step: 'recalled', detail: 'unusable unsupported' },
      recalls,
      { ...step, step: 'recalled', detail: 'final done' },
      recalls,
      { ...step, step: 'recalled', detail: 'running' },
    ]);
  });

  it('and keeps no journal, by its last transaction', async () => {
    const asked = await settled({ journal_id: null });
    expect(await ask(asked, answer({ commandId: 'other', state: 'approved' }))).toBe(true);
    expect(said).toEqual([]);
    expect(await ask(asked, answer({ commandId: asked.id, state: 'approved' }))).toBe(true);
    expect(said).toEqual([['apply', asked.id, 'done', 'recall']]);
    expect(questions.map(({ asked: { name } }) => name)).toEqual(['LastTransaction', 'LastTransaction']);
  });

  it('by a person is compared with its answer, and asked nothing if it keeps no journal: its last transaction proves no refusal', async () => {
    const decided = await settled();
    const asking = recall.recheck(decided);
    await clock.settle();
    questions[0]?.answer(final);
    expect(await asking).toMatchObject({ id: decided.id, state: 'done' });
    expect(said).toEqual([['apply', decided.id, 'done', 'recall']]);
    const plain = await settled({ journal_id: null });
    expect(await recall.recheck(plain)).toBe(plain);
    expect(questions).toHaveLength(1);
  });

  it('leaves it unchanged when it does not answer', async () => {
    const asked = await settled();
    const asking = recall.recheck(asked);
    await clock.settle();
    questions[0]?.answer();
    expect(await asking).toEqual(asked);
  });
});
