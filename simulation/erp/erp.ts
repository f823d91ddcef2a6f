// The whole ERP: tills at every terminal and register, and tills for invoices, from the morning until the shop closes.
import type { Random } from '../../src/kernel/random.ts';
import type { Shop } from '../shop.ts';
import type { ShopDevice } from '../shop-devices.ts';
import { type Caller, type CallRecord, createCaller } from './caller.ts';
import { sellByCard } from './card-sale.ts';
import { type Counts, createClerk } from './clerk.ts';
import { type InvoiceIntent, sellByInvoice } from './invoice-sale.ts';
import { useRegister } from './register-work.ts';

const rushEveryMs = 8_000;

export interface Erp {
  /** A pause: running sales are finished, and no new ones start until `open`. */
  rest(): void;
  open(): void;
  /** No new sales from now on; running ones are finished. */
  close(): void;
  /** Every till is idle or closed. */
  readonly isIdle: boolean;
  readonly counts: Counts;
  readonly calls: ReadonlyMap<string, CallRecord>;
  readonly byCode: Record<string, number>;
  readonly turnedAway: Caller['turnedAway'];
  readonly invoices: readonly InvoiceIntent[];
  /** One more sale at each device, when all is calm. */
  sellOnceMore(): Promise<void>;
}

export function startErp(shop: Shop, random: Random, maxSales = Number.POSITIVE_INFINITY): Erp {
  const counts: Counts = {
    sales: 0,
    paid: 0,
    printed: 0,
    invoices: 0,
    invoicesPaid: 0,
    refused: 0,
    givenUp: 0,
    left: 0,
    repeated: 0,
    statusAsked: 0,
    underOneKey: 0,
  };
  const invoices: InvoiceIntent[] = [];
  let isClosing = false;
  let working = 0;
  let isResting = false;
  const resting: (() => void)[] = [];
  const caller = createCaller(shop, random);
  const clerk = createClerk(shop, random, caller, counts, () => isClosing);

  const actAt = (target: ShopDevice) => (target.kind === 'terminal' ? sellByCard(clerk, target) : useRegister(clerk, target));

  async function till(act: () => Promise<unknown>): Promise<void> {
    await clerk.pause(clerk.between(1_000, 2 * shop.plan.pauseMs));
    while (!isClosing && counts.sales < maxSales) {
      if (isResting) await rested();
      if (isClosing) return;
      // Sometimes two act at the same moment, to test the locks.
      await (clerk.chance(0.1) ? Promise.all([act(), act()]) : act());
      await clerk.pause(clerk.chance(0.6) ? untilRushMs() : clerk.between(1_000, 2 * shop.plan.pauseMs));
    }
  }

  /** Many tills call at one moment, so that their commands and settlements share commits. */
  const untilRushMs = () => rushEveryMs - (shop.clock.elapsed() % rushEveryMs);

  /** Until the shop opens again, or closes. */
  async function rested(): Promise<void> {
    working -= 1;
    await new Promise<void>((resolve) => resting.push(resolve));
    working += 1;
    await clerk.pause(clerk.between(100, shop.plan.pauseMs));
  }

  function endRest(): void {
    isResting = false;
    for (const go of resting.splice(0)) go();
  }

  function openTill(act: () => Promise<unknown>): void {
    working += 1;
    till(act)
      .catch((error: unknown) => shop.violated(`the ERP failed: ${error instanceof Error ? error.stack : String(error)}`))
      .finally(() => {
        working -= 1;
      });
  }

  for (const target of shop.devices) for (let count = 0; count < target.cashiers; count += 1) openTill(() => actAt(target));
  for (let count = 0; count < shop.plan.invoiceTills; count += 1) openTill(() => sellByInvoice(clerk, invoices));

  return {
    counts,
    calls: caller.calls,
    byCode: caller.byCode,
    turnedAway: caller.turnedAway,
    invoices,
    rest() {
      isResting = true;
    },
    open: endRest,
    close() {
      isClosing = true;
      endRest();
    },
    get isIdle() {
      return working === 0;
    },
    async sellOnceMore() {
      await Promise.all(shop.devices.map((target) => probe(target)));
    },
  };

  /** Nothing is locked for ever: a plain sale succeeds. */
  async function probe(target: ShopDevice): Promise<void> {
    const before = shop.violations.length;
    const call = { merchantId: shop.merchantId, deviceId: target.id, amountBani: 100 };
    const documentNr = random.uuid();
    const answer = await caller.ask(`last sale at ${target.name} ${documentNr}`, (life, via) =>
      target.kind === 'terminal'
        ? life.cards.pay({ ...call, documentNr, ...via })
        : life.fiscal.cashIn({ ...call, hashRequest: () => documentNr, ...via }),
    );
    if (answer.code !== 0 && shop.violations.length === before)
      shop.violated(`${target.name} does not sell any more when all is calm: ${answer.code ?? 'no answer'} to ${documentNr}`);
  }
}
