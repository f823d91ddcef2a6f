// The overview, as the API returns it. Money is in lei, times are ISO, a day begins at the viewer's midnight.
import type { Answers } from './answers.ts';

export type Overview = Answers['readOverview'];
export type Mode = keyof Overview['modes'];
export const modes: readonly Mode[] = ['card', 'qr', 'cash'];
/** `at`: beginning of the hour, or of the day in a longer view. `before`: the same hour a week before, all modes. */
export type HourSums = Overview['hours'][number];
export type Tries = HourSums['tries'];
export type BankSums = Overview['banks'][number];
export type OverviewDevice = Overview['devices'][number];

/** Undefined where nothing was tried. */
export function rateOf({ paid, declined }: Tries): number | undefined {
  return paid + declined === 0 ? undefined : paid / (paid + declined);
}

/** Devices with one point-of-sale code are a shop. */
export function shopsOf(devices: readonly OverviewDevice[]): { shop: string; devices: OverviewDevice[] }[] {
  const shops = new Map<string, OverviewDevice[]>();
  for (const device of devices) shops.set(device.shop ?? '', [...(shops.get(device.shop ?? '') ?? []), device]);
  return [...shops].map(([shop, own]) => ({ shop, devices: own }));
}

/** Omits night hours without sales on both days; early in the day the last eight hours are kept. */
export function sinceOpening(hours: readonly HourSums[], nowMs: number): HourSums[] {
  const isUsed = ({ card, qr, cash, before }: HourSums) => card + qr + cash + before > 0;
  const first = hours.findIndex(isUsed);
  const end =
    Math.max(
      hours.findLastIndex(isUsed),
      hours.findLastIndex(({ at }) => Date.parse(at) <= nowMs),
    ) + 2;
  return hours.slice(Math.max(0, Math.min(first === -1 ? hours.length : first - 1, hours.length - 8)), end);
}

const together = (one: Tries, other: Tries): Tries => ({ paid: one.paid + other.paid, declined: one.declined + other.declined });
const noTries: Tries = { paid: 0, declined: 0 };

/** Hours of several days become days. */
export function dailySums(hours: readonly HourSums[]): HourSums[] {
  const days = new Map<string, HourSums>();
  for (const hour of hours) {
    const day = new Date(hour.at).toDateString();
    const sums = days.get(day) ?? { at: hour.at, card: 0, qr: 0, cash: 0, before: 0, tries: noTries, triesBefore: noTries };
    days.set(day, {
      at: sums.at,
      card: sums.card + hour.card,
      qr: sums.qr + hour.qr,
      cash: sums.cash + hour.cash,
      before: sums.before + hour.before,
      tries: together(sums.tries, hour.tries),
      triesBefore: together(sums.triesBefore, hour.triesBefore),
    });
  }
  return [...days.values()];
}
