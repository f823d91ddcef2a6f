// The protocol core with work made for the test: what no well-behaved terminal can show.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/link/protocol.ts';
import type { AnswerMessage } from '../../../src/link/wire-schemas.ts';
import { Device } from '../../../src/virtual/client/device.ts';
import type { DeviceWork, Ending } from '../../../src/virtual/client/device-work.ts';
import { openJournal } from '../../../src/virtual/client/journal.ts';
import { createMemoryStore, type RecordStore } from '../../../src/virtual/client/record-store.ts';
import type { Task } from '../../../src/virtual/client/task.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const clock = createVirtualClock(undefined, { settle: 'microtasks' });
const random = seededRandom(5);

async function deviceWith(execute: (task: Task) => Promise<Ending>, store: RecordStore = createMemoryStore()) {
  const sent: AnswerMessage[] = [];
  const work: DeviceWork = {
    kind: 'terminal',
    commands: new Set(['Pay']),
    facts: () => ({ battery: 1, paper: 'OK', signal: 1, firmware: 'test' }),
    judge: () => undefined,
    execute,
    recover: () => Promise.reject(new Error('the bank does not know')),
  };
  const device = new Device({
    deviceId: random.uuid(),
    clock,
    random,
    logger: quietLogger,
    journal: await openJournal({ store, random }),
    work,
    send: (answer) => sent.push(answer) > 0,
    onFailure: () => {},
  });
  function tell(name: string, args: JsonObject = {}, answerInMs = 300_000): string {
    const id = random.uuid();
    const at = (ms: number) => new Date(clock.now() + ms).toISOString();
    device.receive(
      Buffer.from(JSON.stringify({ v: 1, id, name, replyTo: 'g', startBy: at(10_000), answerBy: at(answerInMs), args })),
      'mqtt',
    );
    return id;
  }
  return { device, sent, tell, store };
}

const never = () => new Promise<never>(() => {});
const done: Ending = { outcome: 'done', report: {} };

describe('after a power cut', () => {
  it('what was begun and cannot be determined is unknown, also to Recall', async () => {
    const before = await deviceWith(async (task) => {
      await task.begin();
      return await never();
    });
    const id = before.tell('Pay');
    await clock.advance(100);
    before.device.halt();

    const after = await deviceWith(async () => done, before.store);
    await after.device.recover();
    expect(after.sent).toMatchObject([{ id, outcome: 'unknown' }]);
    const recall = after.tell('Recall', { target: id });
    await clock.advance(1);
    expect(after.sent.at(-1)).toMatchObject({ id: recall, outcome: 'done', report: { state: 'unknown' } });
  });

  it('what was taken and not begun is refused without asking anyone', async () => {
    const before = await deviceWith(never);
    const id = before.tell('Pay');
    await clock.advance(100);
    before.device.halt();
    const after = await deviceWith(async () => done, before.store);
    await after.device.recover();
    expect(after.sent).toMatchObject([{ id, outcome: 'refused' }]);
  });

  it('the old instance writes, sends and begins nothing more', async () => {
    let begins = 0;
    const { device, tell, sent, store } = await deviceWith(async (task) => {
      await task.waitForCustomer((acted) => clock.after(1_000, () => acted('ready')));
      await task.begin();
      begins += 1;
      return done;
    });
    tell('Pay');
    await clock.advance(100);
    device.halt();
    await clock.advance(10_000);
    expect(begins).toBe(0);
    expect(sent.map((answer) => answer.outcome)).toEqual(['accepted']);
    expect((await store.load()).records.at(-1)).toMatchObject({ state: 'taken' });
  });
});

describe('the point of no return', () => {
  it('is not passed after answerBy', async () => {
    const begun: boolean[] = [];
    const { tell } = await deviceWith(async (task) => {
      await task.sleep(2_000);
      begun.push(await task.begin());
      return { outcome: 'refused' };
    });
    tell('Pay', {}, 1_000);
    await clock.advance(5_000);
    expect(begun).toEqual([false]);
  });

  it('is not passed after an Abort, even one between card and bank', async () => {
    const begun: boolean[] = [];
    const { tell, sent, store } = await deviceWith(async (task) => {
      await task.sleep(2_000);
      begun.push(await task.begin());
      return { outcome: 'refused' };
    });
    const target = tell('Pay');
    await clock.advance(1_000);
    const abort = tell('Abort', { target });
    await clock.advance(5_000);
    expect(begun).toEqual([false]);
    expect(sent.find((answer) => answer.id === abort)?.outcome).toBe('done');
    expect((await store.load()).records.some((record) => record.state === 'begun')).toBe(false);
  });

  it('work that breaks off after it ends unknown, before it refused', async () => {
    const late = await deviceWith(async (task) => {
      await task.begin();
      throw new Error('broken');
    });
    late.tell('Pay');
    const early = await deviceWith(() => Promise.reject(new Error('broken')));
    early.tell('Pay');
    await clock.advance(100);
    expect(late.sent.at(-1)?.outcome).toBe('unknown');
    expect(early.sent.at(-1)?.outcome).toBe('refused');
  });
});

it('a late command is expired even while another runs', async () => {
  const { tell, sent, device } = await deviceWith(never);
  tell('Pay');
  await clock.advance(100);
  const id = random.uuid();
  const past = new Date(clock.now() - 1).toISOString();
  device.receive(Buffer.from(JSON.stringify({ v: 1, id, name: 'Pay', replyTo: 'g', startBy: past, answerBy: past, args: {} })), 'queue');
  await clock.advance(1);
  expect(sent.at(-1)).toMatchObject({ id, outcome: 'expired' });
});
