// One simulated shop-day from a seed: 24 hours, in which the shop is open three times under faults and sells 200 times at least; then a
// calm in which everything must settle; then the books are compared. Quiet hours are skipped: all is frozen, as on a machine that
// sleeps, and actions that were due in them happen at their end. They begin only when no till waits: a request that could not be recognised
// hours later [D58] must not be repeated after them.
import { seededRandom } from '../test/support/seeded-random.ts';
import { checkBooks } from './books/books.ts';
import { dueInMs, tellWhatIsOpen } from './books/settled.ts';
import { type Compared, replay } from './compare/replay.ts';
import { type Erp, startErp } from './erp/erp.ts';
import { createEventClock } from './event-clock.ts';
import { startMishaps } from './mishap-maker.ts';
import { drawPlan } from './plan.ts';
import { startReviewer } from './reviewer.ts';
import { openShop, type Shop } from './shop.ts';
import { smallerPlan } from './smaller-plan.ts';
import { leaveUnfrozen } from './unfrozen.ts';

export interface DayResult {
  seed: number;
  violations: readonly string[];
  /** Of the first violation. */
  history: string[];
  /** The same for the same seed and the same code. */
  traceHash: string;
  /** False: it crashed or hung, and nothing else is known about it. */
  hasEnded: boolean;
  figures: Record<string, number>;
  /** By class: the faults at statements. */
  hits: Record<string, number>;
  /** By place: the number of statements. */
  passed: Record<string, number>;
  /** Of the events that it met (exploration/shapes.ts). */
  shapes: readonly string[];
  compared?: Compared;
}

