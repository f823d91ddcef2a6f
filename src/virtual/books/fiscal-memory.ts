// The register's fiscal memory: an append-only list of documents in print order. The drawer, the numbers and the totals of the shift are derived
// from it, so that they agree after a power cut. It does not detect duplicates: a receipt printed twice is two documents, which tests detect.
import { type Bani, baniToLei } from '../../kernel/money.ts';
import type { JsonObject } from '../../link/protocol.ts';
import type { RecordStore } from '../client/record-store.ts';
import type { PaymentKind } from './receipt.ts';

interface DocumentBase {
  /** Counts all documents from 1. */
  documentNumber: number;
  commandId: string;
  atMs: number;
}

export interface VatTotal {
  grossBani: Bani;
  vatBani: Bani;
}

export interface ReceiptDocument extends DocumentBase {
  type: 'receipt';
  receiptId: string;
  fiscalNumber: string;
  uid: string;
  totalBani: Bani;
  changeBani: Bani;
  byVat: Record<string, VatTotal>;
  byPayment: Partial<Record<PaymentKind, Bani>>;
}

export interface CashDocument extends DocumentBase {
  type: 'moneyIn' | 'moneyOut';
  amountBani: Bani;
  drawerAfterBani: Bani;
  reason?: string;
}

export interface ShiftTotals {
  receipts: number;
  totalBani: Bani;
  byVat: Record<string, VatTotal>;
  byPayment: Record<PaymentKind, Bani>;
  moneyInBani: Bani;
  moneyOutBani: Bani;
}

export interface ReportDocument extends DocumentBase {
  type: 'Z' | 'X';
  reportNumber: number;
  totals: ShiftTotals;
  drawerBani: Bani;
}

export type FiscalDocument = ReceiptDocument | CashDocument | ReportDocument;
/** A document before it gets its number. */
export type NewFiscalDocument = FiscalDocument extends infer Each
  ? Each extends FiscalDocument
    ? Omit<Each, 'documentNumber'>
    : never
  : never;

export type FiscalMemory = Awaited<ReturnType<typeof openFiscalMemory>>;

function emptyShift(): ShiftTotals {
  return { receipts: 0, totalBani: 0, byVat: {}, byPayment: { cash: 0, card: 0, other: 0 }, moneyInBani: 0, moneyOutBani: 0 };
}

export async function openFiscalMemory({ store }: { store: RecordStore }) {
  const { records, isDamaged } = await store.load();
  if (isDamaged) throw new Error('The fiscal memory is damaged; the register must not work with it.');
  const documents: FiscalDocument[] = [];
  let drawerBani = 0;
  let shift = emptyShift();
  let shiftOpenedAtMs: number | undefined;
  let receiptCount = 0;
  const reportCount = { Z: 0, X: 0 };
  for (const record of records) post(record as unknown as FiscalDocument);

  function post(document: FiscalDocument): void {
    documents.push(document);
    switch (document.type) {
      case 'receipt':
        postReceipt(document);
        break;
      case 'moneyIn':
        drawerBani += document.amountBani;
        shift.moneyInBani += document.amountBani;
        break;
      case 'moneyOut':
        drawerBani -= document.amountBani;
        shift.moneyOutBani += document.amountBani;
        break;
      case 'X':
      case 'Z':
        reportCount[document.type] += 1;
        break;
    }
    if (document.type === 'Z') {
      shift = emptyShift();
      shiftOpenedAtMs = undefined;
    } else if (document.type !== 'X') {
      shiftOpenedAtMs ??= document.atMs;
    }
  }

  function postReceipt(document: ReceiptDocument): void {
    receiptCount += 1;
    shift.receipts += 1;
    shift.totalBani += document.totalBani;
    drawerBani += document.byPayment.cash ?? 0;
    for (const [letter, { grossBani, vatBani }] of Object.entries(document.byVat)) {
      const total = (shift.byVat[letter] ??= { grossBani: 0, vatBani: 0 });
      total.grossBani += grossBani;
      total.vatBani += vatBani;
    }
    for (const [kind, amountBani] of Object.entries(document.byPayment)) shift.byPayment[kind as PaymentKind] += amountBani;
  }

  return {
    get drawerBani() {
      return drawerBani;
    },
    /** When the first document after the last Z was written. */
    get shiftOpenedAtMs() {
      return shiftOpenedAtMs;
    },
    shift: () => structuredClone(shift),
    nextFiscalNumber: () => String(receiptCount + 1).padStart(8, '0'),
    nextReportNumber: (type: 'Z' | 'X') => reportCount[type] + 1,
    async append(unnumbered: NewFiscalDocument): Promise<FiscalDocument> {
      const document: FiscalDocument = { ...unnumbered, documentNumber: documents.length + 1 };
      post(document);
      await store.append(document as unknown as JsonObject);
      return document;
    },
    find: (commandId: string) => documents.find((document) => document.commandId === commandId),
    last: () => documents.at(-1),
    documents: () => [...documents],
    /** Documents from this time on, found without reading older ones. */
    documentsSince: (atMs: number) => documents.slice(documents.findLastIndex((document) => document.atMs < atMs) + 1),
  };
}

/** Totals as the protocol reports them: lei. */
export function describeTotals(totals: ShiftTotals, drawerBani: Bani): JsonObject {
  return {
    receipts: totals.receipts,
    sales: baniToLei(totals.totalBani),
    cash: baniToLei(totals.byPayment.cash),
    card: baniToLei(totals.byPayment.card),
    refunds: 0,
    cashIn: baniToLei(totals.moneyInBani),
    cashOut: baniToLei(totals.moneyOutBani),
    total: baniToLei(totals.totalBani),
    byVat: Object.fromEntries(
      Object.entries(totals.byVat).map(([letter, total]) => [letter, { gross: baniToLei(total.grossBani), vat: baniToLei(total.vatBani) }]),
    ),
    byPayment: Object.fromEntries(Object.entries(totals.byPayment).map(([kind, amountBani]) => [kind, baniToLei(amountBani)])),
    moneyIn: baniToLei(totals.moneyInBani),
    moneyOut: baniToLei(totals.moneyOutBani),
    cashInDrawer: baniToLei(drawerBani),
  };
}
