// The loop of the new core beside a commit, a load and a memory of the test: when it commits, what it answers, and what it does afterwards.
import { beforeEach, describe, expect, it } from 'vitest';
import type { CommitResult } from '../../src/database/commit.ts';
import type { Unit } from '../../src/database/commit-data.ts';
import { DatabaseBusy } from '../../src/database/errors.ts';
import { assume, type Known } from '../../src/money/assume.ts';
import type { Op, Presence } from '../../src/money/case.ts';
import type { Event, Need, Of } from '../../src/money/event.ts';
import { createMemory } from '../../src/money/memory.ts';
import { decide } from '../../src/money/rules/decide.ts';
import { contentName } from '../../src/money/rules/facts.ts';
import { createRun, type Run } from '../../src/money/run.ts';
import { unitOf } from '../../src/money/unit.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const online: Presence = { kind: 'terminal', isDisabled: false, isOnline: true, journalId: 'j', features: [] };
const pay: Of<'Pay'> = { type: 'Pay', merchantId: 'm', deviceId: 'd', newId: 'o', amountBani: 100, documentNr: 'n' };

function assumed(event: Event = pay, presence = online): Known {
  const known = assume(event, { now: 1_000, presence });
  if (!known) throw new Error('This event is not assumed.');
  return known;
}
function loaded(event: Event = pay, presence = online): Known {
  const { case: c, looked } = assumed(event, presence);
  return { case: { ...c, isAssumed: false }, looked };
}
const committed = ({ inserts }: Unit): CommitResult => ({ now: 1_000, assigned: inserts.map(() => ({ issued_at: 1_000, sequence: 1 })) });

describe('the loop', () => {
  let clock: VirtualClock;
  let run: Run;
  let commit: (unit: Unit) => CommitResult | Promise<CommitResult>;
  let load: (event: Event) => Known | Promise<Known>;
  let quick: Known | undefined;
  /** What happened, in order. */
  let happened: string[];
  let answered: readonly string[];

  beforeEach(async () => {
    clock = createVirtualClock(undefined, { settle: 'microtasks' });
    [happened, answered, quick] = [[], [], undefined];
    commit = committed;
    load = (event) => (event.type === 'Outcome' ? { ...loaded(), looked: new Set() } : loaded(event));
    const say = (what: string) => void happened.push(what);
    run = createRun({
      ...{ clock, instanceId: 'here' },
      commit: {
        waiting: 0,
        async add(unit) {
          say('commit');
          const result = await commit(unit);
          say(typeof result === 'string' ? result : 'committed');
          return result;
        },
      },
      async load(event) {
        say('load');
        return load(event);
      },
      memory: { recall: () => undefined, remember: () => say('remember'), forget: () => say('forget') },
      assumed: async () => quick,
      followUp: { changed: () => say('changed'), counted: () => {} },
      callbackOf: () => undefined,
      wakeCallbacks: () => {},
      async meet(need: Need) {
        say(`meet ${need.type}`);
        return answered;
      },
      perform: ({ type }) => say(type),
      readBack: (id) => say(`read back ${id}`),
    });
    // It has seen the time of the database: before that nothing is assumed.
    await run({ type: 'Outcome', id: 'x' });
    happened.length = 0;
  });

  const sent = { effects: [{ type: 'send', id: 'o' }] };

  it('commits what it assumes without a query; what follows comes after the commit', async () => {
    quick = assumed();
    expect(await run(pay)).toMatchObject(sent);
    expect(happened).toEqual(['commit', 'committed', 'remember', 'changed', 'send']);
  });

  it('answers nothing from assumed facts: they are loaded if nothing would change', async () => {
    quick = assumed(pay, { ...online, isOnline: false });
    expect(await run(pay)).toMatchObject(sent);
    expect(happened[0]).toBe('load');
    load = () => loaded(pay, { ...online, isOnline: false });
    expect(await run(pay)).toMatchObject({ answer: { code: 'Device_Offline' } });
  });

  it('after a conflict it forgets what it knew, and decides again from loaded facts', async () => {
    quick = assumed();
    let commits = 0;
    commit = (unit) => ((commits += 1) <= 2 ? 'conflict' : committed(unit));
    expect(await run(pay)).toMatchObject(sent);
    const tried = ['commit', 'conflict', 'forget'];
    expect(happened).toEqual([...tried, 'load', ...tried, 'load', 'commit', 'committed', 'remember', 'changed', 'send']);
    commits = 0;
    commit = (unit) => ((commits += 1) === 1 ? 'conflict' : committed(unit));
    load = () => loaded(pay, { ...online, isOnline: false });
    const { answer, effects } = await run(pay);
    expect([answer?.code, effects]).toEqual(['Device_Offline', []]);
  });

  it('gives up after some conflicts with 2', async () => {
    commit = () => 'conflict';
    await expect(run(pay)).rejects.toBeInstanceOf(DatabaseBusy);
    expect(happened.filter((what) => what === 'load')).toHaveLength(5);
  });

  it('sends nothing if it is not known whether it was committed, and reads it back', async () => {
    quick = assumed();
    commit = () => 'unclear';
    await expect(run(pay)).rejects.toThrow('did not confirm');
    expect(happened).toEqual(['commit', 'unclear', 'forget', 'read back o']);
  });

  it('begins nothing for a caller who has left', async () => {
    const recipient = createFakeRecipient();
    recipient.leave();
    await expect(run(pay, { recipient })).rejects.toMatchObject({ errorName: 'Too_Many_Requests' });
    expect(happened).toEqual(['load']);
  });

  it('tells before each try, so that deadlines count from there', async () => {
    let commits = 0;
    commit = (unit) => ((commits += 1) <= 2 ? 'conflict' : committed(unit));
    await run(pay, { beforeTry: () => void happened.push('try') });
    expect(happened.filter((what) => what === 'try' || what === 'commit')).toEqual(['try', 'commit', 'try', 'commit', 'try', 'commit']);
  });

  it('calls about one device that disturbed each other take turns afterwards', async () => {
    let underWay = 0;
    let most = 0;
    const tries = new Map<string, number>();
    load = async (event) => {
      const id = 'newId' in event ? event.newId : '';
      const isFirst = (tries.get(id) ?? 0) === 0;
      tries.set(id, (tries.get(id) ?? 0) + 1);
      if (!isFirst) most = Math.max(most, (underWay += 1));
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
      return loaded(event);
    };
    commit = async (unit) => {
      const id = String(unit.inserts.find(({ table }) => table === 'commands')?.row['id']);
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
      if (tries.get(id) === 1) return 'conflict';
      underWay -= 1;
      return committed(unit);
    };
    await Promise.all(Array.from({ length: 8 }, (_, at) => run({ ...pay, newId: `o${at}`, documentNr: `n${at}` })));
    expect(most).toBe(1);
  });

  it('asks the device for what a decision needs, and decides with its answer', async () => {
    const person = { state: 'refused', settledBy: 'person', settledAt: 1, standing: 'Refused', isUnconfirmed: true, isToConfirm: true };
    const earlier = { ...blank(pay, 'earlier'), ...person } as unknown as Op;
    load = (event) => {
      const known = loaded(event);
      const devices = { d: { ...known.case.devices['d'], unconfirmed: ['earlier'], sequence: 3 } };
      const names = { 'm n': { merchantId: 'm', value: 'n', version: 1, attempts: 1, ops: ['earlier'] } };
      return { ...known, case: { ...known.case, names, ops: { earlier }, devices, sales: new Set(['earlier']) } as Known['case'] };
    };
    const refusing = await run({ ...pay });
    expect(happened).toContain('meet confirmation');
    expect(refusing.effects).toEqual([]);
    answered = ['earlier'];
    expect(await run({ ...pay })).toMatchObject(sent);
  });

  it('waits for the note whether the outcome of an equal request arrived', async () => {
    const unnamed = { ...pay, documentNr: undefined, requestHash: 'h' };
    const done = { state: 'done', settledBy: 'answer', settledAt: 900, standing: 'Done', document: 'closed' };
    const earlier = { ...blank(pay, 'earlier'), documentNr: null, requestHash: 'h', ...done } as unknown as Op;
    load = () => {
      const { case: c, looked } = loaded();
      const value = contentName('d', 'h');
      const names = { [`m ${value}`]: { merchantId: 'm', value, version: 1, attempts: 1, ops: ['earlier'] } };
      return { looked, case: { ...c, names, ops: { earlier }, waitedFor: new Set(['earlier']), sales: new Set(['earlier']) } };
    };
    await run(unnamed);
    expect(happened[1]).toBe('meet delivery');
  });
});

