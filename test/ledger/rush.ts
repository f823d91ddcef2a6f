// Six terminals that are paid at once, so that their commands share commits: the first two go by themselves, the rest together.
import { expect } from 'vitest';
import type { StatementHook } from '../../simulation/hooked-storage.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { isNewCore } from '../support/core.ts';
import { createSaleWorld, type Idempotency, type SaleWorld } from '../support/sale-world.ts';

type More = (at: number) => { idempotency?: Idempotency };

/** `more`: what else the call at this place says of itself, such as its key. */
export async function rush(more: More = () => ({})) {
  const world = await createSaleWorld();
  const terminals: Awaited<ReturnType<typeof world.terminal>>[] = [];
  for (let count = 0; count < 6; count += 1) terminals.push(await world.terminal());
  const documents = terminals.map(() => world.random.uuid());
  const payAll = () => Promise.all(terminals.map(({ id }, at) => world.run(world.pay(id, 10, documents[at], more(at)))));
  const charges = () => terminals.map(({ bank }) => bank.charges().length);
  return { world, payAll, charges };
}

type IsStep = (step: Parameters<StatementHook>[0]) => boolean;

/**
 * The connection is lost at one of these steps, the `at`th, before or after it is executed. The new core tries a commit once more whose answer
 * was lost, and reads it back: there the database is away for a moment longer.
 */
export function loseConnection(world: SaleWorld, { when, at, isStep }: { when: 'before' | 'after'; at: number; isStep: IsStep }): void {
  let steps = 0;
  let isAwayUntil = 0;
  world.hook = (step) => {
    const isLost = isStep(step) && step.when === when && ++steps === at;
    if (isLost && isNewCore) isAwayUntil = world.clock.elapsed() + 100;
    if (isLost || (step.when === 'before' && world.clock.elapsed() < isAwayUntil)) throw databaseDown('The connection was lost.');
    return undefined;
  };
}

/**
 * The third of these steps, which carries four of the six, breaks: nothing is sent, and repeating charges each once. The new core writes few
 * rows one by one, so there the third step may carry fewer [D329].
 */
export async function breakAndRepeat(when: 'before' | 'after', isStep: IsStep, more?: More): Promise<void> {
  const { world, payAll, charges } = await rush(more);
  loseConnection(world, { when, at: 3, isStep });
  const codes = (await payAll()).map(({ code }) => code);
  const made = codes.filter((code) => code === 0).length;
  expect(codes.every((code) => code === 0 || code === 2)).toBe(true);
  if (isNewCore) expect([2, 3, 4, 5]).toContain(made);
  else expect(made).toBe(2);
  expect(world.ledgerSends()).toHaveLength(made);
  await world.clock.advance(120_000);
  const states = (await world.commands()).map(({ state }) => state).sort();
  const broken = states.slice(made);
  expect(states.slice(0, made).every((state) => state === 'done')).toBe(true);
  expect(broken.every((state) => state === 'never')).toBe(true);
  // What shared the broken step is there only if that was executed.
  if (when === 'before') expect(broken).toEqual([]);
  else if (isNewCore) expect(broken.length).toBeGreaterThan(0);
  else expect(broken).toHaveLength(4);
  expect((await payAll()).map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(charges()).toEqual([1, 1, 1, 1, 1, 1]);
  await world.stop();
}
