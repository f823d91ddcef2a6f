// Six terminals that are paid at once, so that their commands share commits: the first two go by themselves, the rest together.
import { expect } from 'vitest';
import type { StatementHook } from '../../simulation/hooked-storage.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { createSaleWorld, type Idempotency } from '../support/sale-world.ts';

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

/** The third of these steps, which carries four of the six, breaks: nothing is sent, and repeating charges each once. */
export async function breakAndRepeat(
  when: 'before' | 'after',
  isStep: (step: Parameters<StatementHook>[0]) => boolean,
  more?: More,
): Promise<void> {
  const { world, payAll, charges } = await rush(more);
  let batches = 0;
  world.hook = (step) => {
    if (isStep(step) && step.when === when && ++batches === 3) throw databaseDown('The connection was lost.');
    return undefined;
  };
  const codes = (await payAll()).map(({ code }) => code);
  expect(codes.sort((a, b) => a - b)).toEqual([0, 0, 2, 2, 2, 2]);
  expect(world.ledgerSends()).toHaveLength(2);
  await world.clock.advance(120_000);
  const states = (await world.commands()).map(({ state }) => state).sort();
  expect(states).toEqual(when === 'before' ? ['done', 'done'] : ['done', 'done', 'never', 'never', 'never', 'never']);
  expect((await payAll()).map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(charges()).toEqual([1, 1, 1, 1, 1, 1]);
  await world.stop();
}
