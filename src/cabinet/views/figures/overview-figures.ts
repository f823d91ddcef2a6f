// The figures of the first page from those of the hours. Pure: sums, rates and percentiles.
import { baniToLei } from '../../../kernel/money.ts';
import { durationStepMs, type HourFigures } from './hour-figures.ts';

export interface Percentiles {
  p50Ms?: number | undefined;
  p95Ms?: number | undefined;
}

/** From counts by step; the result is the middle of a step. */
export function percentilesOf(steps: readonly { step: number; count: number }[]): Percentiles {
  if (steps.length === 0) return {};
  return { p50Ms: percentileOf(steps, 0.5), p95Ms: percentileOf(steps, 0.95) };
}

export function percentileOf(steps: readonly { step: number; count: number }[], share: number): number | undefined {
  const byStep = new Map<number, number>();
  for (const { step, count } of steps) byStep.set(step, (byStep.get(step) ?? 0) + count);
  const sorted = [...byStep].sort(([one], [other]) => one - other);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  let seen = 0;
  for (const [step, count] of sorted) {
    seen += count;
    if (seen >= Math.ceil(total * share)) return step * durationStepMs + durationStepMs / 2;
  }
  return undefined;
}

type CardFigures = HourFigures['cards'][number];

const isPaid = ({ state, isVoided }: CardFigures) => state === 'done' && !isVoided;
const sum = <Item>(items: readonly Item[], of: (item: Item) => number) => items.reduce((total, item) => total + of(item), 0);

export function modesOf(hours: readonly HourFigures[]) {
  // With what became known in these hours about payments of others.
  const paid = [...hours.flatMap(({ cards }) => cards.filter(isPaid)), ...hours.flatMap(({ changes }) => changes)];
  return {
    card: {
      count: sum(paid, ({ count }) => count) + sum(hours, ({ registerCards }) => registerCards.count),
      amount: baniToLei(sum(paid, ({ bani }) => bani) + sum(hours, ({ registerCards }) => registerCards.bani)),
    },
    qr: { count: sum(hours, ({ qr }) => qr.count), amount: baniToLei(sum(hours, ({ qr }) => qr.bani)) },
    cash: { count: sum(hours, ({ cash }) => cash.count), amount: baniToLei(sum(hours, ({ cash }) => cash.bani)) },
  };
}

export function totalOf(hours: readonly HourFigures[]) {
  const { card, qr, cash } = modesOf(hours);
  const bani = [card, qr, cash].reduce((total, { amount }) => total + Math.round(amount * 100), 0);
  return {
    amount: baniToLei(bani),
    count: card.count + qr.count + cash.count,
    refunded: baniToLei(sum(hours, (hour) => hour.refundedBani)),
  };
}

/** Refunds and voids in these hours of payments that were counted before them. */
export function earlierOf(hours: readonly HourFigures[], fromMs: number) {
  const earlier = hours.flatMap(({ returned }) => returned.filter(({ paidMs }) => paidMs < fromMs));
  return { count: sum(earlier, ({ count }) => count), amount: baniToLei(sum(earlier, ({ bani }) => bani)) };
}

/** Only payments that a device attempted; those that never began are not counted. `open`: those that no hour has yet. */
export function successOf(cards: readonly CardFigures[], open = 0) {
  const of = (...states: CardFigures['state'][]) =>
    sum(
      cards.filter((card) => states.includes(card.state)),
      ({ count }) => count,
    );
  const paid = of('done');
  const declined = of('refused');
  const unknown = of('sent', 'unknown', 'disputed') + open;
  const tries = paid + declined + unknown;
  return { tries, paid, declined, unknown, rate: paid + declined === 0 ? undefined : paid / (paid + declined) };
}

export function banksOf(hours: readonly HourFigures[]) {
  const banks = new Map<string, Pick<HourFigures, 'cards' | 'durations' | 'changes'>>();
  const bookOf = (bank: string) => {
    const book = banks.get(bank) ?? { cards: [], durations: [], changes: [] };
    banks.set(bank, book);
    return book;
  };
  for (const { cards, durations, changes } of hours) {
    for (const row of changes) bookOf(row.bank).changes.push(row);
    for (const row of cards) bookOf(row.bank).cards.push(row);
    for (const row of durations) bookOf(row.bank).durations.push(row);
  }
  return [...banks]
    .map(([bank, { cards, durations, changes }]) => ({
      bank: bank === '' ? undefined : bank,
      amount: baniToLei(sum([...cards.filter(isPaid), ...changes], ({ bani }) => bani)),
      paid: sum([...cards.filter(isPaid), ...changes], ({ count }) => count),
      success: successOf(cards).rate,
      p95Ms: percentilesOf(durations).p95Ms,
    }))
    .sort((one, other) => other.amount - one.amount);
}

/** How unknown outcomes were settled: by the gateway, or by a person. */
export function settledAloneOf(hours: readonly HourFigures[]) {
  const cards = hours.flatMap((hour) => hour.cards);
  const by = (source: string) =>
    sum(
      cards.filter(({ settledBy }) => settledBy === source),
      ({ count }) => count,
    );
  return {
    recall: by('recall'),
    lateAnswer: by('late-answer'),
    lastTransaction: by('last-transaction'),
    person: by('person'),
    longestMs: cards.reduce((longest, { unclearMs }) => Math.max(longest, unclearMs), 0),
  };
}
