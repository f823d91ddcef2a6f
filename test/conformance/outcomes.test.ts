// What an ERP hears for each thing that a device can say, or not say: the outcome table, late and doubled answers, contradictions, the review list.
// Each test has a device of its own, so they run at once: some of them wait for twenty seconds to pass.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, eventually, reportOf } from '../support/till.ts';
import type { Fields, ForeignDevice, Habits, Heard } from './foreign-device.ts';
import { type ForeignShop, openForeignShop } from './foreign-shop.ts';

let shop: ForeignShop;
beforeAll(async () => {
  shop = await openForeignShop();
});
afterAll(() => shop?.close());

interface Call {
  device: ForeignDevice;
  command: Heard;
  answer: Promise<Answer>;
  again(): Promise<Answer>;
}

/** Cash into a register of its own: the call with the shortest time. */
async function cashIn(habits: Habits = {}): Promise<Call> {
  const device = await shop.live('register', 'queue', habits);
  const key = { 'idempotency-key': randomUUID() };
  const again = () => shop.till.post('/Device/Money/In', { DeviceID: device.deviceId, Amount: 10 }, key);
  const answer = again();
  return { device, answer, again, command: await device.next('MoneyIn') };
}

async function pay(amount: number, habits: Habits = {}): Promise<Call> {
  const device = await shop.live('terminal', 'mqtt', habits);
  const documentNr = randomUUID();
  const again = () => shop.till.post('/Device/payment/Pay', { DeviceID: device.deviceId, amount, documentNr });
  const answer = again();
  return { device, answer, again, command: await device.next('Pay') };
}

const onReview = async ({ message }: Heard) => (await shop.review()).find(({ id }) => id === message['id']);
const stateOf = async ({ message }: Heard) => (await shop.story(message['id']))['command'] as Fields;
const settled = (command: Heard, expected: Fields) =>
  eventually(
    `the command is ${JSON.stringify(expected)}`,
    () => stateOf(command),
    (state) => Object.entries(expected).every(([name, value]) => state[name] === value),
  );
const approval = (amount: number) => ({ rrn: '1', authCode: '2', operationId: 'op-1', amount });

describe.concurrent('the outcome table', () => {
  it('done is 0 with the report', async () => {
    const { device, command, answer } = await cashIn();
    await device.say(command, 'accepted');
    await device.say(command, 'done', { report: { documentNumber: 1, cashInDrawer: 10, more: { kept: [true] } } });
    expect(await answer).toMatchObject({ status: 200, errorCode: 0, errorMessage: '' });
    expect(reportOf(await answer)).toEqual({ documentNumber: 1, cashInDrawer: 10, more: { kept: [true] } });
  });

  it.each(['refused', 'unsupported'])(
    '%s is 50 with the report and the reason, and a repeat under the same key is the same',
    async (outcome) => {
      const { device, command, answer, again } = await cashIn();
      await device.say(command, outcome, { report: { code: 'E7' }, reason: 'The drawer is stuck.' });
      expect(await answer).toMatchObject({
        errorCode: 50,
        report: '{"code":"E7"}',
        errorMessage: expect.stringContaining('The drawer is stuck.'),
      });
      expect(await again()).toEqual(await answer);
      expect(device.count('MoneyIn')).toBe(1);
    },
  );

  it('busy is 31, and the same key may retry', async () => {
    const { device, command, answer, again } = await cashIn();
    await device.say(command, 'busy');
    expect(await answer).toMatchObject({ errorCode: 31 });
    const second = again();
    const next = await device.next('MoneyIn');
    expect(next.message['id']).not.toBe(command.message['id']);
    await device.say(next, 'done', { report: { documentNumber: 2, cashInDrawer: 10 } });
    expect(await second).toMatchObject({ errorCode: 0 });
  });

  it('never is 30', async () => {
    const { device, command, answer } = await cashIn();
    await device.say(command, 'never');
    expect(await answer).toMatchObject({ errorCode: 30 });
    expect(await onReview(command)).toBeUndefined();
  });

  it('expired sends the command once more, under a new id and in the corrected clock, and then is 30', async () => {
    // It said it was an hour behind, and its clock was set right since.
    const device = await shop.register('register');
    const wrong = new Date(Date.now() - 3_600_000).toISOString();
    await device.onQueue(device.presenceText({ clock: wrong }));
    await eventually(
      'the device is live',
      () => shop.till.get('/Device/Device/Status', { DeviceID: device.deviceId }),
      ({ errorCode }) => errorCode === 0,
    );
    await device.line('queue').presence(device.presenceText({ clock: wrong, bootId: randomUUID() }));
    const answer = shop.till.post('/Device/Money/In', { DeviceID: device.deviceId, Amount: 10 });
    const first = await device.next('MoneyIn');
    expect(Date.parse(first.message['startBy'])).toBeLessThan(Date.now() - 3_500_000);
    await device.say(first, 'expired');
    const second = await device.next('MoneyIn');
    expect(second.message['id']).not.toBe(first.message['id']);
    expect(Math.abs(Date.parse(second.message['startBy']) - (second.atMs + 10_000))).toBeLessThan(1_000);
    await device.say(second, 'expired');
    expect(await answer).toMatchObject({ errorCode: 30 });
    expect(device.count('MoneyIn')).toBe(2);
  });

  it('unknown is 3, on the review list, and the device is asked again', async () => {
    const { device, command, answer, again } = await cashIn();
    await device.say(command, 'accepted');
    await device.say(command, 'unknown', { reason: 'The memory does not answer.' });
    expect(await answer).toMatchObject({ errorCode: 3 });
    expect(await onReview(command)).toMatchObject({
      state: 'unknown',
      reviewReason: expect.stringContaining('The memory does not answer.'),
    });
    expect(await shop.till.post('/Device/Money/Out', { DeviceID: device.deviceId, Amount: 1 })).toMatchObject({ errorCode: 31 });
    const recall = await device.next('Recall');
    await device.say(recall, 'done', { report: { state: 'final', outcome: 'done', report: { documentNumber: 9, cashInDrawer: 10 } } });
    await settled(command, { state: 'done', settledBy: 'recall' });
    expect(reportOf(await again())).toEqual({ documentNumber: 9, cashInDrawer: 10 });
    expect(await onReview(command)).toBeUndefined();
  });
});

