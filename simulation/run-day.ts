// One simulated shop-day from a seed: trading under faults, then a calm in which everything must settle, then the books are compared.
import { seededRandom } from '../test/support/seeded-random.ts';
import { checkBooks, isSettled } from './books/books.ts';
import { type Erp, startErp } from './erp/erp.ts';
import { createEventClock } from './event-clock.ts';
import { startMishaps } from './mishap-maker.ts';
import { drawPlan, type Plan } from './plan.ts';
import { startReviewer } from './reviewer.ts';
import { openShop, type Shop } from './shop.ts';

export interface DayResult {
  seed: number;
  violations: readonly string[];
  /** Of the first violation. */
  history: string[];
  /** The same for the same seed and the same code. */
  traceHash: string;
  figures: Record<string, number>;
  /** By class: what was interrupted at a statement, and how. */
  hits: Record<string, number>;
  /** By place: how many statements came by. */
  passed: Record<string, number>;
}

export interface DayOptions {
  tradingMs?: number | undefined;
  /** How long everything has to settle; it ends as soon as it has. */
  calmAtMostMs?: number | undefined;
  alterPlan?: ((plan: Plan) => Plan) | undefined;
  maxSales?: number | undefined;
}

const maxCalmMs = 26 * 3_600_000;
const lookEveryMs = 60_000;
/** Longer than any caller waits. */
const lastSaleAtMostMs = 400_000;

export async function runDay(seed: number, options: DayOptions = {}): Promise<DayResult> {
  const { tradingMs, calmAtMostMs = maxCalmMs, alterPlan = (plan: Plan) => plan } = options;
  const plan = alterPlan(drawPlan(seededRandom(seed), tradingMs));
  const clock = createEventClock();
  const shop = await openShop({ clock, seed, plan });
  shop.state.isCalm = false;
  const mishaps = startMishaps(shop, seed);
  const erp = startErp(shop, seededRandom(seed + 4), options.maxSales);
  const reviewer = startReviewer(shop);

  await clock.advance(plan.tradingMs);
  erp.close();
  mishaps.calm();
  await settle(shop, erp, calmAtMostMs);
  await compare(shop, erp);

  const figures = {
    events: clock.fired,
    calmMinutes: Math.round((clock.elapsed() - plan.tradingMs) / 60_000),
    ...shop.fleet.counts,
    decided: reviewer.decided,
    decisionsHeldBack: reviewer.heldBack,
    ...mishaps.counts,
    calls: erp.calls.size,
    ...erp.counts,
    ...prefixed('answer', erp.byCode),
    ...prefixed('erp', shop.receiver.counts),
  };
  const result: DayResult = {
    seed,
    violations: shop.violations,
    history: shop.violations[0] === undefined ? [] : shop.historyOf(shop.violations[0]),
    traceHash: shop.digest(),
    figures,
    hits: Object.fromEntries(shop.interruptions.hits),
    passed: Object.fromEntries(shop.interruptions.passed),
  };
  await shop.close();
  return result;
}

/** Until nothing is open, nothing is pending and no till waits; `atMostMs` at most. */
async function settle(shop: Shop, erp: Erp, atMostMs: number): Promise<void> {
  const { clock, fleet } = shop;
  let isOver = false;
  const look = () => {
    const life = fleet.anyLife();
    if (life && erp.isIdle)
      isSettled(shop, life.database).then(
        (isTrue) => {
          isOver ||= isTrue;
        },
        () => {},
      );
    clock.after(lookEveryMs, look);
  };
  look();
  // A broken day need not be waited for: it may never settle.
  await clock.advance(atMostMs, () => isOver || shop.violations.length > 0);
  if (!erp.isIdle && shop.violations.length === 0) shop.violated('a till still waits for an answer after all the calm');
}

async function compare(shop: Shop, erp: Erp): Promise<void> {
  const life = shop.fleet.anyLife();
  if (!life) return shop.violated('no gateway is left');
  await checkBooks(shop, life.database, erp);
  for (const place of shop.fleet.places) {
    const contradictions = place.life?.ledger.stats().contradictions ?? 0;
    if (contradictions > 0) shop.violated(`${contradictions} answers contradicted the ledger`);
  }
  if (shop.violations.length > 0) return;
  await freeTerminals(shop, life);
  let isSold = false;
  void erp.sellOnceMore().then(() => {
    isSold = true;
  });
  await shop.clock.advance(lastSaleAtMostMs, () => isSold);
}

/** A document that its ERP gave up is closed by an operator [D16]: nothing else may hold a terminal now. */
async function freeTerminals(shop: Shop, life: NonNullable<ReturnType<Shop['fleet']['anyLife']>>): Promise<void> {
  const open = await life.database.queries.selectFrom('commands').select('id').where('document_state', '=', 'open').execute();
  for (const { id } of open) {
    shop.trace(`command ${id} is closed by hand`);
    await life.cards.closeDocumentByHand({ commandId: id, actor: 'operator', reason: 'The till gave it up.' });
  }
}

function prefixed(prefix: string, counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${prefix} ${name}`, count]));
}
