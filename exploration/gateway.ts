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
  /** Sees every decision with the ledger that it is made on: the databases must decide and write the same (test/money). */
  watch?: (ledger: Ledger, event: Event, around: Surroundings) => void;
}

export let planted: Planted = {};
export const plant = (fault: Planted) => {
  planted = fault;
  prepared = new WeakMap();
  ran = new WeakMap();
  asked = new WeakMap();
};

/** A need is taken as met without news: the device did not answer, the note did not come. */
function decided(facts: Case, event: Event): Decision {
  const decision = planted.rule ? planted.rule(facts, event, decide) : decide(facts, event);
  return decision.needs ? decided(facts, { ...event, hasWaited: true } as Event) : decision;
}

/** What would be written, and the answer. */
export function plan(facts: Case, event: Event): Omit<Ran, 'ledger'> {
  const decision = decided(facts, event);
  const { answer, effects, next, added } = decision;
  const unit = next && unitOf(facts, decision);
  return { answer, effects, unit: unit && planted.unit ? planted.unit(unit, event, facts) : unit, steps: added?.steps ?? [] };
}

/** What a caller would be answered. */
export interface Asked {
  answer: Answer | undefined;
  wouldChange: boolean;
}

const equals = new WeakMap<Ledger, Ledger>();
/** Both have the same rows but for what no answer depends on (state-key.ts), so what one was asked is known of the other. */
export const answersAs = (ledger: Ledger, equal: Ledger): void => void equals.set(ledger, equal);

export const equalOf = (ledger: Ledger): Ledger => equals.get(ledger) ?? ledger;

export function ask(ledger: Ledger, event: Event, around: Surroundings): Asked {
  const equal = equalOf(ledger);
  return kept(asked, equal, event, around, () => {
    const { answer, next } = decided(load(equal, event, around), event);
    return { answer, wouldChange: next !== undefined };
  });
}

/**
 * What a gateway would do with an event now. Equal situations are asked again and again, so each ledger keeps what it was asked.
 * `around.key`: the surroundings as a text.
 */
export const prepare = (ledger: Ledger, event: Event, around: Surroundings): Omit<Ran, 'ledger'> =>
  kept(prepared, ledger, event, around, () => plan(load(ledger, event, around), event));

export const run = (ledger: Ledger, event: Event, around: Surroundings): Ran =>
  kept(ran, ledger, event, around, () => runAnew(ledger, event, around));

type Kept<Result> = WeakMap<Ledger, Map<string, Result>>;
let prepared: Kept<Omit<Ran, 'ledger'>> = new WeakMap();
let ran: Kept<Ran> = new WeakMap();
let asked: Kept<Asked> = new WeakMap();

function kept<Result>(all: Kept<Result>, ledger: Ledger, event: Event, { key }: Surroundings, make: () => Result): Result {
  if (key === undefined) return make();
  let mine = all.get(ledger);
  if (!mine) {
    mine = new Map();
    all.set(ledger, mine);
  }
  const place = JSON.stringify(event) + key;
  let found = mine.get(place);
  if (!found) {
    found = make();
    mine.set(place, found);
  }
  return found;
}

function runAnew(ledger: Ledger, event: Event, around: Surroundings): Ran {
  planted.watch?.(ledger, event, around);
  const assumed = assume(event, around);
  if (assumed) {
    const planned = plan(assumed, event);
    // An answer from assumed facts is only given after a commit.
    const next = planned.unit && commitTo(ledger, planned.unit, around.now);
    if (next) return { ...planned, ledger: next };
  }
  const planned = prepare(ledger, event, around);
  const next = planned.unit ? commitTo(ledger, planned.unit, around.now) : ledger;
  if (next) return { ...planned, ledger: next };
  throw new Error(`A unit that was decided from the present state does not commit: ${JSON.stringify(event)}`);
}
