import { describe, expect, it } from 'vitest';
import { namesWhere, operationNamed, operations } from '../../../src/kernel/operations.ts';
import type { JsonObject } from '../../../src/link/protocol.ts';
import type { BankEntryKind } from '../../../src/virtual/books/bank.ts';
import { describeMagic, magicAmounts, magicOf } from '../../../src/virtual/mishaps/magic-amounts.ts';
import { benchOfOne } from '../bench-of-one.ts';

/** What each magic amount must look like from the gateway after ten minutes, and what the bank then holds. */
const expected: Record<number, { outcomes: string[]; chargedBani: number }> = {
  61: { outcomes: ['accepted', 'refused'], chargedBani: 0 },
  62: { outcomes: ['accepted', 'refused'], chargedBani: 0 },
  63: { outcomes: ['accepted', 'refused'], chargedBani: 0 },
  64: { outcomes: ['accepted', 'done'], chargedBani: 2064 },
  65: { outcomes: ['accepted', 'done'], chargedBani: 2065 },
  66: { outcomes: ['accepted'], chargedBani: 2066 },
  67: { outcomes: ['accepted', 'done', 'done'], chargedBani: 2067 },
  68: { outcomes: ['accepted', 'refused'], chargedBani: 0 },
  69: { outcomes: ['accepted', 'done'], chargedBani: 2069 },
  71: { outcomes: ['accepted', 'refused'], chargedBani: 0 },
  72: { outcomes: ['busy'], chargedBani: 0 },
};

const tenMinutesMs = 600_000;

async function paid(bench: Awaited<ReturnType<typeof benchOfOne>>, amount: number): Promise<JsonObject> {
  const answer = await bench.lastAnswer('Pay', { amount, currency: 'MDL', documentNr: 'doc-1' });
  expect(answer.outcome).toBe('done');
  return answer.report ?? {};
}

describe('the virtual terminal', () => {
  it.each(namesWhere(({ device }) => device === 'terminal'))('asks the bank for what %s of the catalogue does', async (name) => {
    const bench = await benchOfOne();
    const before = await paid(bench, 150.5);
    const { args } = operations[name].sample;
    await bench.lastAnswer(name, { ...args, ...('operationId' in args ? before : {}), amount: 150.5 });
    const kinds = bench.device.bank.entries().map(({ kind }) => kind);
    expect(kinds).toEqual(['charge', expectedKind(operationNamed(name))]);
  });
});

function expectedKind({ isPayment, closesDay, effect }: ReturnType<typeof operationNamed>): BankEntryKind {
  if (isPayment) return 'charge';
  if (closesDay) return 'settlement';
  return effect === undefined ? 'approval' : effect === 'close' ? 'document-closed' : effect;
}

describe('magic amounts of a terminal', () => {
  const rows = magicAmounts.filter((row) => row.kind === 'terminal');

  it('are all listed with what they do', () => {
    expect(rows.map((row) => row.ending)).toEqual(Object.keys(expected).map(Number));
    expect(describeMagic('terminal')).toHaveLength(rows.length);
    expect(magicOf('terminal', 100_061)).toBe('declined');
    expect(magicOf('terminal', 6_100)).toBeUndefined();
  });

  it.each(rows)('x.$ending: $meaning', async ({ ending }) => {
    const { ask, outcomesOf, device, lastAnswer } = await benchOfOne();
    const id = await ask('Pay', { amount: 20 + ending / 100, currency: 'MDL' }, tenMinutesMs);
    expect(outcomesOf(id)).toEqual(expected[ending]?.outcomes);
    expect(device.bank.netBani()).toBe(expected[ending]?.chargedBani);
    // Whatever went wrong on the way, the journal tells what the bank knows.
    const recalled = (await lastAnswer('Recall', { target: id })).report as JsonObject;
    expect(recalled.state).toBe('final');
    expect(recalled.outcome === 'done').toBe((expected[ending]?.chargedBani ?? 0) > 0);
  });

  it('x.65 asks the bank before answerBy and answers after it', async () => {
    const { clock, ask, outcomesOf, device } = await benchOfOne();
    const id = await ask('Pay', { amount: 20.65, currency: 'MDL' }, 299_000);
    expect(outcomesOf(id)).toEqual(['accepted']);
    expect(device.bank.netBani()).toBe(2065);
    await clock.advance(10_000);
    expect(outcomesOf(id)).toEqual(['accepted', 'done']);
  });

  it('x.71 shows the paper out in Status until the next payment', async () => {
    const { ask, lastAnswer } = await benchOfOne();
    await ask('Pay', { amount: 20.71, currency: 'MDL' });
    expect((await lastAnswer('Status')).report).toMatchObject({ paper: 'OUT' });
    await ask('Pay', { amount: 20, currency: 'MDL' });
    expect((await lastAnswer('Status')).report).toMatchObject({ paper: 'OK' });
  });

  it('can be switched off', async () => {
    const { ask, outcomesOf } = await benchOfOne({ hasMagic: false });
    expect(outcomesOf(await ask('Pay', { amount: 20.61, currency: 'MDL' }))).toEqual(['accepted', 'done']);
  });
});

