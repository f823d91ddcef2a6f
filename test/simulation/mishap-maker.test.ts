// What waits for the statements of a day from its beginning.
import { expect, it } from 'vitest';
import { createEventClock } from '../../simulation/event-clock.ts';
import { startMishaps } from '../../simulation/mishap-maker.ts';
import { placesBeside, placesThatMatter, racedPlaces, rarePlaces, rarestPlaces } from '../../simulation/places-that-matter.ts';
import { drawPlan, mishaps } from '../../simulation/plan.ts';
import type { Shop } from '../../simulation/shop.ts';
import { seededRandom } from '../support/seeded-random.ts';

function armedBy(every: number): (readonly string[] | undefined)[] {
  const armed: (readonly string[] | undefined)[] = [];
  const never = Object.fromEntries(mishaps.map((mishap) => [mishap, Number.POSITIVE_INFINITY]));
  const plan = { ...drawPlan(seededRandom(1)), every: { ...never, 'harm-at-statement': every } };
  const interruptions = { arm: (among?: readonly string[]) => armed.push(among), armStall: () => {} };
  startMishaps({ clock: createEventClock(), plan, interruptions, trace() {} } as unknown as Shop, 1);
  return armed;
}

it('lets a harm wait from the morning on at every place that a day may not come by', () => {
  const armed = armedBy(60_000);
  for (const place of rarestPlaces) expect(armed).toContainEqual([place]);
  expect(armed).toContain(rarePlaces);
});

it('lets none wait on a day without harms at statements', () => {
  expect(armedBy(Number.POSITIVE_INFINITY)).toEqual([]);
});

it('has a table of places without unknown ones: what is rare or raced matters, and nothing that matters stands beside', () => {
  for (const place of [...rarePlaces, ...rarestPlaces, ...racedPlaces]) expect(placesThatMatter).toContain(place);
  for (const place of placesThatMatter) expect(placesBeside.filter((pattern) => pattern.test(place))).toEqual([]);
});
