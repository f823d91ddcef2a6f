// Waking: this process at once, the other instances of a PostgreSQL soon after, no listener twice.
import { describe, expect, it } from 'vitest';
import { createLocalWake } from '../../src/database/local-wake.ts';
import { engines, openTestDatabase } from '../support/engines.ts';
import { recordingLogger } from '../support/quiet-logger.ts';

describe.each(engines)('wake on %s', (engine) => {
  it('reaches the listeners of this process before it returns, until they cancel', async () => {
    const database = await openTestDatabase(engine);
    const heard: string[] = [];
    const cancel = database.onWake('callbacks', (detail) => heard.push(detail));
    database.onWake('other', () => heard.push('wrong topic'));
    database.wake('callbacks', 'c1');
    database.wake('callbacks');
    expect(heard).toEqual(['c1', '']);
    cancel();
    database.wake('callbacks', 'c2');
    expect(heard).toEqual(['c1', '']);
    await database.close();
  });
});

it('lets a listener that throws harm no other listener', () => {
  const logger = recordingLogger();
  const local = createLocalWake(logger);
  const heard: string[] = [];
  local.onWake('t', () => {
    throw new Error('bad listener');
  });
  local.onWake('t', (detail) => heard.push(detail));
  local.wake('t', 'd');
  expect(heard).toEqual(['d']);
  expect(logger.lines).toMatchObject([{ level: 'error' }]);
});

describe.each(engines.filter((engine) => engine === 'postgres'))('wake across instances of %s', () => {
  it('brings each of many that come at once, once and in order', async () => {
    const first = await openTestDatabase('postgres');
    const second = await first.another();
    const sent = Array.from({ length: 300 }, (_, at) => `${at}`);
    const heard: string[] = [];
    const all = new Promise<void>((resolve) => {
      second.onWake('t', (detail) => (detail === 'end' ? resolve() : heard.push(detail)));
    });
    for (const detail of [...sent, 'end']) first.wake('t', detail);
    await all;
    expect(heard).toEqual(sent);
    await second.close();
    await first.close();
  });

  it('omits hints while it is alone, but no wake-ups', async () => {
    const first = await openTestDatabase('postgres');
    const second = await first.another();
    const [here, there]: [string[], string[]] = [[], []];
    first.onWake('t', (detail) => here.push(detail));
    const end = new Promise<void>((resolve) => {
      second.onWake('t', (detail) => (detail === 'end' ? resolve() : there.push(detail)));
    });
    first.hint('t', 'before it knows');
    first.setAlone(true);
    first.hint('t', 'alone');
    first.wake('t', 'about access');
    first.setAlone(false);
    first.hint('t', 'not alone');
    first.wake('t', 'end');
    await end;
    expect(here).toEqual(['before it knows', 'alone', 'about access', 'not alone', 'end']);
    expect(there).toEqual(['before it knows', 'about access', 'not alone']);
    await second.close();
    await first.close();
  });

  it('reaches the others, in order, and does not come back as an echo', async () => {
    const first = await openTestDatabase('postgres');
    const second = await first.another();
    const heardByFirst: string[] = [];
    first.onWake('keys', (detail) => heardByFirst.push(detail));
    const heardBySecond = new Promise<string[]>((resolve) => {
      const heard: string[] = [];
      second.onWake('keys', (detail) => {
        heard.push(detail);
        if (heard.length === 3) resolve(heard);
      });
    });
    for (const detail of ['a', 'b', 'c']) first.wake('keys', detail);
    expect(await heardBySecond).toEqual(['a', 'b', 'c']);
    // The way back, after which an echo of the above would have arrived as well.
    const answered = new Promise<void>((resolve) => {
      first.onWake('answer', () => resolve());
    });
    second.wake('answer');
    await answered;
    expect(heardByFirst).toEqual(['a', 'b', 'c']);
    await second.close();
    await first.close();
  });
});
