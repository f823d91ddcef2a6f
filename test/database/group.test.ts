// What a group promises to the callers that commit through it, on a commit that the test ends by hand.
import { describe, expect, it } from 'vitest';
import { ConstraintViolation, DatabaseBusy, databaseDown, LostToAnother } from '../../src/database/errors.ts';
import { createGroup, type GroupOptions } from '../../src/database/group.ts';

interface Row {
  id: string;
  names: string[];
}

/** Each call of `together` and `alone` waits until the test ends it. */
function setUp(limits: Partial<GroupOptions<Row, string>> = {}) {
  const batches: { ids: string[]; succeed(): Promise<void>; fail(error: Error): Promise<void> }[] = [];
  const alone: { id: string; succeed(): Promise<void>; fail(error: Error): Promise<void> }[] = [];
  const told: string[] = [];
  const turns = async () => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  };
  const pending = <Value>(value: Value) => {
    const { promise, resolve, reject } = Promise.withResolvers<Value>();
    const succeed = () => (resolve(value), turns());
    const fail = (error: Error) => (reject(error), turns());
    return { promise, succeed, fail };
  };
  const group = createGroup<Row, string>({
    ...limits,
    namesOf: ({ names }) => names,
    together(rows) {
      const { promise, ...ends } = pending(rows.map(({ id }) => `${id} done`));
      batches.push({ ids: rows.map(({ id }) => id), ...ends });
      return promise;
    },
    alone({ id }) {
      const { promise, ...ends } = pending(`${id} done alone`);
      alone.push({ id, ...ends });
      return promise;
    },
  });
  const add = (id: string, ...names: string[]) =>
    void group.add({ id, names: [id, ...names] }).then(
      (outcome) => told.push(outcome),
      (error: Error) => told.push(`${id} ${error.message}`),
    );
  return { group, batches, alone, told, add };
}

const ids = (batches: { ids: string[] }[]) => batches.map((batch) => batch.ids);

