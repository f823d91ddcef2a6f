// A sale in the till's ERP, and the ERP's book of sales, filled only from answers and callbacks.
// The book is bounded: when it is full, the till refuses sales until the books are emptied.
import type { SaleView } from '../../cabinet/playground/view-schema.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { type Bani, baniToLei } from '../../kernel/money.ts';

export interface SaleItem {
  name: string;
  quantity: number;
  priceBani: Bani;
  totalBani: Bani;
}

export interface Sale {
  /** documentNr of its payment and Uid of its receipt [D80]. */
  readonly id: string;
  readonly number: string;
  readonly kind: SaleView['kind'];
  readonly items: readonly SaleItem[];
  readonly totalBani: Bani;
  readonly registerId: string;
  state: SaleView['state'];
  /** The terminal of a card sale, or the device that paid an invoice. */
  deviceId?: string;
  /** From answers and callbacks. */
  paidBani: Bani;
  paidAtMs?: number;
  /** By the OID of each refund: a refund that is reported twice counts once. */
  refunds: Map<string, Bani>;
  /** Whether the document of its payment is closed. */
  isClosed: boolean;
  operationId?: string;
  rrn?: string;
  commandId?: string | undefined;
  oid?: string;
  receiptId?: string;
  errorCode?: number;
  message?: string;
}

export type ErpBook = ReturnType<typeof createErpBook>;

const maxSales = 500;

export function createErpBook(now: () => number) {
  let sinceMs = now();
  let sales: Sale[] = [];
  let former: Sale[] = [];
  return {
    get sinceMs() {
      return sinceMs;
    },
    add(sale: Sale): void {
      if (sales.length >= maxSales) {
        throw new GatewayError('The_status_cannot_be_applied', `The till has ${maxSales} sales in its book; empty the books first.`);
      }
      sales.push(sale);
    },
    last: () => sales.at(-1),
    /** Also finds sales from before the book was emptied: an invoice may be paid later. */
    byOid: (oid: string) => [...former, ...sales].findLast((sale) => sale.oid === oid),
    sales: () => sales,
    /** Deletes nothing; only later sales are compared. */
    empty(): void {
      sinceMs = now();
      former = [...former, ...sales].slice(-maxSales);
      sales = [];
    },
  };
}

export function refundedBani(sale: Sale): Bani {
  return [...sale.refunds.values()].reduce((sum, bani) => sum + bani, 0);
}

/** The ids of the sale in the other books. */
export function namesOf(sale: Sale): string[] {
  return sale.oid === undefined ? [sale.id] : [sale.id, sale.oid];
}

export function itemViews(items: readonly SaleItem[]): SaleView['items'] {
  return items.map(({ name, quantity, priceBani, totalBani }) => ({
    name,
    quantity,
    price: baniToLei(priceBani),
    total: baniToLei(totalBani),
  }));
}

export function saleView(sale: Sale): SaleView {
  const { id, kind, state, registerId, deviceId, commandId, oid, receiptId, errorCode, message } = sale;
  const amounts = { total: baniToLei(sale.totalBani), paid: baniToLei(sale.paidBani), refunded: baniToLei(refundedBani(sale)) };
  return { id, kind, state, items: itemViews(sale.items), ...amounts, registerId, deviceId, commandId, oid, receiptId, errorCode, message };
}
