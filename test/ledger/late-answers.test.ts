// A device that repeats old answers without end costs the database a bounded number of questions, and the others nothing.
import { expect, it } from 'vitest';
import type { Command } from '../../src/ledger/command.ts';
import type { Finding } from '../../src/ledger/rules.ts';
import { createLateAnswers } from '../../src/ledger/settling/late-answers.ts';
import type { Outcome } from '../../src/link/protocol.ts';
import { createLateAnswers as createOnNewCore } from '../../src/money/late-answers.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger, recordingLogger } from '../support/quiet-logger.ts';
import { until } from '../support/until.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

it('looks for twenty late answers of one device at once and for a hundred more in turn, and for another device’s all the same', async () => {
  let looks = 0;
  const waiting: (() => void)[] = [];
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const { queries } = await memoryDatabase(clock);
  const held = queries.withPlugin({
    transformQuery({ node }) {
      looks += 1;
      return node;
    },
    // What was found is held back.
    transformResult: ({ result }) => new Promise((resolve) => waiting.push(() => resolve(result))),
  });
  const release = async (count: number) => {
    for (let done = 0; done < count; done += 1) {
      await clock.settle();
      waiting.shift()?.();
    }
    await clock.settle();
  };
  const logger = recordingLogger();
  const unmatched = { async keepAnswer() {} };
  const lateAnswers = createLateAnswers({ clock, logger, database: { queries: held }, settlements: {} as never, unmatched });
  const say = (device: string, times: number) => {
    const before = looks;
    const report = { rrn: '631614008813', operationId: '000147', amount: 10.5 };
    const answer = { v: 1, id: 'x', device, clock: '', outcome: 'done', report } as const;
    const answers = Array.from({ length: times }, () => lateAnswers.settle(device, answer));
    all.push(...answers);
    return looks - before;
  };
  const all: Promise<void>[] = [];
  expect([say('noisy', 1_000), say('quiet', 1)]).toEqual([20, 1]);
  // The others are logged with their numbers, at most twenty a minute.
  expect(logger.lines).toHaveLength(20);
  expect(logger.lines[0]).toMatchObject({
    level: 'error',
    fields: { deviceId: 'noisy', commandId: 'x', outcome: 'done', rrn: '631614008813', operationId: '000147', amountBani: 1_050 },
  });
  // The next in turn takes a place that becomes free, and another one may wait.
  await release(5);
  expect(looks).toBe(26);
  say('noisy', 5);
  expect(logger.lines).toHaveLength(20);
  await release(1 + 20 + 100);
  await Promise.all(all);
  expect(looks).toBe(126);
  expect(say('noisy', 30)).toBe(20);
  await release(30);
  await Promise.all(all);
  expect(logger.lines).toHaveLength(20);
});

it('a late answer settles or is noted as accepted, unless that is known; about another device’s command it is kept apart', async () => {
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
  const unmatched = { keepAnswer: async (kept: object) => void said.push(kept) };
  const lateAnswers = createLateAnswers({
    clock: createVirtualClock(),
    logger: quietLogger,
    database,
    settlements: settlements as never,
    unmatched,
  });
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
    { id, deviceId: 'another', outcome: 'refused', report: undefined },
    { id: 'nobody’s', deviceId: device, outcome: 'done', report: undefined },
  ]);
});

it.each(['old', 'new'])('keeps no more than twenty reports without a record at once, on the %s core', async (core) => {
  const clock = createVirtualClock();
  const waiting: (() => void)[] = [];
  let kept = 0;
  const unmatched = {
    async keepAnswer() {
      kept += 1;
      await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
  const deps = { clock, logger: recordingLogger(), database: await memoryDatabase(clock), unmatched };
  const unused = {} as never;
  const take =
    core === 'old'
      ? createLateAnswers({ ...deps, settlements: unused }).settle
      : createOnNewCore({ ...deps, run: unused, notes: unused }).take;
  const answers = Array.from({ length: 50 }, (_, at) =>
    take('device', { v: 1, id: `unknown ${at}`, device: 'device', clock: '', outcome: 'done' }),
  );
  await until(() => kept >= 20);
  await clock.settle();
  expect(kept).toBe(20);
  for (let done = 0; done < 50; done += 1) {
    await until(() => waiting.length > 0);
    waiting.shift()?.();
  }
  await Promise.all(answers);
  expect(kept).toBe(50);
});
