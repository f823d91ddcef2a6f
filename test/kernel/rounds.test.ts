// Rounds: one at a time, again after a failure, and none under way once they have stopped.
import { expect, it } from 'vitest';
import { createRounds } from '../../src/kernel/rounds.ts';
import { recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

function setUp(work: () => Promise<unknown>) {
  const clock = createVirtualClock();
  const logger = recordingLogger();
  return { clock, logger, rounds: createRounds({ clock, logger, periodMs: 1000, work, complaint: 'it did not work' }) };
}

it('come once a period, however often they are started, and not after the stop', async () => {
  let count = 0;
  const { clock, rounds } = setUp(async () => {
    count += 1;
  });
  rounds.start();
  rounds.start();
  await clock.advance(3000);
  expect(count).toBe(3);
  await rounds.stop();
  await clock.advance(3000);
  expect(count).toBe(3);
});

it('continue after a failed one, and log it', async () => {
  let count = 0;
  const { clock, logger, rounds } = setUp(async () => {
    count += 1;
    throw new Error('The database is away.');
  });
  rounds.start();
  await clock.advance(2000);
  expect(count).toBe(2);
  expect(logger.lines.map(({ message }) => message)).toEqual(['it did not work', 'it did not work']);
  await rounds.stop();
});

it('are over only when the one in progress has ended', async () => {
  let end = () => {};
  let isStopped = false;
  const { clock, rounds } = setUp(() => new Promise<void>((resolve) => (end = resolve)));
  rounds.start();
  await clock.advance(1000);
  const stopped = rounds.stop().then(() => (isStopped = true));
  await clock.advance(5000);
  expect(isStopped).toBe(false);
  end();
  await stopped;
});
