// A device that repeats old answers without end costs the database a bounded number of questions, and the others nothing.
import { expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { Finding } from '../../src/ledger/rules.ts';
import { createLateAnswers } from '../../src/ledger/settling/late-answers.ts';
import type { Outcome } from '../../src/link/protocol.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

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
  // A place that becomes free is one place.
  for (const resolve of waiting.splice(0, 5)) resolve();
  await Promise.all(all.slice(0, 5));
  all.push(...Array.from({ length: 100 }, (_, place) => settle('noisy', `noisy later ${place}`)));
  expect(asked.filter((id) => id.startsWith('noisy later'))).toHaveLength(5);
  for (const resolve of waiting.splice(0)) resolve();
  await Promise.all(all);
  const again = Array.from({ length: 100 }, (_, place) => settle('noisy', `noisy again ${place}`));
  expect(asked.filter((id) => id.startsWith('noisy again'))).toHaveLength(20);
  for (const resolve of waiting) resolve();
  await Promise.all(again);
});

it('a late answer settles or is noted as accepted, unless that is known or it is another device’s', async () => {
  const said: unknown[] = [];
  const settlements = {
    apply: async (command: Command, finding: Finding, by: string) => void said.push([command.id, finding.outcome, by]),
    accepted: (id: string) => said.push([id, 'accepted']),
  };
  const database = await memoryDatabase(createVirtualClock());
  const { queries } = database;
  const { id: merchantId } = await seedMerchant(queries);
  const { id: device } = await seedDevice(queries, merchantId);
  const { id } = await seedCommand(queries, merchantId, device);
  const lateAnswers = createLateAnswers({ database, settlements: settlements as never });
  const say = (outcome: Outcome, by = device) => lateAnswers.settle(by, { v: 1, id, device: by, clock: '', outcome });
  await say('accepted');
  await say('done');
  await queries.updateTable('commands').set({ accepted_at: 1 }).execute();
  await say('accepted');
  await say('refused', 'another');
  await lateAnswers.settle(device, { v: 1, id: 'nobody’s', device, clock: '', outcome: 'done' });
  expect(said).toEqual([
    [id, 'accepted'],
    [id, 'done', 'late-answer'],
  ]);
});
