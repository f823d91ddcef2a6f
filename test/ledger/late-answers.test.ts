// A device that repeats old answers without end costs the database a bounded number of questions, and the others nothing.
import { expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { createLateAnswers } from '../../src/ledger/settling/late-answers.ts';

it('looks for twenty late answers of one device at once, and for another device’s all the same', async () => {
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  const where = (_column: string, _is: string, id: string) => ({
    executeTakeFirst: () =>
      new Promise<undefined>((resolve) => {
        asked.push(id);
        waiting.push(() => resolve(undefined));
      }),
  });
  const queries = { selectFrom: () => ({ select: () => ({ where }) }) } as unknown as Database['queries'];
  const lateAnswers = createLateAnswers({ database: { queries }, settlements: {} as never });
  const settle = (device: string, id: string) => lateAnswers.settle(device, { v: 1, id, device, clock: '', outcome: 'done' });
  const all = Array.from({ length: 1_000 }, (_, place) => settle('noisy', `noisy ${place}`));
  all.push(settle('quiet', 'quiet'));
  expect(asked.filter((id) => id.startsWith('noisy'))).toHaveLength(20);
  expect(asked).toContain('quiet');
  for (const resolve of waiting) resolve();
  await Promise.all(all);
  const again = settle('noisy', 'noisy again');
  expect(asked).toContain('noisy again');
  waiting.at(-1)?.();
  await again;
});
