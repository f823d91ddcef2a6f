// The short form; `npm run fuzz` throws 100,000.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ForeignShop, openForeignShop } from '../conformance/foreign-shop.ts';
import { openDoors } from './fuzzed-gateway.ts';
import { runFuzz } from './run-fuzz.ts';

const seed = Number(process.env['TILLGATE_TEST_FUZZ_SEED'] ?? Date.now() % 1_000_000);
const count = 700;

let shop: ForeignShop;
beforeAll(async () => {
  shop = await openForeignShop(openDoors);
}, 90_000);
afterAll(() => shop?.close());

describe('a gateway that gets invalid input', () => {
  it(`answers with the envelope, serves its neighbours and does not grow (TILLGATE_TEST_FUZZ_SEED=${seed})`, {
    timeout: 180_000,
  }, async () => {
    const result = await runFuzz(shop, { seed, count, bounds: { neighbourMs: 10_000, growthMb: 250 } });
    expect(Object.values(result.inputs).every((thrown) => thrown > 0)).toBe(true);
    expect(result.neighbourCalls).toBeGreaterThan(0);
  });
});
