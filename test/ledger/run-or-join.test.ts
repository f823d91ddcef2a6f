// Every call's way into the ledger, with everything around it in the test's hand: when it goes straight to the insert, when it looks first,
// what refuses it, and whom a repeat waits for.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import type { CommandCall, CommandPlan, CommandRequest } from '../../src/ledger/calls/call.ts';
import type { Earlier } from '../../src/ledger/calls/repeats.ts';
import { createRunOrJoin, type RunOrJoin } from '../../src/ledger/calls/run-or-join.ts';
import type { Command } from '../../src/ledger/command.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let database: Database;
let merchantId: string;
let deviceId: string;
let ledger: RunOrJoin;
let isLive: boolean;
let isReachable: boolean;
let ran: CommandRequest[];
/** What becomes of a command that is run; undefined: somebody was faster. */
let outcome: () => Promise<Command | undefined>;
let earlier: (Earlier | undefined)[];
/** What stands under the call's name after a no. */
let since: () => Promise<Earlier | undefined>;
let looks: number;
let waiting: number;
let waits: { id: string; forMs: number; caller: unknown }[];
let waitEnds: (command: Command) => Command;
let asked: string[];
let inFlight: Set<string>;
let keys: [string, string][];
let steps: object[];

beforeEach(async () => {
  clock = createVirtualClock(1_000_000, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
  isLive = true;
  isReachable = true;
  ran = [];
  outcome = async () => command('new', { state: 'done' });
  earlier = [];
  since = async () => undefined;
  looks = 0;
  waiting = 0;
  waits = [];
  waitEnds = (one) => one;
  asked = [];
  inFlight = new Set();
  keys = [];
  steps = [];
  const deps = {
    database,
    clock,
    logger: quietLogger,
    joinersPerCommand: 2,
    link: { presence: { isLiveAnywhere: () => isLive }, locate: async () => (isReachable ? 'mqtt' : undefined) },
    timeline: { addCounted: (step: object) => steps.push(step) },
    repeats: {
      async find() {
        looks += 1;
        return earlier.shift();
      },
      findNamed: () => since(),
    },
    keyedCalls: {
      keepKey: async (_call: unknown, id: string) => void keys.push(['keep', id]),
      dropKeyOfNever: async (_call: unknown, { id }: Command) => void keys.push(['drop if never', id]),
    },
    inFlight: {
      has: (id: string) => inFlight.has(id),
      async run(request: CommandRequest) {
        ran.push(request);
        return outcome();
      },
    },
    recall: {
      async ask({ id }: Command) {
        asked.push(id);
        throw databaseDown('nobody must hear of this');
      },
    },
    outcomeWaits: {
      countOf: () => waiting,
      async waitFor(one: Command, forMs: number, caller: unknown) {
        waits.push({ id: one.id, forMs, caller });
        await clock.settle();
        return waitEnds(one);
      },
    },
  };
  ledger = createRunOrJoin(deps as unknown as Parameters<typeof createRunOrJoin>[0]);
});

function command(id: string, overrides: Partial<Command> = {}): Command {
  return {
    id,
    deviceId,
    state: 'sent',
    reissuedAs: null,
    outcome: null,
    issuedAtMs: 0,
    answerByMs: 60_000,
    documentNr: null,
    ...overrides,
  } as Command;
}
const call = (overrides: Partial<CommandCall> = {}): CommandCall => ({ merchantId, deviceId, ...overrides });
const single = (overrides: Partial<CommandCall> = {}) => call({ insertRejectsDuplicates: true, ...overrides });
const planned = (overrides: Partial<CommandPlan> = {}) => {
  const plan: CommandPlan = { name: 'Refund', args: {}, answerWithinMs: 1, journalId: 'j', preferredChannel: 'mqtt', ...overrides };
  return async () => plan;
};
const mishaps: [string, Error][] = [
  ['a database that is away', databaseDown('away')],
  ['a mistake of our own', new TypeError('a mistake')],
];
const noMoney = () => new GatewayError('The_status_cannot_be_applied', 'More than was paid.');
const failing = (reason: Error) => () => Promise.reject(reason);
const found = (one: Command, by: Earlier['by'] = 'number') => ({ command: one, by });

it('a call that repeats nothing and takes the longer way is no repeat', async () => {
  expect(await ledger.run(call(), planned())).toMatchObject({ command: { id: 'new' }, isEarlier: false, isRepeated: false });
});

describe('a call that nothing can stand beside', () => {
  it('goes straight to the insert, marked as a first attempt without a look-up', async () => {
    expect(await ledger.run(single(), planned())).toMatchObject({ command: { id: 'new' }, isEarlier: false, isRepeated: false });
    expect([looks, ran]).toMatchObject([0, [{ merchantId, deviceId, name: 'Refund', isFirstTry: true }]]);
  });

  it('and with a key, which the insert claims; one that never was leaves it free', async () => {
    const idempotency = { key: 'k', requestHash: 'h' };
    expect(await ledger.run(single({ idempotency }), planned())).toMatchObject({ command: { id: 'new' }, isRepeated: false });
    expect([looks, ran, keys]).toMatchObject([0, [{ idempotency, isFirstTry: true }], []]);
    outcome = async () => command('second', { state: 'never' });
    await ledger.run(single({ idempotency }), planned());
    expect(keys).toEqual([['drop if never', 'second']]);
  });

  it('and acts on a payment that holds the device, too, if the insert sees that its document is open', async () => {
    await ledger.run(single(), planned({ targetId: 'payment', beside: 'its open document' }));
    expect(looks).toBe(0);
  });

  it.each<[string, () => [CommandCall, () => Promise<CommandPlan>]]>([
    ['it may stand beside an equal one', () => [call(), planned()]],
    ['its device is away', () => ((isLive = false), [single(), planned()])],
    ['it has a guard of its own', () => [single(), planned({ guard: async () => {} })]],
  ])('is looked up first when %s', async (_why, make) => {
    const [one, plan] = make();
    expect(await ledger.runAtOnce(one, plan)).toBeUndefined();
    expect(ran).toEqual([]);
    await ledger.run(one, plan);
    expect([looks, ran.length, ran[0]?.isFirstTry]).toEqual([1, 1, undefined]);
  });

  it('is looked up when its plan is refused, or the insert wrote nothing: then it may be a repeat', async () => {
    earlier = [found(command('first', { state: 'done' })), found(command('first', { state: 'done' }))];
    expect(await ledger.run(single(), failing(noMoney()))).toMatchObject({ command: { id: 'first' } });
    outcome = async () => undefined;
    expect(await ledger.run(single(), planned())).toMatchObject({ command: { id: 'first' } });
    expect(ran).toHaveLength(1);
  });

  it.each(mishaps)('is not taken for refused by %s', async (_what, error) => {
    await expect(ledger.run(single(), failing(error))).rejects.toBe(error);
    expect(looks).toBe(0);
  });
});

describe('a call that repeats nothing', () => {
  it('is answered 31 while another command holds the device, and passes the payment that it is about', async () => {
    const { id } = await seedCommand(database.queries, merchantId, deviceId);
    await expect(ledger.run(call(), planned())).rejects.toMatchObject({ errorName: 'Device_Busy' });
    await expect(ledger.run(call(), planned({ beside: 'its document', targetId: 'another' }))).rejects.toMatchObject({
      errorName: 'Device_Busy',
    });
    // A refund of a payment whose document is open, for example.
    await expect(ledger.run(call(), planned({ targetId: id }))).rejects.toMatchObject({ errorName: 'Device_Busy' });
    expect(ran).toEqual([]);
    expect(await ledger.run(call(), planned({ beside: 'its document', targetId: id }))).toMatchObject({ command: { id: 'new' } });
  });

  it('is answered 30 when the device cannot be reached, and nothing is written', async () => {
    isReachable = false;
    await expect(ledger.run(call(), planned())).rejects.toMatchObject({ errorName: 'Device_Offline' });
    expect(ran).toEqual([]);
  });

  it('that lost its race is answered with the reason', async () => {
    outcome = async () => {
      await seedCommand(database.queries, merchantId, deviceId, { state: 'unknown' });
      return undefined;
    };
    await expect(ledger.run(call(), planned())).rejects.toThrow('still being settled');
  });

  it('and is refused is looked up once more: the one that it repeats may have begun meanwhile', async () => {
    earlier = [undefined, found(command('winner', { state: 'done' }))];
    expect(await ledger.run(call(), failing(noMoney()))).toMatchObject({ command: { id: 'winner' } });
    await expect(ledger.run(call(), failing(noMoney()))).rejects.toThrow('More than was paid.');
    expect(looks).toBe(4);
  });

  it.each(mishaps)('is answered with %s, and not as an earlier one was', async (_what, error) => {
    earlier = [undefined, found(command('winner', { state: 'done' }))];
    await expect(ledger.run(call(), failing(error))).rejects.toBe(error);
    expect(looks).toBe(1);
  });
});

describe('a repeat', () => {
  const join = (one: Command, overrides: Partial<CommandCall> = {}, by: Earlier['by'] = 'number') => {
    earlier = [found(one, by)];
    return ledger.run(call(overrides), failing(new Error('nothing is planned')));
  };

  it('waits for what runs as long as that may take and a second more, and its caller may leave', async () => {
    const recipient = createFakeRecipient();
    waitEnds = (one) => ({ ...one, state: 'done', outcome: 'done' });
    const open = command('first', { issuedAtMs: 5_000, answerByMs: 65_000 });
    expect(await join(open, { recipient })).toMatchObject({ command: { id: 'first', state: 'done' }, isRepeated: false });
    expect(waits).toEqual([{ id: 'first', forMs: 61_000, caller: recipient }]);
    expect(keys).toEqual([['keep', 'first']]);
    expect(asked).toEqual([]);
  });

  it('says that it is one only when it was recognised by its content alone', async () => {
    for (const [by, isRepeated] of [
      ['content', true],
      ['key', false],
      ['number', false],
    ] as const)
      expect(await join(command('first', { state: 'done' }), {}, by)).toMatchObject({ isRepeated });
  });

  it('is a step of the timeline: how it was recognised, what it was answered and how long that took', async () => {
    const atMs = clock.now();
    waitEnds = (one) => {
      clock.setWallClock(atMs + 30);
      return { ...one, state: 'done', outcome: 'done' };
    };
    await join(command('first'), {}, 'key');
    clock.setWallClock(atMs);
    waitEnds = (one) => one;
    await join(command('first', { state: 'unknown' }));
    expect(steps).toEqual([
      { commandId: 'first', atMs, step: 'asked again', detail: 'key done done 30' },
      { commandId: 'first', atMs, step: 'asked again', detail: 'number unknown - 0' },
    ]);
  });

  it('of an unknown outcome has the device asked and waits five seconds for it, unless a call here waits for the device', async () => {
    const unknown = command('first', { state: 'unknown' });
    await join(unknown);
    expect([asked, waits[0]?.forMs]).toEqual([['first'], 5_000]);
    inFlight.add('first');
    await join(unknown);
    expect([asked, waits[1]?.forMs]).toEqual([['first'], 61_000]);
  });

  it('is one of so many and no more, while it is open', async () => {
    waiting = 2;
    await expect(join(command('first'))).rejects.toMatchObject({ errorName: 'Too_Many_Requests' });
    expect(keys).toEqual([]);
    expect(await join(command('first', { state: 'done' }))).toMatchObject({ command: { id: 'first' } });
    waiting = 1;
    expect(await join(command('first'))).toMatchObject({ command: { id: 'first' } });
  });

  it('of what was sent once more is led to that one', async () => {
    const { id } = await seedCommand(database.queries, merchantId, deviceId);
    const second = (await findCommand(database.queries, id)) as Command;
    expect(await join(command('first', { state: 'never', reissuedAs: id }), {}, 'content')).toEqual({
      command: second,
      isEarlier: true,
      isRepeated: true,
    });
    expect(keys).toEqual([
      ['keep', 'first'],
      ['keep', id],
    ]);
  });

  it('found by its key leaves that as it is: by now it may stand for a later attempt, which would be done once more', async () => {
    await join(command('first', { state: 'done' }), {}, 'key');
    expect(keys).toEqual([]);
  });

  it('found by its key, of what was sent once more, gives the key to that one', async () => {
    const { id } = await seedCommand(database.queries, merchantId, deviceId);
    await join(command('first', { state: 'never', reissuedAs: id }), {}, 'key');
    expect(keys).toEqual([['keep', id]]);
  });

  it('of what never was leaves its key free', async () => {
    await join(command('first', { state: 'never' }));
    expect(keys).toEqual([
      ['keep', 'first'],
      ['drop if never', 'first'],
    ]);
  });
});

describe('a no', () => {
  const fail = (error: Error): never => {
    throw error;
  };

  const no = (state: 'never' | 'refused') => {
    outcome = async () => command('new', { state });
    return ledger.run(call(), planned());
  };

  it.each(['never', 'refused'] as const)(
    '(%s) gives way to what began under the same name since: this process stood still',
    async (state) => {
      const tries = [found(command('second', { state: 'never' })), found(command('third', { state: 'done' }), 'key')];
      since = async () => tries.shift();
      expect(await no(state)).toMatchObject({ command: { id: 'third', state: 'done' }, isRepeated: false });
      expect(keys.filter(([what]) => what === 'keep')).toEqual([['keep', 'second']]);
    },
  );

  it('on the short way does so too', async () => {
    outcome = async () => command('new', { state: 'never' });
    since = async () => found(command('second', { state: 'done' }));
    expect(await ledger.runAtOnce(single(), planned())).toMatchObject({ command: { id: 'second' } });
  });

  it('looks only after its key is free: it would find itself under it', async () => {
    since = async () =>
      keys.length === 0 ? found(command('new', { state: 'never' }), 'key') : found(command('second', { state: 'done' }));
    expect(await no('never')).toMatchObject({ command: { id: 'second' } });
  });

  it('stands when nothing has begun since, and when its key still stands for it', async () => {
    expect(await no('never')).toMatchObject({ command: { id: 'new', state: 'never' } });
    since = async () => found(command('new', { state: 'refused' }), 'key');
    expect(await no('refused')).toMatchObject({ command: { id: 'new', state: 'refused' } });
    expect(steps).toEqual([]);
  });

  it.each<[string, () => void]>([
    ['as many wait as may', () => (waiting = 2)],
    ['the database goes away meanwhile', () => (waitEnds = () => fail(databaseDown('away')))],
    ['a mistake of our own is met', () => (waitEnds = () => fail(new TypeError('a mistake')))],
  ])(
    'is the later attempt as it was seen when %s: it may have charged, so no caller is answered that nothing was sent',
    async (_why, meet) => {
      since = async () => found(command('second'));
      meet();
      expect(await no('refused')).toMatchObject({ command: { id: 'second', state: 'sent' }, isEarlier: true, isRepeated: false });
    },
  );

  it('gives way to the 22 that the look meets: the sale was paid and closed since, and "nothing was done" would be untrue', async () => {
    since = () => Promise.reject(noMoney());
    await expect(no('never')).rejects.toMatchObject({ errorName: 'The_status_cannot_be_applied' });
  });

  it.each(mishaps)('stands when %s hides what has begun since', async (_what, error) => {
    since = () => Promise.reject(error);
    expect(await no('never')).toMatchObject({ command: { id: 'new', state: 'never' } });
  });

  it('is all that is read again: a yes is one', async () => {
    since = async () => found(command('second', { state: 'never' }));
    expect(await ledger.run(call(), planned())).toMatchObject({ command: { id: 'new', state: 'done' } });
  });
});

describe('who only looks', () => {
  it('has the device asked about an unknown outcome, and gets any other state as it is', async () => {
    const unknown = command('first', { state: 'unknown' });
    waitEnds = (one) => ({ ...one, state: 'done' });
    expect(await ledger.lookAgain(unknown)).toMatchObject({ state: 'done' });
    expect([asked, waits]).toEqual([['first'], [{ id: 'first', forMs: 5_000, caller: undefined }]]);
    inFlight.add('first');
    for (const one of [unknown, command('second'), command('third', { state: 'done' })]) expect(await ledger.lookAgain(one)).toBe(one);
    expect(waits).toHaveLength(1);
  });
});
