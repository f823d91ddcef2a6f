// What an operator reads of a database outage: when it began and why, a line a minute, when it was over and how long it took.
import { expect, it } from 'vitest';
import { DatabaseBusy, databaseDown } from '../../src/database/errors.ts';
import { createOutageLog } from '../../src/database/outage-log.ts';
import { recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const down = databaseDown('The database cannot be reached.', new Error('connect ECONNREFUSED 127.0.0.1:5432'));

function setUp() {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const inner = recordingLogger();
  const outages = createOutageLog({ logger: inner, clock });
  const state = { isAway: false };
  outages.watch(async () => {
    if (state.isAway) throw down;
  });
  const seen = () =>
    inner.lines.filter(({ level }) => level !== 'debug').map(({ level, message, fields }) => ({ level, message, ...fields }));
  return { clock, inner, outages, state, seen };
}

it('is a line at its beginning, one a minute and one at its end; all others are at debug', async () => {
  const { clock, inner, outages, state, seen } = setUp();
  state.isAway = true;
  for (let second = 0; second < 150; second += 1) {
    outages.logger.warn({ err: down }, 'the heartbeat of this instance could not be written');
    outages.logger.warn({ errorCode: 2, route: '/Device/payment/Pay' }, 'request');
    await clock.advance(1_000);
  }
  state.isAway = false;
  await clock.advance(1_000);
  expect(seen()).toEqual([
    {
      level: 'error',
      message: 'the database is down; calls that need it are answered 2 or 3',
      reason: 'The database cannot be reached. connect ECONNREFUSED 127.0.0.1:5432',
    },
    { level: 'warn', message: 'the database is still down', reason: expect.anything(), awayMs: 60_000, linesLeftOut: expect.any(Number) },
    { level: 'warn', message: 'the database is still down', reason: expect.anything(), awayMs: 120_000, linesLeftOut: expect.any(Number) },
    { level: 'info', message: 'the database is back', awayMs: 151_000, linesLeftOut: 299 },
  ]);
  expect(inner.lines.filter(({ level }) => level === 'debug')).toHaveLength(300);
});

it('is not reported when the database can be written: the line is written unchanged, and the next outage is a new one', async () => {
  const { clock, outages, state, seen } = setUp();
  outages.logger.warn({ err: down }, 'an idle database connection was lost');
  await clock.settle();
  expect(seen()).toEqual([{ level: 'warn', message: 'an idle database connection was lost', err: down }]);
  state.isAway = true;
  outages.logger.error({ err: down }, 'a payment could not be settled');
  await clock.advance(0);
  expect(seen().at(-1)).toMatchObject({ level: 'error', message: expect.stringContaining('is down') });
});

it('does not replace lines about a locked row or other errors', async () => {
  const { clock, outages, state, seen } = setUp();
  state.isAway = true;
  outages.logger.warn({ err: new DatabaseBusy(undefined) }, 'locked');
  outages.logger.error({ err: new Error('odd') }, 'odd');
  outages.logger.info({ errorCode: 3 }, 'request');
  await clock.advance(2_000);
  expect(seen().map(({ message }) => message)).toEqual(['locked', 'odd', 'request']);
});

it('ends with the gateway: no line that it is back, and no timer', async () => {
  const { clock, outages, state, seen } = setUp();
  state.isAway = true;
  outages.logger.warn({ err: down }, 'x');
  await clock.advance(1_500);
  outages.stop();
  await clock.settle();
  expect([seen().length, clock.pending]).toEqual([1, 0]);
});
