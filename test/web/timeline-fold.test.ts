// Repeated steps become one line, also where a round is of several steps; the last round and money stay.
import { describe, expect, it } from 'vitest';
import type { Step } from '../../web/src/api/views.ts';
import { foldSteps } from '../../web/src/timeline/fold.ts';

const step = (kind: string, changes: Partial<Step> = {}): Step => ({
  at: '2026-11-12T12:00:00Z',
  sinceStartMs: 0,
  actor: 'gateway',
  kind,
  isMoney: false,
  text: { key: `step.${kind}`, params: {} },
  ...changes,
});
const shown = (steps: Step[]) => foldSteps(steps).map(({ kind, repeats }) => (repeats === undefined ? kind : `${kind} x${repeats}`));

describe('folding', () => {
  it('leaves what comes once or twice', () => {
    expect(shown([step('asked'), step('sent'), step('sent'), step('settled')])).toEqual(['asked', 'sent', 'sent', 'settled']);
  });

  it('makes one line of rounds of several steps, and keeps the last round', () => {
    const round = () => [step('recall'), step('recallUnknown')];
    expect(shown([step('asked'), ...round(), ...round(), ...round(), ...round(), step('settled')])).toEqual([
      'asked',
      'recall x3',
      'recall',
      'recallUnknown',
      'settled',
    ]);
  });

  it('adds up what was folded before', () => {
    expect(shown([step('recall', { repeats: 4 }), step('recall', { repeats: 2 }), step('recall')])).toEqual(['recall x6', 'recall']);
  });

  it('never folds money away', () => {
    const refund = () => step('related', { isMoney: true });
    expect(shown([refund(), refund(), refund()])).toEqual(['related', 'related', 'related']);
  });
});
