// Requests that equal a disputed one [D143, D250]: they may be its repeats, so they run neither beside the dispute nor instead of its outcome.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { operationStatus } from '../../src/ledger/operation-status.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { isNewCore } from '../support/core.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { createSaleWorld } from '../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
let register: Awaited<ReturnType<typeof world.register>>;
beforeEach(async () => {
  world = await createSaleWorld();
  register = await world.register();
  await world.run(world.fiscal.cashIn({ merchantId: world.merchantId, deviceId: register.id, amountBani: 50_000 }));
});
afterEach(() => world.stop());

const cashOut = (key?: string) => {
  const call = { merchantId: world.merchantId, deviceId: register.id, amountBani: 500, hashRequest: () => 'out' };
  return world.fiscal.cashOut(key === undefined ? call : { ...call, idempotency: { key, requestHash: 'out' } });
};
const payouts = () => register.fiscalMemory().documents().length - 1;
const decide = (id: string, state: 'done' | 'refused', closesReview = false) =>
  world.meanwhile(world.ledger.decide(id, { state, reason: 'It is said so.', actor: 'ana', closesReview }));
const isNoRecall = (answer: AnswerMessage) => (answer.report?.['state'] === undefined ? answer : undefined);

const report = (key?: string) => {
  const call = { merchantId: world.merchantId, deviceId: register.id, isFiscal: true, hashRequest: () => 'z' };
  return world.fiscal.createReport(key === undefined ? call : { ...call, idempotency: { key, requestHash: 'z' } });
};

/** Paid out, with the answer lost and the device away; an operator calls it refused, and the device, which is back, was not asked yet. */
async function calledRefused(begin: () => ReturnType<typeof cashOut>): Promise<string> {
  world.onAnswer = () => undefined;
  expect((await world.run(begin())).code).toBe(3);
  world.setAway(register.id, true);
  await world.clock.advance(30 * 60_000);
  const { id } = await world.lastCommand();
  await decide(id, 'refused');
  expect(await world.run(begin())).toMatchObject({ code: 50, oid: id });
  world.onAnswer = isNoRecall;
  world.setAway(register.id, false);
  await world.clock.advance(60_000);
  world.onAnswer = (answer) => answer;
  return id;
}

describe('a payout that was made, and whose caller was answered that it is refused', () => {
  it('is not made again by the same request after the dispute is resolved as executed', async () => {
    const id = await calledRefused(() => cashOut());
    expect(await world.run(cashOut())).toMatchObject({ code: 31, oid: id, state: 'Disputed' });
    await decide(id, 'done', true);
    expect(await world.run(cashOut())).toMatchObject({ code: 0, oid: id, isRepeated: true });
    expect(payouts()).toBe(1);
  });

  it('may be tried again as the answer 31 says: once Operation/Status has answered that it was refused', async () => {
    const id = await calledRefused(() => cashOut());
    const { message } = await world.run(cashOut());
    expect(message).toContain('repeat the request only if the earlier one was refused');
    await decide(id, 'refused', true);
    const asker = createFakeRecipient();
    asker.receive();
    const names = { merchantId: world.merchantId, modules: new Set(['Fiscal'] as const), oid: id };
    expect(await world.run(operationStatus(world.life, { ...names, recipient: asker }))).toMatchObject({ code: 50 });
    await world.clock.advance(10);
    const { oid, code } = await world.run(cashOut());
    expect([code, oid === id]).toEqual([0, false]);
  });

  it('is not made again under another Idempotency-Key: neither while the device is asked nor while it is disputed', async () => {
    const id = await calledRefused(() => cashOut('first'));
    for (let count = 0; count < 2; count += 1)
      expect(await world.run(cashOut('second'))).toMatchObject({ code: 31, oid: id, state: 'Disputed' });
    expect(await world.run(cashOut('first'))).toMatchObject({ code: 3, oid: id });
    expect(payouts()).toBe(1);
    await decide(id, 'refused', true);
    expect((await world.run(cashOut('second'))).code).toBe(0);
    expect(payouts()).toBe(2);
  });
});

it('a Z report under a new Idempotency-Key is made although an earlier one is disputed: it moves no money, and the day must be closed', async () => {
  const id = await calledRefused(() => report('monday'));
  expect(await world.run(report('tuesday'))).toMatchObject({ code: 0, isRepeated: false });
  expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed' });
});

it('a Z report without a key is 31 beside a dispute, also if the caller has received the refusal and that could not be stored', async () => {
  world.hook = ({ sql }) => {
    if (sql.startsWith('update "commands" set "outcome_received_at"')) throw new Error('The disk is full.');
    return undefined;
  };
  const id = await calledRefused(() => report());
  for (let count = 0; count < 2; count += 1) expect(await world.run(report())).toMatchObject({ code: 31, oid: id, state: 'Disputed' });
  expect(payouts()).toBe(1);
});

it('a Z report whose Idempotency-Key has an expired entry that is not swept yet is made beside the dispute, too', async () => {
  await calledRefused(() => report('monday'));
  const expired = { request_hash: 'z', subject_kind: 'command', subject_id: 'long ago', created_at: 1 } as const;
  await world.database.queries
    .insertInto('idempotency_keys')
    .values({ merchant_id: world.merchantId, key: 'tuesday', ...expired })
    .execute();
  expect(await world.run(report('tuesday'))).toMatchObject({ code: 0, isRepeated: false });
});

// The new core leaves it to the repeat of the caller (docs/core-differences.md).
it.skipIf(isNewCore)('a Z report that the register calls expired by a wrong clock is issued again beside a dispute', async () => {
  const id = await calledRefused(() => report('monday'));
  expect((await world.run(report('tuesday'))).code).toBe(0);
  expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed' });
  register.setFaults({ clockSkewMs: 60_000 });
  expect(await world.run(report('wednesday'))).toMatchObject({ code: 0 });
  expect((await world.commands()).slice(-2).map(({ state }) => state)).toEqual(['never', 'done']);
});
