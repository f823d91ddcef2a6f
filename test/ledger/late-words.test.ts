// A device that repeats old answers without end costs the database a bounded number of questions, and the others nothing.
import { expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { createRecovery } from '../../src/ledger/recovery.ts';
import type { LateAnswerListener, Link } from '../../src/link/link.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

it('asks about twenty late answers of one device at once, and about another device’s all the same', async () => {
  let say: LateAnswerListener = () => {};
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  const where = (_column: string, _is: string, id: string) => ({
    executeTakeFirst: () =>
      new Promise<undefined>((resolve) => {
        asked.push(id);
        waiting.push(() => resolve(undefined));
      }),
  });
  const queries = { selectFrom: () => ({ select: () => ({ where }) }) };
  const link = {
    onLateAnswer(listener: LateAnswerListener) {
      say = listener;
      return () => {};
    },
    onSeen: () => () => {},
  };
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const recovery = createRecovery({
    database: { queries } as unknown as Database,
    link: link as unknown as Link,
    clock,
    logger: quietLogger,
    instanceId: 'i',
    settlements: {} as never,
    timeline: {} as never,
    inFlight: { has: () => false, count: 0 },
  });
  recovery.start();
  const answer = (id: string) => ({ v: 1, id, device: 'd', clock: '', outcome: 'done' }) as const;
  for (let place = 0; place < 1_000; place += 1) say('noisy', answer(`noisy ${place}`), 'mqtt');
  say('quiet', answer('quiet'), 'mqtt');
  expect(asked.filter((id) => id.startsWith('noisy'))).toHaveLength(20);
  expect(asked).toContain('quiet');
  for (const resolve of waiting) resolve();
  await clock.settle();
  say('noisy', answer('noisy again'), 'mqtt');
  expect(asked).toContain('noisy again');
  recovery.stop();
});