describe('the terminal and its bank', () => {
  it('closes a document and refuses one that the bank does not know', async () => {
    const bench = await benchOfOne();
    const { operationId } = await paid(bench, 30);
    expect((await bench.lastAnswer('CloseDoc', { documentNr: 'doc-1', operationId })).outcome).toBe('done');
    expect((await bench.lastAnswer('CloseDoc', { documentNr: 'doc-1', operationId: '999999' })).outcome).toBe('refused');
  });

  it('refunds up to the payment and no further', async () => {
    const bench = await benchOfOne();
    const { operationId, rrn, maskedCard } = await paid(bench, 30);
    const refund = (amount: number) => bench.lastAnswer('Refund', { documentNr: 'doc-1', operationId, rrn, amount, currency: 'MDL' });
    const first = (await refund(10.1)).report;
    expect(first).toMatchObject({ amount: 10.1, rrn: expect.any(String), operationId: expect.any(String), maskedCard });
    expect(first?.rrn).not.toBe(rrn);
    expect((await refund(19.91)).outcome).toBe('refused');
    expect((await refund(19.9)).outcome).toBe('done');
    expect(bench.device.bank.netBani()).toBe(0);
  });

  it('cancels the whole payment once, with its token', async () => {
    const bench = await benchOfOne();
    const { operationId, token } = await paid(bench, 30);
    const cancel = (args: JsonObject) =>
      bench.lastAnswer('CancelTransaction', { documentNr: 'doc-1', operationId, token, amount: 30, ...args });
    expect((await cancel({ token: 'other' })).outcome).toBe('refused');
    expect((await cancel({ amount: 29 })).outcome).toBe('refused');
    expect((await cancel({})).outcome).toBe('done');
    expect((await cancel({})).outcome).toBe('refused');
    expect(bench.device.bank.netBani()).toBe(0);
  });

  it('settles the day: count and amount, then refunds are over and cancelling is not', async () => {
    const bench = await benchOfOne();
    const { operationId, rrn, token } = await paid(bench, 30);
    await paid(bench, 12.3);
    expect((await bench.lastAnswer('CloseDay')).report).toMatchObject({ count: 2, amount: 42.3 });
    expect((await bench.lastAnswer('CloseDay')).report).toMatchObject({ count: 0, amount: 0 });
    expect((await bench.lastAnswer('Refund', { documentNr: 'd', operationId, rrn, amount: 1 })).outcome).toBe('refused');
    expect((await bench.lastAnswer('CancelTransaction', { documentNr: 'd', operationId, token, amount: 30 })).outcome).toBe('done');
  });

  it.each([{ amount: 0 }, { amount: '1.005' }, {}, { amount: 5, currency: 'EUR' }])('refuses %j without asking anyone', async (args) => {
    const { ask, outcomesOf, device } = await benchOfOne();
    expect(outcomesOf(await ask('Pay', args))).toEqual(['refused']);
    expect(device.bank.entries()).toEqual([]);
  });

  it('shows the customer what happens and prints a slip', async () => {
    const bench = await benchOfOne();
    await paid(bench, 30);
    const texts = bench.device.screen.recent().map((event) => (event.type === 'power' ? 'power' : event.text));
    expect(texts).toEqual(['power', '30.00 MDL: present the card', 'Asking the bank', 'Approved', expect.stringContaining('MAIB')]);
  });
});