describe.concurrent('words that cannot be taken as they are', () => {
  it.each(['never', 'busy', 'expired'])('%s after accepted is 3 and for review', async (outcome) => {
    const { device, command, answer } = await cashIn();
    await device.say(command, 'accepted');
    await device.say(command, outcome);
    expect(await answer).toMatchObject({ errorCode: 3 });
    expect(await onReview(command)).toMatchObject({ state: 'unknown' });
    expect(device.count('MoneyIn')).toBe(1);
  });

  it('never from another journal than the command was sent under is 3 and for review', async () => {
    const { device, command, answer } = await cashIn();
    await device.say(command, 'never', { journalId: randomUUID() });
    expect(await answer).toMatchObject({ errorCode: 3 });
    expect(await onReview(command)).toMatchObject({ reviewReason: expect.stringContaining('journal') });
  });

  it('never from a device that keeps no journal is 3 and for review; its busy is accepted', async () => {
    const old = await cashIn({ journalId: null });
    await old.device.say(old.command, 'never');
    expect(await old.answer).toMatchObject({ errorCode: 3 });
    const busy = await cashIn({ journalId: null });
    await busy.device.say(busy.command, 'busy');
    expect(await busy.answer).toMatchObject({ errorCode: 31 });
  });

  it.each([
    ['without rrn', { operationId: 'op', amount: 7.25 }],
    ['without operationId', { rrn: '1', amount: 7.25 }],
    ['of another amount', { rrn: '1', operationId: 'op', amount: 7.26 }],
    ['without an amount', { rrn: '1', operationId: 'op' }],
    ['without a report', undefined],
  ])('done of a Pay %s is 3 and for review', async (_case, report) => {
    const { device, command, answer } = await pay(7.25);
    await device.say(command, 'accepted');
    await device.say(command, 'done', report ? { report } : {});
    expect(await answer).toMatchObject({ errorCode: 3 });
    expect(await onReview(command)).toMatchObject({ name: 'Pay', state: 'unknown' });
  });
});

