// What card commands add to the ledger, each by itself: who is woken when, what a person's decision reports, and which invoice goes.
import { beforeEach, describe, expect, it } from 'vitest';
import { createCards } from '../../src/cards/cards.ts';
import type { CardsDeps } from '../../src/cards/cards-deps.ts';
import type { Queries } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { CommandKinds } from '../../src/ledger/command-kind.ts';

let kinds: CommandKinds;
let wakes: number;
let cancelled: string[];
let locked: string[];
let invoiceEnd: string | undefined;

beforeEach(() => {
  wakes = 0;
  cancelled = [];
  locked = [];
  invoiceEnd = undefined;
  const deps = {
    ledger: { define: (defined: CommandKinds) => Object.assign((kinds = {}), defined) },
    callbacks: {
      wake: () => {
        wakes += 1;
      },
    },
    invoices: {
      cancelUnpaidInvoice: async (_queries: Queries, documentNr: string) => cancelled.push(documentNr),
      lock: async (_queries: Queries, oid: string) => locked.push(oid),
      endWithout: async () => invoiceEnd,
    },
  };
  createCards(deps as unknown as CardsDeps);
});

const payment = (overrides: Partial<Command>) =>
  ({ id: 'p', merchantId: 'm', amountBani: 1_050, contradiction: null, ...overrides }) as Command;
const nobody = {} as Queries;
const oid = '0b0e5a4e-6f0c-4d0e-9c39-0d5a3ce4b1c2';

it.each(['Pay', 'CancelTransaction'] as const)('%s locks the invoice whose OID is its documentNr, before its own row', async (name) => {
  for (const documentNr of [oid.toUpperCase(), 'sale 7', null]) await kinds[name]?.hold?.(nobody, payment({ documentNr }));
  expect(locked).toEqual([oid]);
});

describe('a payment that ended', () => {
  it.each<[Command['state'], number | null, number]>([
    ['refused', 1, 1],
    ['never', 1, 1],
    ['refused', null, 0],
    ['never', null, 0],
    ['done', 1, 0],
    ['unknown', 1, 0],
  ])('as %s, with the mark of an abort at %s, wakes the callbacks %i times: only then an invoice was cancelled', (state, mark, times) => {
    kinds.Pay?.afterState?.(payment({ state, abortRequestedAtMs: mark }));
    expect(wakes).toBe(times);
  });

  it.each(['refused', 'never'] as const)('as %s cancels the invoice of its documentNr if it was to be aborted', async (state) => {
    const write = kinds.Pay?.onState?.[state];
    await write?.(nobody, payment({ documentNr: 'invoice', abortRequestedAtMs: null }));
    await write?.(nobody, payment({ documentNr: null, abortRequestedAtMs: 1 }));
    expect(cancelled).toEqual([]);
    await write?.(nobody, payment({ documentNr: 'invoice', abortRequestedAtMs: 1 }));
    expect(cancelled).toEqual(['invoice']);
  });

  it('as not executed after a dispute wakes the callbacks: a void of another payment may have cancelled its invoice', () => {
    kinds.Pay?.afterState?.(payment({ state: 'refused', abortRequestedAtMs: null, contradiction: 'It did.' }));
    expect(wakes).toBe(1);
  });

  it('as done while a void of it was done wakes the callbacks: its invoice was cancelled', () => {
    kinds.Pay?.afterState?.(payment({ state: 'done', abortRequestedAtMs: null, documentState: 'voided' }));
    expect(wakes).toBe(1);
  });

  it.each([
    ['has ended without it', 'Cancelled', `The invoice ${oid} stays Cancelled although its card payment was made.`],
    ['has not', undefined, undefined],
  ])('as executed after all, whose invoice %s, leaves that to be said', async (_how, end, sentence) => {
    invoiceEnd = end;
    const marks = { set: () => marks, where: () => marks, returning: () => marks, executeTakeFirst: async () => undefined };
    const queries = { updateTable: () => marks } as unknown as Queries;
    const made = payment({ deviceId: 'd', documentNr: oid.toUpperCase(), documentState: 'open' });
    expect(await kinds.Pay?.onExecuted?.(queries, made)).toBe(sentence);
    expect(await kinds.Pay?.onExecuted?.(queries, { ...made, documentNr: 'sale 7' })).toBeUndefined();
  });

  it('by a person’s decision reports its own amount and that a person decided', () => {
    const found = { rrn: '1', operationId: '2', amount: 99 };
    expect(kinds.Pay?.reportOfDecision?.(payment({}), found)).toEqual({ rrn: '1', operationId: '2', amount: 10.5, source: 'person' });
    expect(kinds.Pay?.reportOfDecision?.(payment({ amountBani: null }), found)).toMatchObject({ amount: 0 });
  });
});

describe('a void', () => {
  it.each<[Command['state'], number]>([
    ['done', 1],
    ['refused', 0],
    ['never', 0],
    ['unknown', 0],
  ])('that ended as %s wakes the callbacks %i times', (state, times) => {
    kinds.CancelTransaction?.afterState?.(payment({ state }));
    expect(wakes).toBe(times);
  });

  it('without a payment voids none', async () => {
    await kinds.CancelTransaction?.onState?.done?.(nobody, payment({ targetId: null }));
    expect(cancelled).toEqual([]);
  });

  it('or CloseDoc or refund without a payment has nothing to undo, and nothing to say', async () => {
    for (const name of ['CancelTransaction', 'CloseDoc', 'Refund'] as const)
      expect(await kinds[name]?.onReversed?.(nobody, payment({ targetId: null }))).toBeUndefined();
  });
});

it('the amount that a terminal reports is compared for each of its operations with an amount; registers’ are not for POS to judge', () => {
  const judged = Object.entries(kinds).flatMap(([name, kind]) => (kind.doubt ? [name] : []));
  expect(judged.toSorted()).toEqual(['CancelTransaction', 'Pay', 'Refund']);
});