/** A payment that has just begun, as its unit was decided. */
function blank(event: Of<'Pay'>, id: string): object {
  const { next } = decide(assumed().case, { ...event, newId: id });
  return { ...next?.ops[id], version: 1, sequence: 1 };
}

describe('the memory', () => {
  let presence: Presence;
  let memory: ReturnType<typeof createMemory>;
  const report = { operationId: '7', rrn: '8', amount: 1 };
  const done: Event = { type: 'Report', id: 'o', outcome: 'done', source: 'answer', report, journalId: 'j' };
  const closeDoc: Of<'CloseDoc'> = { type: 'CloseDoc', merchantId: 'm', deviceId: 'd', newId: 'c', documentNr: 'n', operationId: '7' };

  function take(known: Known | undefined, event: Event): Unit {
    if (!known) throw new Error(`Nothing is remembered for ${event.type}.`);
    const decided = decide(known.case, event);
    if (!decided.next) throw new Error(`${event.type} changes nothing.`);
    const unit = unitOf(known.case, decided);
    memory.remember(known, decided.next, unit, committed(unit) as Exclude<CommitResult, string>);
    return unit;
  }
  const guardsOf = ({ writes }: Unit) => Object.fromEntries(writes.map(({ table, guard }) => [table, guard]));

  beforeEach(() => {
    presence = online;
    memory = createMemory(() => presence);
  });

  it('has the rows as the commit left them: each later unit is guarded by their versions, and by the lock of the device', () => {
    take(assumed(), pay);
    const ended = take(memory.recall(done), done);
    expect(guardsOf(ended)).toMatchObject({ commands: 1, device_locks: { command_id: 'o', document_id: null } });
    expect(memory.recall({ type: 'Accepted', id: 'o' })?.case.ops['o']).toMatchObject({ version: 2, state: 'done' });
    const closing = take(memory.recall(closeDoc), closeDoc);
    expect(guardsOf(closing)).toMatchObject({ device_locks: { command_id: null, document_id: 'o' } });
  });

  it('knows what is connected now', () => {
    take(assumed(), pay);
    take(memory.recall(done), done);
    presence = { ...online, isOnline: false };
    const known = memory.recall(closeDoc);
    expect(known && decide(known.case, closeDoc).answer?.code).toBe('Device_Offline');
  });

  it('has only the document that locks the device, under its own numbers', () => {
    take(assumed(), pay);
    take(memory.recall(done), done);
    expect(memory.recall(closeDoc)).toBeDefined();
    for (const other of [{ operationId: '8' }, { documentNr: 'other' }, { merchantId: 'another' }, { paymentId: 'o' }])
      expect(memory.recall({ ...closeDoc, ...other })).toBeUndefined();
  });

  it('forgets a device after a conflict', () => {
    take(assumed(), pay);
    memory.forget(done);
    expect(memory.recall(done)).toBeUndefined();
  });
});