describe.concurrent('the same word again, and another one', () => {
  it('a duplicated answer changes nothing and needs no person', async () => {
    const { device, command, answer, again } = await pay(5);
    await device.say(command, 'accepted');
    await device.say(command, 'accepted');
    for (let copy = 0; copy < 3; copy += 1) await device.say(command, 'done', { report: approval(5) });
    await device.say(command, 'accepted');
    expect(await answer).toMatchObject({ errorCode: 0 });
    expect(await again()).toEqual(await answer);
    expect(device.count('Pay')).toBe(1);
    expect(await onReview(command)).toBeUndefined();
  });

  it.each([
    ['refused', {}],
    ['never', {}],
    ['done', { report: { ...approval(5), operationId: 'op-2' } }],
  ])('%s after done goes to the review list and is counted; the first outcome stands', async (outcome, more) => {
    const { device, command, answer, again } = await pay(5);
    await device.say(command, 'accepted');
    await device.say(command, 'done', { report: approval(5) });
    await answer;
    await device.say(command, outcome, more);
    await eventually(
      'it is on the review list',
      () => onReview(command),
      (listed) => listed !== undefined,
    );
    expect(await stateOf(command)).toMatchObject({ state: 'done', operationId: 'op-1' });
    expect(await again()).toEqual(await answer);
    expect(await shop.metric(/^tillgate_ledger_contradictions_total (\d+)/m)).toBeGreaterThan(0);
  });

  it('done after refused goes to the review list, and a repeat begins nothing until an operator has resolved it [D143]', async () => {
    const { device, command, answer, again } = await pay(5);
    await device.say(command, 'refused');
    expect(await answer).toMatchObject({ errorCode: 50 });
    await device.say(command, 'done', { report: approval(5) });
    await eventually(
      'it is on the review list',
      () => onReview(command),
      (listed) => listed?.['state'] === 'disputed',
    );
    expect(await again()).toMatchObject({ errorCode: 3, State: 'Disputed' });
    expect(device.count('Pay')).toBe(1);
  });

  it('two calls for one documentNr are one command and one answer', async () => {
    const { device, command, answer, again } = await pay(5);
    await device.say(command, 'accepted');
    const joined = again();
    const other = shop.till.post('/Device/payment/Pay', { DeviceID: device.deviceId, amount: 5 });
    expect(await other).toMatchObject({ errorCode: 31 });
    await device.say(command, 'done', { report: approval(5) });
    expect(await joined).toEqual(await answer);
    expect(device.count('Pay')).toBe(1);
  });
});

describe.concurrent('after the time to answer', { timeout: 60_000 }, () => {
  it('the API says 3, a late answer settles it, and a repeat gets it', async () => {
    const startedAtMs = performance.now();
    const { device, command, answer, again } = await cashIn();
    await device.say(command, 'accepted');
    expect(await answer).toMatchObject({ errorCode: 3 });
    expect(performance.now() - startedAtMs).toBeGreaterThan(19_900);
    expect(performance.now() - startedAtMs).toBeLessThan(23_000);
    await device.say(command, 'done', { report: { documentNumber: 3, cashInDrawer: 10 } });
    await settled(command, { state: 'done', settledBy: 'late-answer' });
    expect(reportOf(await again())).toEqual({ documentNumber: 3, cashInDrawer: 10 });
    expect(device.count('MoneyIn')).toBe(1);
  });

  it('Recall settles it too, while running is waited for and silence is asked again', async () => {
    const { device, command, answer, again } = await cashIn();
    await device.say(command, 'accepted');
    expect(await answer).toMatchObject({ errorCode: 3 });
    const running = await device.next('Recall');
    expect(running.message['args']).toEqual({ target: command.message['id'] });
    await device.say(running, 'done', { report: { state: 'running' } });
    const final = await device.next('Recall');
    await device.say(final, 'done', { report: { state: 'final', outcome: 'refused', reason: 'Later.' } });
    await settled(command, { state: 'refused', settledBy: 'recall' });
    expect(await again()).toMatchObject({ errorCode: 50, errorMessage: expect.stringContaining('Later.') });
  });

  it('a device without a journal is asked for its last transaction: an equal id settles, another one is for review', async () => {
    const [same, other] = await Promise.all([cashIn({ journalId: null }), cashIn({ journalId: null })]);
    await Promise.all([same.device.say(same.command, 'accepted'), other.device.say(other.command, 'accepted')]);
    expect(await same.answer).toMatchObject({ errorCode: 3 });
    expect(await other.answer).toMatchObject({ errorCode: 3 });
    expect(same.device.count('Recall') + other.device.count('Recall')).toBe(0);
    const report = { kind: 'MoneyIn', state: 'approved', documentNumber: 4, cashInDrawer: 10 };
    await same.device.say(await same.device.next('LastTransaction'), 'done', {
      report: { ...report, commandId: same.command.message['id'] },
    });
    await settled(same.command, { state: 'done', settledBy: 'last-transaction' });
    expect(reportOf(await same.again())).toMatchObject({ documentNumber: 4 });
    await other.device.say(await other.device.next('LastTransaction'), 'done', { report: { ...report, commandId: randomUUID() } });
    await eventually(
      'it is on the review list',
      () => onReview(other.command),
      (listed) => listed?.['state'] === 'unknown',
    );
  });
});

it('a receipt that no register may be sent is 40, not an offline register', async () => {
  const device = await shop.live('register', 'queue');
  const items = [{ Name: 'Coffee', Quantity: 1, Price: 1 }];
  const receipt = { Items: items, Payments: [{ PaymentCode: 0 }], Note: 'x'.repeat(1024 * 1024 - 300) };
  const answer = await shop.till.post('/Device/Invoice/Pay', { DeviceID: device.deviceId, Receipt: receipt });
  expect(answer).toMatchObject({ errorCode: 40, errorMessage: expect.stringContaining('Receipt') });
  expect(device.count('PrintReceipt')).toBe(0);
});
