// The loop of a gateway on a ledger in memory: facts, decision, commit if the facts still hold.
import type { Unit } from '../src/database/commit-data.ts';
import type { Case } from '../src/money/case.ts';
import type { Answer, Decision, Effect, Event } from '../src/money/event.ts';
import { decide } from '../src/money/rules/decide.ts';
import { unitOf } from '../src/money/unit.ts';
import { assume, load, type Surroundings } from './memory-load.ts';
import { commitTo, type Ledger } from './memory-store.ts';

export interface Ran {
  ledger: Ledger;
  answer: Answer | undefined;
  effects: readonly Effect[];
  /** Undefined: nothing was written. */
  unit: Unit | undefined;
  steps: readonly { operationId: string; step: string; detail: string }[];
}

/** Faults on purpose: what the exploration must find (test/money), and guards that are left out one at a time (guards.ts). */
export interface Planted {
  rule?: (facts: Case, event: Event, decide: (facts: Case, event: Event) => Decision) => Decision;
  unit?: (unit: Unit, event: Event, facts: Case) => Unit;
  sendsToOtherHardware?: boolean;
}

export let planted: Planted = {};
export const plant = (fault: Planted) => {
  planted = fault;
};

/** What would be written, and the answer. A need is taken as met without news: the device did not answer, the note did not come. */
export function plan(facts: Case, event: Event): Omit<Ran, 'ledger'> {
  const decided = planted.rule ? planted.rule(facts, event, decide) : decide(facts, event);
  if (decided.needs) return plan(facts, { ...event, hasWaited: true } as Event);
  const { answer, effects, next, added } = decided;
  const unit = next && unitOf(facts, decided);
  return { answer, effects, unit: unit && planted.unit ? planted.unit(unit, event, facts) : unit, steps: added?.steps ?? [] };
}

export function run(ledger: Ledger, event: Event, around: Surroundings): Ran {
  const assumed = assume(event, around);
  for (const facts of [...(assumed ? [assumed] : []), undefined]) {
    const from = facts ?? load(ledger, event, around);
    const planned = plan(from, event);
    // An answer from assumed facts is only given after a commit.
    if (!planned.unit && from.isAssumed) continue;
    const next = planned.unit ? commitTo(ledger, planned.unit, around.now) : ledger;
    if (next) return { ...planned, ledger: next };
  }
  throw new Error(`A unit that was decided from the present state does not commit: ${JSON.stringify(event)}`);
}