describe('faults', () => {
  it('duplicates and reordering on the wire do not charge twice', async () => {
    const bench = await benchOfOne({ faults: { duplicateRate: 0.5, reorderRate: 0.5, jitterMs: 200, delayMs: 20 } }, 7);
    for (let count = 0; count < 50; count += 1) await bench.ask('Pay', { amount: 10, currency: 'MDL' }, 3_000);
    const charged = bench.device.bank.charges();
    expect(new Set(charged.map((charge) => charge.entry.reference)).size).toBe(charged.length);
    expect(charged).toHaveLength(50);
    expect(bench.sent.length).toBeGreaterThan(100);
  });

  it('a channel that is switched off is silent, and comes back', async () => {
    const bench = await benchOfOne();
    bench.device.setFaults({ mqtt: false });
    expect(bench.device.isConnected('mqtt')).toBe(false);
    expect(bench.outcomesOf(await bench.ask('Status'))).toEqual([]);
    bench.device.setFaults({ mqtt: true });
    expect(bench.outcomesOf(await bench.ask('Status'))).toEqual(['done']);
  });

  it('a terminal can lose its journal while it runs', async () => {
    const bench = await benchOfOne();
    bench.device.setFaults({ noJournal: true });
    await bench.clock.advance(5_000);
    expect(bench.presences.at(-1)).not.toHaveProperty('journalId');
  });
});

describe('faults that a request selects [D152]', () => {
  const pay = { amount: 20, currency: 'MDL', documentNr: 'A' };

  it('concern the first attempt of its document, each fault once', async () => {
    const { ask, outcomesOf, device } = await benchOfOne();
    device.mishaps.select({ magic: 'declined', document: 'a' });
    expect(outcomesOf(await ask('Pay', { ...pay, documentNr: 'B' }))).toEqual(['accepted', 'done']);
    expect(outcomesOf(await ask('Pay', pay))).toEqual(['accepted', 'refused']);
    device.mishaps.select({ magic: 'declined', document: 'A' });
    expect(outcomesOf(await ask('Pay', pay))).toEqual(['accepted', 'done']);
    device.mishaps.select({ magic: 'busy', document: 'A' });
    expect(outcomesOf(await ask('Pay', pay))).toEqual(['busy']);
  });

  it('go before the amount, and end with the request', async () => {
    const { ask, outcomesOf, device } = await benchOfOne();
    const end = device.mishaps.select({ magic: 'answers-twice', document: undefined });
    expect(outcomesOf(await ask('Pay', { amount: 20.61, currency: 'MDL' }))).toEqual(['accepted', 'done', 'done']);
    end();
    const endUnused = device.mishaps.select({ magic: 'declined', document: undefined });
    endUnused();
    expect(outcomesOf(await ask('Pay', { amount: 20, currency: 'MDL' }))).toEqual(['accepted', 'done']);
  });

  it('concern commands without an amount, too; an amount never does', async () => {
    const { ask, outcomesOf, device } = await benchOfOne();
    device.mishaps.select({ magic: 'lost-answer', document: undefined });
    expect(outcomesOf(await ask('CloseDay', {}))).toEqual(['accepted']);
    expect(outcomesOf(await ask('CloseDay', {}))).toEqual(['accepted', 'done']);
  });
});

it('no amount makes both a terminal and a register fail', () => {
  const endings = magicAmounts.map(({ ending }) => ending);
  expect(new Set(endings).size).toBe(endings.length);
});
