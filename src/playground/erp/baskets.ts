// The default baskets of the till. No total is a magic amount.
import type { SaleRequest } from '../../cabinet/playground/port.ts';
import { invalidRequest } from '../../kernel/error-codes.ts';
import { type Bani, baniToLei, maxAmountBani, parseAmount } from '../../kernel/money.ts';
import { lineTotal } from '../../kernel/receipt-sums.ts';
import type { SaleItem } from './sale.ts';

export interface Basket {
  items: SaleItem[];
  totalBani: Bani;
}

const shelves: readonly (readonly [name: string, quantity: number, price: number][])[] = [
  [
    ['Pâine de secară', 1, 18.5],
    ['Brânză de vaci', 0.5, 92],
    ['Mere Golden', 1.25, 24],
    ['Lapte 2,5 %', 2, 21],
  ],
  [
    ['Cafea măcinată 250 g', 1, 84.9],
    ['Biscuiți', 3, 16.2],
  ],
  [
    ['Apă minerală 1,5 l', 6, 12.25],
    ['Suc de roșii', 2, 31.4],
    ['Pungă', 1, 2],
  ],
];

/** Each sale uses the next one. */
export function basketAt(count: number): Basket {
  const shelf = shelves[count % shelves.length] ?? [];
  return basketOf(shelf.map(([name, quantity, price]) => ({ name, quantity, price })));
}

export function basketOfRequest({ items, amountBani }: Pick<SaleRequest, 'items' | 'amountBani'>, count: number): Basket {
  if (items !== undefined && amountBani !== undefined) throw invalidRequest('Give items or an amount, not both.');
  if (amountBani !== undefined) return basketOf([{ name: 'Coș', quantity: 1, price: baniToLei(amountBani) }]);
  return items === undefined ? basketAt(count) : basketOf(items);
}

function basketOf(given: NonNullable<SaleRequest['items']>): Basket {
  const items = given.map(({ name, quantity, price }, index): SaleItem => {
    const priceBani = parseAmount(price);
    const totalBani = lineTotal(quantity, Number(price));
    if (priceBani === undefined || totalBani === undefined)
      throw invalidRequest(`items[${index}] must have a price with at most two decimals.`);
    return { name, quantity, priceBani, totalBani };
  });
  const totalBani = items.reduce((sum, item) => sum + item.totalBani, 0);
  if (!(totalBani >= 1 && totalBani <= maxAmountBani)) throw invalidRequest('The sum of items must be an allowed amount.');
  return { items, totalBani };
}
