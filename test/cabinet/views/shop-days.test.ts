// Every close of a shop is in exactly one day, the same whichever of its closes is read [D297].
import { describe, expect, it } from 'vitest';
import {
  type CloseKind,
  closesAfterMs,
  closesBeforeMs,
  type DeviceClose,
  daysOf,
  longestDayMs,
  longRuns,
} from '../../../src/cabinet/views/figures/shop-days.ts';
import { seededRandom } from '../../support/seeded-random.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

interface GeneratedShop {
  closes: DeviceClose[];
  times: Map<string, number[]>;
  kinds: Set<CloseKind>;
}

const byTime = (one: DeviceClose, other: DeviceClose) => one.atMs - other.atMs || (one.id < other.id ? -1 : 1);

/** Some days of a shop; `chance` says how often a close is missed, made twice or first made after some days. */
function shopOf(
  seed: number,
  devices: { bank: number; z: number },
  chance: { missed: number; twice: number; late: number },
): GeneratedShop {
  const random = seededRandom(seed);
  const between = (least: number, most: number) => Math.floor(least + random.fraction() * (most - least));
  const startMs = Date.UTC(2026, 0, 10);
  const days = 8;
  const closing = between(8, 30) * hourMs;
  const closes: DeviceClose[] = [];
  const times = new Map<string, number[]>();
  for (const kind of ['bank', 'z'] as const) {
    for (let device = 0; device < devices[kind]; device += 1) {
      const deviceId = `${kind} ${device}`;
      const own: number[] = [];
      const firstDay = random.fraction() < chance.late ? between(1, 5) : 0;
      for (let day = 0; day < days; day += 1) {
        const opensMs = startMs + day * dayMs + closing - 14 * hourMs;
        own.push(...Array.from({ length: between(0, 30) }, () => opensMs + between(0, 14 * hourMs - 1)));
        if (day < firstDay || random.fraction() < chance.missed) continue;
        const close = (atMs: number) => closes.push({ id: `${deviceId} of day ${day} at ${atMs}`, kind, deviceId, atMs });
        close(opensMs + 14 * hourMs + between(0, hourMs));
        if (random.fraction() < chance.twice) close(opensMs + between(hourMs, 16 * hourMs));
      }
      times.set(
        deviceId,
        own.sort((one, other) => one - other),
      );
    }
  }
  const kinds = new Set((['bank', 'z'] as const).filter((kind) => devices[kind] > 0));
  return { closes: closes.sort(byTime), times, kinds };
}

/** The day of a close, from the closes and operations that the page reads around it. */
function dayAround({ closes, times, kinds }: GeneratedShop, { id, atMs }: DeviceClose): string[] {
  const books = {
    kinds,
    closes: closes.filter((close) => close.atMs > atMs - closesBeforeMs && close.atMs <= atMs + closesAfterMs),
    isOpen: !closes.some((close) => close.atMs > atMs + closesAfterMs),
  };
  const run = longRuns(books)[0];
  const sinceMs = (books.closes[run?.from ?? 0]?.atMs ?? 0) - longestDayMs;
  const read = new Map([...times].map(([device, own]) => [device, own.filter((timeMs) => timeMs > sinceMs)]));
  return idsOf(daysOf(books, read).find((day) => day.some((close) => close.id === id)) ?? []);
}

const idsOf = (day: readonly DeviceClose[]) => day.map(({ id }) => id);

const shapes = [1, 2, 3, 4].flatMap((bank) => [0, 1, 2, 3, 4].map((z) => ({ bank, z })));

describe.each(shapes)('the days of a shop with $bank terminals and $z registers', (devices) => {
  it.each([1, 2, 3, 4, 5, 6])('contain each close once, the same from each of their closes: shop %i', (seed) => {
    const shop = shopOf(seed, devices, { missed: 0.2, twice: seed % 2 === 0 ? 1 : 0.3, late: 0.3 });
    const days = daysOf({ ...shop, isOpen: true }, shop.times);
    expect(days.flatMap(idsOf)).toEqual(idsOf(shop.closes));
    for (const day of days) {
      for (const close of day) expect(dayAround(shop, close), close.id).toEqual(idsOf(day));
      expect((day.at(-1)?.atMs ?? 0) - (day[0]?.atMs ?? 0)).toBeLessThanOrEqual(longestDayMs);
      const isTwice = (kind: CloseKind) => {
        const own = day.filter((close) => close.kind === kind).map(({ deviceId }) => deviceId);
        return new Set(own).size < own.length;
      };
      expect([...shop.kinds].every(isTwice), 'a day with two closes of a terminal and of a register').toBe(false);
    }
  });

  it.each([1, 2, 3])('are its evenings if every device is closed every evening, and later ones change none of them: shop %i', (seed) => {
    const { closes, times, kinds } = shopOf(seed, devices, { missed: 0, twice: 0, late: 0 });
    const evenings = [...Map.groupBy(closes, ({ id }) => id.split(' of ')[1]?.split(' at ')[0]).values()];
    expect(daysOf({ closes, kinds, isOpen: true }, times)).toEqual(evenings);
    for (let count = 1; count < evenings.length; count += 1) {
      expect(daysOf({ closes: evenings.slice(0, count).flat(), kinds, isOpen: true }, times)).toEqual(evenings.slice(0, count));
    }
  });
});
