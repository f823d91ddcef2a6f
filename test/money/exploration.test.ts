// The short form of `npm run explore`, with a budget of processor time for each world; and the harness itself, which must find what is broken.
import { afterEach, describe, expect, test } from 'vitest';
import { type Done, runAll, together } from '../../exploration/all-worlds.ts';
import { commute } from '../../exploration/commutation.ts';
import { type Planted, plant } from '../../exploration/gateway.ts';
import { unreached } from '../../exploration/reached.ts';
import { explore, nothingMet } from '../../exploration/search.ts';
import { worlds } from '../../exploration/worlds.ts';
import type { Case } from '../../src/money/case.ts';

/** Processor time for the search of each world, and for its pairs. All worlds together need 90 core seconds; none is cut on a usual machine. */
const limitMs = Number(process.env['TILLGATE_EXPLORATION_MS'] ?? 20_000);
const faultMs = 5000;
afterEach(() => plant({}));

test('every world keeps its invariants', { timeout: 600_000 }, async () => {
  const tasks = Object.entries(worlds).map(([name, { depth, pairs }]) => ({ name, depth, pairs, limitMs }));
  const all = await runAll(tasks, 2);
  expect(all.flatMap(shown)).toEqual([]);
  // A search that was cut proves nothing about what is never reached: that is for the whole one.
  if (all.some(({ explored }) => explored.isCut)) return;
  expect(unreached(together(all))).toEqual([]);
});

const shown = ({ name, explored, commuted }: Done) =>
  [explored.violation, commuted.violation].flatMap((found) =>
    found ? [`${name}: ${found.invariant}: ${found.why}`, ...found.sequence] : [],
  );

function found(name: string, fault: Planted): string | undefined {
  plant(fault);
  const world = worlds[name]!;
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

  test('an event that cannot be decided', () => {
    const rule: Planted['rule'] = (facts, event, decide) => {
      if (event.type === 'HardwareLost') throw new Error('planted');
      return decide(facts, event);
    };
    expect(found('one terminal', { rule })).toBeDefined();
  });
});
