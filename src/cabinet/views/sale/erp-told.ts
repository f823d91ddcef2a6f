// Whether the ERP knows how something ended: the last callback about each thing says it. An earlier one that died is no loss once a later
// one has arrived, because that tells the state in which the thing now is.
import type { StoryCallback } from './sale-model.ts';

export type Told = Pick<StoryCallback, 'subjectId' | 'sequence' | 'state'>;

/** `dead` if one of them never arrives, else `pending` if one is still to arrive; undefined without callbacks. */
export function erpTold(callbacks: readonly Told[]): StoryCallback['state'] | undefined {
  const last = new Map<string, Told>();
  for (const callback of callbacks) {
    const known = last.get(callback.subjectId);
    if (!known || known.sequence < callback.sequence) last.set(callback.subjectId, callback);
  }
  const states = new Set([...last.values()].map(({ state }) => state));
  return (['dead', 'pending', 'delivered'] as const).find((state) => states.has(state));
}

export const toldMarks = {
  dead: { key: 'mark.erpNotTold', state: 'bad' },
  pending: { key: 'mark.erpWaits', state: 'waiting' },
  delivered: { key: 'mark.erpTold', state: 'good' },
} as const;
