// A person in front of the device, and what somebody armed for its next command: both come the way that magic amounts come.
import { describe, expect, it } from 'vitest';
import { benchOfOne } from '../bench-of-one.ts';

type Bench = Awaited<ReturnType<typeof benchOfOne>>;

async function payByHand(overrides: Parameters<typeof benchOfOne>[0] = {}): Promise<Bench & { id: string }> {
  const bench = await benchOfOne(overrides);
  bench.device.customer.setByHand(true);
  return { ...bench, id: await bench.ask('Pay', { amount: 30, currency: 'MDL' }, 10_000) };
}

describe('by hand', () => {
  it('waits for the card, then for the PIN, and pays', async () => {
    const { device, clock, outcomesOf, id } = await payByHand();
    expect([device.customer.waitsFor(), device.screen.display()]).toMatchObject(['card', { state: 'presentCard', amountBani: 3_000 }]);
    expect(outcomesOf(id)).toEqual(['accepted']);
    expect(device.customer.act('pin')).toBe(false);
    expect(device.customer.act('presentCard')).toBe(true);
    expect(device.customer.act('presentCard')).toBe(false);
    expect([device.customer.waitsFor(), device.screen.display().state]).toEqual(['pin', 'enterPin']);
    expect(device.customer.act('pin')).toBe(true);
    await clock.advance(1_000);
    expect(outcomesOf(id)).toEqual(['accepted', 'done']);
    expect(device.screen.display()).toMatchObject({ state: 'approved', authCode: expect.any(String), maskedCard: expect.any(String) });
    expect([device.customer.waitsFor(), device.customer.act('cancel'), device.bank.netBani()]).toEqual([undefined, false, 3_000]);
  });

  it.each([
    ['wrongPin', 'declined', 'Wrong PIN, three times.', true],
    ['decline', 'declined', 'The bank declined the card.', true],
    ['cancel', 'refused', 'The customer pressed Cancel.', true],
    ['cancel', 'refused', 'The customer pressed Cancel.', false],
  ] as const)('%s ends as %s: %s', async (act, state, reason, isCardIn) => {
    const { device, clock, answersTo, id } = await payByHand();
    if (isCardIn) device.customer.act('presentCard');
    expect(device.customer.act(act)).toBe(true);
    await clock.advance(1_000);
    expect(answersTo(id).at(-1)).toMatchObject({ outcome: 'refused', reason });
    expect(device.screen.display()).toMatchObject({ state, text: reason });
    expect(device.bank.netBani()).toBe(0);
  });

  it.each(['card', 'pin'])(
    'no customer acts at the %s: refused after two minutes, well before the gateway stops waiting',
    async (stage) => {
      const { device, clock, answersTo, id } = await payByHand();
      if (stage === 'pin') device.customer.act('presentCard');
      await clock.advance(109_000);
      expect(answersTo(id)).toHaveLength(1);
      await clock.advance(12_000);
      expect(answersTo(id).at(-1)).toMatchObject({ outcome: 'refused', reason: 'No card came in time.' });
      expect([device.customer.waitsFor(), device.customer.act('presentCard')]).toEqual([undefined, false]);
    },
  );

  it('an abort and a power cut leave no customer waiting', async () => {
    const aborted = await payByHand();
    await aborted.ask('Abort', { target: aborted.id });
    expect(aborted.answersTo(aborted.id).at(-1)).toMatchObject({ outcome: 'refused' });
    expect(aborted.device.customer.waitsFor()).toBeUndefined();
    const cut = await payByHand();
    void cut.device.crash();
    expect(cut.device.customer.waitsFor()).toBeUndefined();
    await cut.clock.advance(300_000);
    expect(cut.answersTo(cut.id).map(({ outcome }) => outcome)).toEqual(['accepted', 'refused']);
  });

  it('switched back, the waiting customer pays', async () => {
    const { device, clock, outcomesOf, id } = await payByHand();
    device.customer.setByHand(false);
    await clock.advance(1_000);
    expect(outcomesOf(id)).toEqual(['accepted', 'done']);
  });

  it('a register waits for its customer too, and does not wait where no card pays', async () => {
    const bench = await benchOfOne({ kind: 'register' });
    bench.device.customer.setByHand(true);
    const receipt = { Uid: 'u', Items: [{ Name: 'Bread', Quantity: 1, Price: 5 }] };
    expect(await bench.lastAnswer('PrintReceipt', { receipt: { ...receipt, Payments: [{ PaymentCode: 3 }] } })).toMatchObject({
      outcome: 'done',
    });
    const id = await bench.ask('PrintReceipt', { receipt: { ...receipt, Payments: [{ PaymentCode: 1 }] } });
    bench.device.customer.act('presentCard');
    bench.device.customer.act('wrongPin');
    await bench.clock.advance(1_000);
    expect(bench.answersTo(id).at(-1)).toMatchObject({ outcome: 'refused', reason: 'Wrong PIN, three times.' });
    expect(bench.device.bank.netBani()).toBe(0);
  });
});

