// Every mistake that is planted is found, by the check that is there for it, with the clause that it breaks; and there is no check that
// could not find one.
import { describe, expect, it } from 'vitest';
import { checks } from '../../src/conformance/run.ts';
import { carelessDevices } from './careless-devices.ts';
import { dishonestDevices } from './dishonest-devices.ts';
import { forgetfulDevices } from './forgetful-devices.ts';
import { brokenOf, runAgainst } from './memory-desk.ts';

const plantedFaults = [...forgetfulDevices, ...carelessDevices, ...dishonestDevices];

describe('the conformance run finds a device that', () => {
  it.each(plantedFaults.map((fault) => [fault.what, fault.kind ?? 'terminal', fault] as const))(
    '%s (%s)',
    async (_what, kind, { foundBy, plant }) => {
      const broken = brokenOf(await runAgainst(kind, plant));
      expect(broken.map(({ id }) => id)).toEqual(expect.arrayContaining(foundBy));
      for (const { why, place, clause } of broken)
        expect([why, place, clause].every((text) => text !== undefined && text !== '')).toBe(true);
    },
  );
});

it('there are at least seventy of them', () => {
  expect(plantedFaults.length).toBeGreaterThanOrEqual(70);
});

it('each check is there for a mistake that was planted', () => {
  const found = new Set(plantedFaults.flatMap(({ foundBy }) => foundBy));
  expect(checks.map(({ id }) => id).filter((id) => !found.has(id))).toEqual([]);
});
