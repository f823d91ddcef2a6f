// Days for the thread of a shrink: broken in the same words however small they are, but for the ways that break another promise or none,
// never come to their end, or make them fall over.
import { serveDays } from '../../simulation/day-thread.ts';
import { shrinkingSeeds, stuckDays } from './odd-seeds.ts';

const stuck = new BroadcastChannel(stuckDays);

const violationOf = (ways: readonly string[]): string[] => {
  if (ways.includes('one gateway')) return [];
  if (ways.includes('no invoices')) return ['09:00 something else is broken'];
  return [`0${ways.length}:30:00.000 a sale of ${100 + ways.length} was charged twice`];
};

serveDays(async (seed, { ways = [] }) => {
  const isStuck = seed === shrinkingSeeds.neverEndsSmaller && ways.length > 0;
  if (isStuck || ways.includes('half the time')) {
    stuck.postMessage(seed);
    for (;;);
  }
  if (ways.includes('fair weather')) throw new Error('The day fell over.');
  const violations = seed === shrinkingSeeds.holds ? [] : violationOf(ways);
  const history = [`small by ${ways.length}`];
  return { seed, violations, history, traceHash: '', hasEnded: true, figures: {}, hits: {}, passed: {}, shapes: [] };
});