describe('armed for the next command', () => {
  it.each([
    [{ loseAnswer: true }, ['accepted'], 2_000],
    [{ answerTwice: true }, ['accepted', 'done', 'done'], 2_000],
    [{ powerCut: 'beforeBank' }, ['accepted', 'refused'], 0],
    [{ powerCut: 'afterBank' }, ['accepted', 'done'], 2_000],
  ] as const)('%o concerns one payment and not the next', async (armed, outcomes, chargedBani) => {
    const { device, ask, outcomesOf } = await benchOfOne();
    device.mishaps.arm(armed);
    // Not what takes no money.
    await ask('CloseDay');
    const id = await ask('Pay', { amount: 20, currency: 'MDL' }, 60_000);
    expect(outcomesOf(id)).toEqual(outcomes);
    expect(device.bank.netBani()).toBe(chargedBani);
    expect(device.mishaps.armed()).toEqual({ loseAnswer: false, answerTwice: false, paperOut: false });
    expect(outcomesOf(await ask('Pay', { amount: 20, currency: 'MDL' }, 60_000))).toEqual(['accepted', 'done']);
  });

  it.each(['terminal', 'register'] as const)('paper of a %s stays out until there is a new roll', async (kind) => {
    const { device, lastAnswer } = await benchOfOne({ kind });
    const receipt = { Items: [{ Name: 'Bread', Quantity: 1, Price: 5 }], Payments: [{ PaymentCode: 0 }] };
    const order = () => (kind === 'terminal' ? lastAnswer('Pay', { amount: 20 }) : lastAnswer('PrintReceipt', { receipt }));
    device.mishaps.arm({ paperOut: true });
    const isOut = { outcome: 'refused', reason: expect.stringContaining('out of paper') };
    expect([await order(), await order()]).toMatchObject([isOut, isOut]);
    expect([device.screen.display().state, (await lastAnswer('Status')).report]).toMatchObject(['outOfPaper', { paper: 'OUT' }]);
    device.newRoll();
    expect([device.screen.display().state, (await lastAnswer('Status')).report]).toMatchObject(['idle', { paper: 'OK' }]);
    expect(await order()).toMatchObject({ outcome: 'done' });
  });
});

describe('switched off', () => {
  it('it answers nothing and stays off until it is switched on, also when its power was cut before', async () => {
    const { device, clock, ask, outcomesOf } = await benchOfOne();
    void device.crash();
    await device.setPower(false);
    await clock.advance(60_000);
    expect([device.isOn(), outcomesOf(await ask('Pay', { amount: 20 }))]).toEqual([false, []]);
    await expect(device.perform({ id: '22222222-2222-4222-8222-222222222222', name: 'Pay', args: { amount: 1 } })).rejects.toThrow('off');
    await device.setPower(true);
    expect([device.isOn(), outcomesOf(await ask('Pay', { amount: 20 }))]).toEqual([true, ['accepted', 'done']]);
  });
});

describe('who watches the wire', () => {
  it('sees each command, and of each answer whether it was carried, lost or duplicated', async () => {
    const seen: string[] = [];
    const bench = await benchOfOne({
      watch: {
        toDevice: (channel, bytes) => seen.push(`${channel} > ${(JSON.parse(Buffer.from(bytes).toString()) as { name: string }).name}`),
        toGateway: (channel, answer, fate) => seen.push(`${channel} < ${answer.outcome} ${fate}`),
        channelChanged: (channel) => seen.push(`${channel} changed`),
      },
    });
    await bench.ask('Pay', { amount: 20.66 });
    await bench.ask('Pay', { amount: 20.67 });
    bench.mqtt.cut();
    expect(seen).toEqual([
      ...['mqtt changed', 'queue changed'],
      ...['mqtt > Pay', 'mqtt < accepted carried', 'mqtt < done lost'],
      ...['mqtt > Pay', 'mqtt < accepted carried', 'mqtt < done doubled'],
      'mqtt changed',
    ]);
  });
});
