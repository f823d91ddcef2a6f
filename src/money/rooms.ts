// The new core in the place of the four old rooms: what the wiring, the simulation and the tests use of them. It goes with the old rooms.
import type { Cards } from '../cards/cards.ts';
import type { Fiscal } from '../fiscal/fiscal.ts';
import type { Invoices, InvoicesOptions } from '../invoices/invoices.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { createDeviceCalls } from './device-calls.ts';
import { createMoneyCore, type MoneyDeps } from './money.ts';
import { createQr } from './qr.ts';

export interface MoneyRooms {
  ledger: Ledger;
  cards: Cards;
  fiscal: Fiscal;
  invoices: Invoices;
}

export function createMoneyRooms(deps: MoneyDeps & Pick<InvoicesOptions, 'timeZone'>): MoneyRooms {
  const core = createMoneyCore(deps);
  const { cards, fiscal, status } = createDeviceCalls({ ...deps, calls: core.calls, reading: deps });
  const { closeDocumentByHand, ...steps } = core.steps;
  const ledger = { status, start: core.start, stop: core.stop, ...steps };
  const invoices = createQr({ ...deps, ...core }) as unknown as Invoices;
  return { ledger: ledger as unknown as Ledger, cards: { ...cards, closeDocumentByHand }, fiscal, invoices };
}
