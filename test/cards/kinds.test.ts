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

beforeEach(() => {
  wakes = 0;
  cancelled = [];
  locked = [];
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
    },
  };
  createCards(deps as unknown as CardsDeps);
});

const payment = (overrides: Partial<Command>) => ({ id: 'p', merchantId: 'm', amountBani: 1_050, ...overrides }) as Command;
const nobody = {} as Queries;

it.each(['Pay', 'CancelTransaction'] as const)('%s locks the invoice whose OID is its documentNr, before its own row', async (name) => {
  const oid = '0b0e5a4e-6f0c-4d0e-9c39-0d5a3ce4b1c2';
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
});
