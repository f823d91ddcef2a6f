// One simulated shop-day from a seed: trading under faults, then a calm in which everything must settle, then the books are compared.
import { sql } from 'kysely';
import type { Database } from '../src/database/database.ts';
import { seededRandom } from '../test/support/seeded-random.ts';
import { startErp } from './erp.ts';
import { createEventClock } from './event-clock.ts';
import { checkBooks, isSettled } from './invariants.ts';
import { startMishaps } from './mishap-maker.ts';
import { drawPlan } from './plan.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { startReviewer } from './reviewer.ts';
import { openShop } from './shop.ts';

export interface DayResult {
  seed: number;
  violations: string[];
  /** The same for the same seed and the same code. */
  traceHash: string;
  figures: Record<string, number>;
}

export interface DayOptions {
  bug?: PlantedBug | undefined;
  tradingMs?: number;
  /** How long everything has to settle; it ends as soon as it has. */
  calmAtMostMs?: number;
}

const maxCalmMs = 26 * 3_600_000;
const lookEveryMs = 60_000;

export async function runDay(seed: number, options: DayOptions = {}): Promise<DayResult> {
  const { bug, tradingMs, calmAtMostMs = maxCalmMs } = options;
  const drawn = drawPlan(seededRandom(seed), tradingMs);
  const plan = bug?.alterPlan?.(drawn) ?? drawn;
  const clock = createEventClock();
  const shop = await openShop({ clock, seed, plan, bug });
  if (shop.life) await watchSettlements(shop.life.database);
  const mishaps = startMishaps(shop, seededRandom(seed + 3));
  const erp = startErp(shop, seededRandom(seed + 4));
  const reviewer = startReviewer(shop);

  await clock.advance(plan.tradingMs);
  erp.close();
  mishaps.calm();
  let isOver = false;
  const look = () => {
    const { life } = shop;
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
  await clock.advance(calmAtMostMs, () => isOver);
  if (!erp.isIdle) shop.violated('a till still waits for an answer after all the calm');

  const { life } = shop;
  if (!life) shop.violated('no gateway is left');
  else {
    await checkBooks(shop, life.database);
    if (life.ledger.stats().contradictions > 0) shop.violated(`${life.ledger.stats().contradictions} answers contradicted the ledger`);
  }
  const figures = {
    events: clock.fired,
    calmMinutes: Math.round((clock.elapsed() - plan.tradingMs) / 60_000),
    lives: shop.lives,
    decided: reviewer.decided,
    ...mishaps.counts,
    asked: erp.counts.asked,
    sales: erp.counts.sales,
    paid: erp.counts.paid,
    givenUp: erp.counts.givenUp,
  };
  const result = { seed, violations: shop.violations, traceHash: shop.digest(), figures };
  await shop.close();
  return result;
}

/** The database itself notes when a settled command is settled again. */
async function watchSettlements(database: Database): Promise<void> {
  await sql`create trigger settled_twice after update on commands
    when old.settled_at is not null and (new.settled_at is not old.settled_at or new.state <> old.state)
    begin insert into audit_log (at, actor, action, subject, detail) values (now_ms(), 'simulation', 'settled twice', old.id, '{}'); end`.execute(
    database.queries,
  );
}
