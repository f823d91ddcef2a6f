// The short form of `npm run explore`, with a budget of processor time for each world; and the harness itself, which must find what is broken.
import { afterEach, describe, expect, test } from 'vitest';
import { allTasks, type Done, runAll, together } from '../../exploration/all-worlds.ts';
import { commute } from '../../exploration/commutation.ts';
import { type Planted, plant } from '../../exploration/gateway.ts';
import { allGuards, unexplained } from '../../exploration/guards.ts';
import { unreached } from '../../exploration/reached.ts';
import { explore, nothingMet } from '../../exploration/search.ts';
import { seedWorld } from '../../exploration/seeds.ts';
import { unmet } from '../../exploration/unmet.ts';
import { everything, walks } from '../../exploration/walks.ts';
import { worlds } from '../../exploration/worlds.ts';
import type { Case } from '../../src/money/case.ts';
import type { Event } from '../../src/money/event.ts';

/** Processor time for the search of each world, and for its pairs. All together need up to 180 core seconds on a busy machine; none is cut. */
const limitMs = Number(process.env['TILLGATE_EXPLORATION_MS'] ?? 20_000);
const faultMs = 5000;
afterEach(() => plant({}));

test('every world and every seed keeps its invariants', { timeout: 600_000 }, async () => {
  const all = await runAll(allTasks(limitMs), 2);
  expect(all.flatMap(shown)).toEqual([]);
  // A search that was cut proves nothing about what is never reached: that is for the whole one.
  if (all.some(({ explored }) => explored.isCut)) return;
  expect(unreached(together(all))).toEqual([]);
  expect(unmet(together(all))).toEqual([]);
  expect(unexplained(allGuards(all.map(({ commuted }) => commuted.guards)))).toEqual([]);
});

const shown = ({ name, explored, commuted }: Done) =>
  [explored.violation, commuted.violation].flatMap((found) =>
    found ? [`${name}: ${found.invariant}: ${found.why}`, ...found.sequence] : [],
  );

function found(name: string, fault: Planted): string | undefined {
  plant(fault);
  const world = worlds[name] ?? seedWorld(name)!;
  const { violation } = explore(world, { depth: world.depth, limitMs: faultMs }, nothingMet());
  return (violation ?? commute(world, { depth: world.pairs, limitMs: faultMs }).violation)?.invariant;
}

const withOps = (facts: Case, change: (op: Case['ops'][string]) => object): Case => ({
  ...facts,
  ops: Object.fromEntries(Object.entries(facts.ops).map(([id, op]) => [id, { ...op, ...change(op) }])),
});

describe('a broken rule is found', () => {
  test('"never" counts from any journal', () => {
    const rule: Planted['rule'] = (facts, event, decide) =>
      decide(facts, event.type === 'Report' ? { ...event, journalId: facts.ops[event.id]?.journalId ?? undefined } : event);
    expect(found('one terminal', { rule })).toBeDefined();
  });

  test('a number is free although its decision is unconfirmed', () => {
    const rule: Planted['rule'] = (facts, event, decide) =>
      decide(event.type === 'Pay' ? withOps(facts, () => ({ isUnconfirmed: false })) : facts, event);
    expect(found('one terminal', { rule })).toBeDefined();
  });

  test('an assumed number may be an OID', () => {
    expect(found('invoice', { unit: (unit) => ({ ...unit, absent: [] }) })).toBeDefined();
  });

  test('"never" does not guard the acceptance', () => {
    const unit: Planted['unit'] = (made) => ({ ...made, writes: made.writes.map((write) => ({ ...write, also: {} })) });
    expect(found('lost journal ends', { unit })).toBeDefined();
  });

  test('a command goes to whatever hardware is there', () => {
    expect(found('two gateways', { sendsToOtherHardware: true })).toBeDefined();
  });

  test('an answer by number does not name the other charge', () => {
    const rule: Planted['rule'] = (facts, event, decide) => {
      const decision = decide(facts, event);
      if (event.type !== 'Pay' || !decision.answer) return decision;
      const { AlsoUnderThisNumber: _, ...fields } = decision.answer.fields;
      return { ...decision, answer: { ...decision.answer, fields } };
    };
    expect(found('receipt-of-card-payment.txt', { rule })).toBe('1 the number names every charge');
  });

  const notDecided =
    (type: Event['type']): NonNullable<Planted['rule']> =>
    (facts, event, decide) => {
      if (event.type === type) throw new Error('planted');
      return decide(facts, event);
    };

  test('in a random walk, of which only the needed events are left', { timeout: 120_000 }, () => {
    plant({ rule: notDecided('CloseByHand') });
    const { violation } = walks(everything, 1, faultMs, nothingMet());
    expect(violation?.invariant).toBe('9 something releases it');
    expect(violation?.sequence).toHaveLength(1);
  });

  test('an event that cannot be decided', () => {
    const rule = notDecided('HardwareLost');
    expect(found('one terminal', { rule })).toBeDefined();
  });
});