export interface DayOptions {
  /** How long the shop is open at most. */
  tradingMs?: number | undefined;
  /** How long everything has to settle; it ends as soon as it has. */
  calmAtMostMs?: number | undefined;
  /** How the drawn day is reduced (smaller-plan.ts). */
  ways?: readonly string[] | undefined;
  maxSales?: number | undefined;
  /** Its events also go through the new core (compare/replay.ts). */
  isCompared?: boolean | undefined;
  /** Its virtual time has advanced by a minute or more. */
  onMinute?: ((nowMs: number) => void) | undefined;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const maxCalmMs = 26 * hourMs;
const lookEveryMs = 60_000;
/** A calm of this length settles everything: devices are asked every five minutes at least, and people decide where devices do not know. */
const openAtMostMs = hourMs;
/**
 * A till that still waits then has called the operator: if its own payment locks the terminal, a repeat that counts as new would charge
 * twice.
 */
const helpAfterMs = 30 * 60_000;
/** In the calm, between two skips: every sweep runs. */
const betweenLeapsMs = 15_000;
const opensAtHours = [0, 5, 10];
const sales = 200;
/** Until the tills have finished their calls. */
const restAtMostMs = 6 * 60_000;
/** Longer than any caller waits. */
const lastSaleAtMostMs = 400_000;

export async function runDay(seed: number, options: DayOptions = {}): Promise<DayResult> {
  leaveUnfrozen();
  const { tradingMs, calmAtMostMs = maxCalmMs, ways = [] } = options;
  const plan = smallerPlan(drawPlan(seededRandom(seed), tradingMs), ways);
  const clock = createEventClock(options.onMinute);
  const shop = await openShop({ clock, seed, plan, isCompared: options.isCompared === true });
  shop.state.isCalm = false;
  const mishaps = startMishaps(shop, seed);
  const erp = startErp(shop, seededRandom(seed + 4), options.maxSales);
  const reviewer = startReviewer(shop);

  await trade(shop, erp);
  const openMs = clock.awake();
  erp.close();
  mishaps.calm();
  await settle(shop, erp, calmAtMostMs);
  await compare(shop, erp);

  const figures = {
    events: clock.fired,
    hours: Math.round(clock.elapsed() / hourMs),
    openMinutes: Math.round(openMs / 60_000),
    calmMinutes: Math.round((clock.awake() - openMs) / 60_000),
    daysUnder200Sales: erp.counts.sales < sales ? 1 : 0,
    ...shop.fleet.counts,
    decided: reviewer.decided,
    decisionsHeldBack: reviewer.heldBack,
    ...mishaps.counts,
    ...shop.earlyOperator.counts,
    repeatedBankNumbers: repeatedBankNumbers(shop),
    contradictionsClosed: reviewer.closed,
    ...prefixed('device', shop.lapses.counts),
    calls: erp.calls.size,
    ...erp.counts,
    ...erp.turnedAway,
    ...prefixed('answer', erp.byCode),
    ...prefixed('erp', shop.receiver.counts),
  };
  const result: DayResult = {
    seed,
    violations: shop.violations,
    history: shop.violations[0] === undefined ? [] : shop.historyOf(shop.violations[0]),
    traceHash: shop.digest(),
    hasEnded: true,
    figures,
    hits: Object.fromEntries(shop.interruptions.hits),
    passed: Object.fromEntries(shop.interruptions.passed),
    shapes: [...shop.shapes.shapes],
  };
  if (shop.recorder) result.compared = replay(shop.recorder.recording(shop.merchantId));
  await shop.close();
  return result;
}

/** Each opening has its share of the sales; the last lasts until there are enough, or the time is over. */
async function trade({ clock, plan, trace, violations }: Shop, erp: Erp): Promise<void> {
  for (const [at, hour] of opensAtHours.entries()) {
    const isLast = at === opensAtHours.length - 1;
    const share = (sales * (at + 1)) / opensAtHours.length;
    const atMostMs = isLast ? plan.tradingMs - clock.awake() : (plan.tradingMs * (at + 1)) / opensAtHours.length - clock.awake();
    await clock.advance(Math.max(0, atMostMs), () => erp.counts.sales >= share || violations.length > 0);
    if (isLast || violations.length > 0) return;
    erp.rest();
    await clock.advance(restAtMostMs, () => erp.isIdle);
    const nextMs = (opensAtHours[at + 1] ?? hour) * hourMs - clock.elapsed();
    if (erp.isIdle && nextMs > 0) clock.leap(nextMs);
    trace(erp.isIdle ? 'quiet hours' : 'no quiet hours: a till still waits');
    erp.open();
  }
}

/** Until nothing is open, nothing is pending, no till waits and the day is over; `atMostMs` at most. */
async function settle(shop: Shop, erp: Erp, atMostMs: number): Promise<void> {
  const { clock, fleet, violations } = shop;
  const sinceMs = clock.elapsed();
  const untilMs = sinceMs + atMostMs;
  let isHelped = false;
  // Do not wait for a broken day: it may never settle.
  while (clock.elapsed() < untilMs && violations.length === 0) {
    await clock.advance(erp.isIdle ? betweenLeapsMs : lookEveryMs, () => violations.length > 0);
    if (clock.elapsed() - sinceMs > openAtMostMs) tellWhatIsOpen(shop, openAtMostMs);
    if (!isHelped && clock.elapsed() - sinceMs > helpAfterMs && !erp.isIdle) {
      isHelped = true;
      await freeTerminals(shop);
    }
    const life = fleet.anyLife();
    if (!life || !erp.isIdle) continue;
    const waitsMs = await dueInMs(shop, life.database);
    if (waitsMs === undefined && clock.elapsed() >= dayMs) return;
    clock.leap(waitsMs ?? dayMs - clock.elapsed());
  }
  if (!erp.isIdle && violations.length === 0) shop.violated('a till still waits for an answer after all the calm');
}

async function compare(shop: Shop, erp: Erp): Promise<void> {
  const life = shop.fleet.anyLife();
  if (!life) return shop.violated('no gateway is left');
  // A broken day ends at once: a gateway may be frozen in a transaction, which only time ends.
  const checking = checkBooks(shop, life.database, erp);
  if (!(await during(shop, checking))) return shop.violated('the books cannot be read: the database stays locked');
  await checking;
  // A device that reports never about its own work contradicts the settlement by others; and it contradicts a wrong decision of a person.
  const { guesses = 0, calledDone = 0 } = shop.earlyOperator.counts;
  const hasForgotten = shop.devices.some(({ forgotten }) => forgotten.size > 0) || guesses + calledDone > 0;
  for (const place of shop.fleet.places) {
    const contradictions = place.life?.ledger.stats().contradictions ?? 0;
    if (contradictions > 0 && !hasForgotten) shop.violated(`${contradictions} answers contradicted the ledger`);
  }
  if (shop.violations.length > 0) return;
  await freeTerminals(shop);
  await during(shop, erp.sellOnceMore());
}

/** An operator closes a document that its ERP gave up [D16]: nothing else may lock a terminal now. */
async function freeTerminals(shop: Shop): Promise<void> {
  const life = shop.fleet.anyLife();
  for (const { id } of life ? shop.storage.peek(`select id from commands where document_state = 'open'`, []) : []) {
    shop.trace(`command ${id} is closed by hand`);
    const closing = life?.cards.closeDocumentByHand({ commandId: String(id), actor: 'operator', reason: 'The till gave it up.' });
    await during(shop, Promise.resolve(closing));
  }
}

/** Advances the time until it is done; false if it never is. */
async function during({ clock }: Shop, work: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  await clock.advance(lastSaleAtMostMs, () => isOver);
  return isOver;
}

/** Numbers that a terminal's bank has given twice. */
function repeatedBankNumbers({ storage }: Shop): number {
  return storage.peek('select 1 from bank_operations group by device_id, operation_id having count(*) > 1', []).length;
}

function prefixed(prefix: string, counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${prefix} ${name}`, count]));
}
