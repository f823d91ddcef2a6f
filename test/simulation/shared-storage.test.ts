// The simulated database must not be kinder than a real one: what a dead or broken session leaves behind is what a server would keep.
import { describe, expect, it } from 'vitest';
import { createEventClock } from '../../simulation/event-clock.ts';
import { createSharedStorage, type Harm, type Session, type When } from '../../simulation/shared-storage.ts';
import { createStandstill } from '../../simulation/standstill.ts';
import { isDatabaseDown } from '../../src/database/errors.ts';

const insert = 'insert into "t" ("a") values (1)';

async function open() {
  const clock = createEventClock();
  const storage = createSharedStorage(clock);
  const harm: { at?: { place: string; when: When; harm: Harm } } = {};
  function session() {
    const standstill = createStandstill(clock);
    const own: Session = storage.session({
      standstill,
      isDatabaseDown: () => false,
      meet(place, when) {
        if (harm.at?.place !== place || harm.at.when !== when) return undefined;
        if (harm.at.harm === 'crash') own.kill();
        if (harm.at.harm === 'stall') standstill.begin();
        return harm.at.harm;
      },
    });
    return { executor: own.storage.connect(() => 0), standstill, kill: own.kill };
  }
  const one = session();
  const other = session();
  await one.executor.run('create table "t" ("a" integer)', [], 'alone');
  const count = async () => (await other.executor.run('select count(*) as n from "t"', [], 'alone')).rows[0]?.['n'];
  return { clock, storage, harm, one, other, count };
}

/** Whether the work ended, after everything that is due has happened. */
async function endOf(clock: ReturnType<typeof createEventClock>, work: Promise<unknown>): Promise<string> {
  let end = 'never';
  work.then(
    () => (end = 'done'),
    (error: unknown) => (end = isDatabaseDown(error) ? 'database down' : String(error)),
  );
  await clock.advance(1);
  return end;
}

describe('a statement by itself', () => {
  it.each([
    { harm: 'lost', when: 'before', end: 'database down', rows: 0 },
    { harm: 'lost', when: 'after', end: 'database down', rows: 1 },
    { harm: 'crash', when: 'before', end: 'never', rows: 0 },
    { harm: 'crash', when: 'after', end: 'never', rows: 1 },
  ] as const)('$harm $when: $end, $rows rows', async ({ harm, when, end, rows }) => {
    const world = await open();
    world.harm.at = { place: 'insert t', when, harm };
    expect(await endOf(world.clock, world.one.executor.run(insert, [], 'alone'))).toBe(end);
    expect(await world.count()).toBe(rows);
  });
});

describe('a transaction', () => {
  async function begun() {
    const world = await open();
    await world.one.executor.begin();
    await world.one.executor.run(insert, [], 'in-transaction');
    return world;
  }

  it.each([
    { harm: 'lost', when: 'before', end: 'database down', rows: 0 },
    { harm: 'lost', when: 'after', end: 'database down', rows: 1 },
    { harm: 'crash', when: 'before', end: 'never', rows: 0 },
    { harm: 'crash', when: 'after', end: 'never', rows: 1 },
  ] as const)('$harm $when its commit: $end, $rows rows', async ({ harm, when, end, rows }) => {
    const world = await begun();
    world.harm.at = { place: 'commit t', when, harm };
    expect(await endOf(world.clock, world.one.executor.commit())).toBe(end);
    expect(await world.count()).toBe(rows);
  });

  it('has the database for itself: others wait, and see it whole or not at all', async () => {
    const { clock, one, count } = await begun();
    const looking = count();
    expect(await endOf(clock, looking)).toBe('never');
    await one.executor.commit();
    expect(await looking).toBe(1);
  });

  it('dies with its process and lets the others go on', async () => {
    const { one, count } = await begun();
    const looking = count();
    one.kill();
    expect(await looking).toBe(0);
  });

  it('of a process that is frozen is ended by the server after a while, and its commit fails', async () => {
    const { clock, harm, one, count } = await begun();
    harm.at = { place: 'commit t', when: 'before', harm: 'stall' };
    const committing = one.executor.commit();
    const looking = count();
    await clock.advance(6_000);
    expect(await looking).toBe(0);
    delete harm.at;
    one.standstill.end();
    expect(await endOf(clock, committing)).toBe('database down');
  });

  it('that begins while its process is frozen is ended by the server as well, and does not keep the others for ever', async () => {
    const { clock, one, count } = await open();
    one.standstill.begin();
    const beginning = one.executor.begin();
    const looking = count();
    expect(await endOf(clock, looking)).toBe('never');
    await clock.advance(6_000);
    expect(await endOf(clock, looking)).toBe('done');
    one.standstill.end();
    expect(await endOf(clock, beginning)).toBe('done');
    expect(await endOf(clock, one.executor.run(insert, [], 'in-transaction'))).toBe('database down');
  });
});