describe('a group', () => {
  it('commits a single row at once, and rows that came meanwhile together, in one fixed order', async () => {
    const { group, batches, add, told } = setUp({ inFlight: 1 });
    add('one');
    expect(ids(batches)).toEqual([['one']]);
    for (const id of ['delta', 'alpha', 'charlie', 'bravo']) add(id);
    expect(group.waiting).toBe(4);
    await batches[0]?.succeed();
    expect(ids(batches)).toEqual([['one'], ['alpha', 'bravo', 'charlie', 'delta']]);
    expect(told).toEqual(['one done']);
    await batches[1]?.succeed();
    expect(told.slice(1)).toEqual(['alpha done', 'bravo done', 'charlie done', 'delta done']);
    expect(group.waiting).toBe(0);
  });

  it('batches rows of the same moment, also after a commit, and schedules one batch at a time', async () => {
    const moments: (() => void)[] = [];
    const { batches, add } = setUp({ inFlight: 2, soon: (begin) => moments.push(begin) });
    for (const id of ['bravo', 'alpha']) add(id);
    expect([batches.length, moments.length]).toEqual([0, 1]);
    moments.shift()?.();
    expect(ids(batches)).toEqual([['alpha', 'bravo']]);
    add('delta');
    await batches[0]?.succeed();
    add('charlie');
    expect(moments.length).toBe(1);
    moments.shift()?.();
    expect(ids(batches)).toEqual([
      ['alpha', 'bravo'],
      ['charlie', 'delta'],
    ]);
    await batches[1]?.succeed();
    expect(moments).toEqual([]);
  });

  it('respects its bounds: commits in progress, rows in each, and above the queue’s bound each row alone', async () => {
    const { batches, alone, add, told } = setUp({ maxRows: 2, inFlight: 2, maxWaiting: 3 });
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) add(id);
    expect(ids(batches)).toEqual([['a'], ['b']]);
    expect(alone.map(({ id }) => id)).toEqual(['f']);
    await batches[1]?.succeed();
    expect(ids(batches).slice(2)).toEqual([['c', 'd']]);
    await alone[0]?.succeed();
    expect(told).toEqual(['b done', 'f done alone']);
  });

  it('limits the characters of a commit, and commits a larger row alone', async () => {
    const { batches, add } = setUp({ inFlight: 1, maxCharacters: 10, sizeOf: ({ id }) => Number(id.slice(1)) });
    for (const id of ['a0', 'b4', 'c6', 'd1', 'e99', 'f1', 'g9', 'h0']) add(id);
    for (let at = 0; at < batches.length; at += 1) await batches[at]?.succeed();
    expect(ids(batches)).toEqual([['a0'], ['b4', 'c6'], ['d1'], ['e99'], ['f1', 'g9', 'h0']]);
  });

  it('never has two rows in progress that share a key, and keeps their order', async () => {
    const { group, batches, add, told } = setUp({ inFlight: 2 });
    add('first', 'terminal 1', 'document 1');
    add('second', 'terminal 1', 'document 2');
    add('third', 'terminal 2', 'document 1');
    add('fourth', 'terminal 1', 'document 3');
    add('free', 'terminal 3');
    expect(ids(batches)).toEqual([['first'], ['free']]);
    await batches[0]?.succeed();
    // The second and the third share nothing with each other.
    expect(ids(batches).slice(2)).toEqual([['second', 'third']]);
    await batches[2]?.succeed();
    expect(ids(batches).slice(3)).toEqual([['fourth']]);
    await batches[3]?.succeed();
    await batches[1]?.succeed();
    expect(told).toEqual(['first done', 'second done', 'third done', 'fourth done', 'free done']);
    expect(group.waiting).toBe(0);
  });

  it('does not let a row that waits for two keys block another row from the free one', async () => {
    const { batches, add } = setUp({ inFlight: 3 });
    add('first', 'terminal 1');
    add('second', 'terminal 2');
    add('both', 'terminal 1', 'terminal 2');
    add('third', 'terminal 1');
    await batches[0]?.succeed();
    expect(ids(batches)).toEqual([['first'], ['second'], ['third']]);
    await batches[1]?.succeed();
    await batches[2]?.succeed();
    expect(ids(batches)).toEqual([['first'], ['second'], ['third'], ['both']]);
  });

  it.each([
    ['a bad row', new ConstraintViolation('check', 'bad row')],
    ['a lock that does not come free', new DatabaseBusy(new Error('lock'))],
  ])('retries row by row after %s, without delaying another batch', async (_what, error) => {
    const { batches, alone, add, told } = setUp({ inFlight: 1 });
    add('gate');
    for (const id of ['a', 'b', 'c']) add(id);
    await batches[0]?.succeed();
    await batches[1]?.fail(error);
    expect(told).toEqual(['gate done']);
    expect(alone.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    add('next');
    add('after a', 'a');
    expect(ids(batches).slice(2)).toEqual([['next']]);
    await alone[1]?.fail(error);
    await alone[2]?.succeed();
    await alone[0]?.succeed();
    await batches[2]?.succeed();
    expect(told).toEqual(['gate done', `b ${error.message}`, 'c done alone', 'a done alone', 'next done']);
    expect(ids(batches).slice(3)).toEqual([['after a']]);
  });

  it('retries a row that lost against another transaction, alone or above the queue’s bound, a bounded number of times', async () => {
    const lost = () => new LostToAnother('deadlock detected', undefined);
    const { batches, alone, told, add } = setUp({ maxWaiting: 1, inFlight: 1 });
    add('one');
    await batches[0]?.fail(lost());
    await alone[0]?.fail(lost());
    await alone[1]?.succeed();
    expect(told).toEqual(['one done alone']);
    for (const id of ['two', 'waiting', 'over']) add(id);
    await alone[2]?.fail(lost());
    await alone[3]?.succeed();
    expect(told.slice(1)).toEqual(['over done alone']);
    await batches[1]?.fail(new DatabaseBusy(undefined));
    for (const at of [4, 5, 6, 7, 8]) await alone[at]?.fail(lost());
    expect(told.at(-1)).toBe('two The database was too busy with the same rows; try again.');
    expect(alone.map(({ id }) => id)).toEqual(['one', 'one', 'over', 'over', ...Array.from({ length: 5 }, () => 'two')]);
  });

  it('answers all callers that a commit is unclear, and retries nothing', async () => {
    const { batches, alone, add, told } = setUp({ inFlight: 1 });
    add('gate');
    for (const id of ['a', 'b']) add(id);
    await batches[0]?.succeed();
    await batches[1]?.fail(databaseDown('The database cannot be reached.'));
    expect(told.slice(1)).toEqual(['a The database cannot be reached.', 'b The database cannot be reached.']);
    expect(alone).toEqual([]);
    add('later', 'a');
    expect(ids(batches).slice(2)).toEqual([['later']]);
  });
});
