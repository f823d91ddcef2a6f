// The new core in the place of the four old rooms: what the wiring, the simulation and the tests use of them. It goes with the old rooms.
import type { Cards } from '../cards/cards.ts';
import type { Fiscal } from '../fiscal/fiscal.ts';
import type { Invoices, InvoicesOptions } from '../invoices/invoices.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Id } from './case.ts';
import { createDeviceCalls } from './device-calls.ts';
import { dryCalls } from './dry-run.ts';
import { type Looked, look } from './looks.ts';
import { createMoneyCore, type MoneyDeps } from './money.ts';
import { createQr } from './qr.ts';

export interface MoneyRooms {
  ledger: Ledger;
  cards: Cards;
  fiscal: Fiscal;
  invoices: Invoices;
  /** The old core has none. */
  dryRuns?: DryRuns | undefined;
  /** What its rules allow of the removal after the retention time; the old core has none. */
  removals?: Removals | undefined;
}

/** Steps of people as they would be answered now: each throws the refusal of the real one, and nothing is written, sent or asked. */
export interface DryRuns {
  look(merchantId: Id, oid: Id): Promise<Looked | undefined>;
  cards: Pick<Cards, 'pay' | 'refund' | 'cancelTransaction' | 'closeDoc' | 'closeDocumentByHand'>;
  ledger: Pick<Ledger, 'find' | 'decide'>;
  cancelInvoice: Invoices['cancelInvoice'];
}

type Removals = ReturnType<typeof createMoneyCore>['removals'];

export function createMoneyRooms(deps: MoneyDeps & Pick<InvoicesOptions, 'timeZone'>): MoneyRooms {
  const core = createMoneyCore(deps);
  const { cards, fiscal, status } = createDeviceCalls({ ...deps, calls: core.calls, reading: deps });
  const { closeDocumentByHand, ...steps } = core.steps;
  const ledger = { status, start: core.start, stop: core.stop, ...steps };
  const invoices = createQr({ ...deps, ...core }) as unknown as Invoices;
  return {
    ledger: ledger as unknown as Ledger,
    cards: { ...cards, closeDocumentByHand },
    fiscal,
    invoices,
    dryRuns: createDryRuns(deps, core),
    removals: core.removals,
  };
}

function createDryRuns(deps: Parameters<typeof createMoneyRooms>[0], { dry, ...core }: ReturnType<typeof createMoneyCore>): DryRuns {
  const { cards } = createDeviceCalls({ ...deps, calls: { ...core.calls, ...dryCalls(dry.run) }, reading: deps });
  const { closeDocumentByHand, ...ledger } = dry.steps;
  const { cancelInvoice } = createQr({ ...deps, ...core, run: dry.run });
  return { look: (merchantId, oid) => look(dry.run, merchantId, oid), cards: { ...cards, closeDocumentByHand }, ledger, cancelInvoice };
}
