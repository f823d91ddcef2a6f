// Whether the ERP was notified how an invoice or operation ended: the last callback about it decides. An earlier dead callback is no loss
// once a later one has arrived, because the later one carries the current state.
import type { StoryCallback } from './sale-model.ts';

export type CallbackFacts = Pick<StoryCallback, 'subjectId' | 'sequence' | 'state'>;

/** `dead` if a last callback is dead, else `pending` if one is still to arrive; undefined without callbacks. */
export function erpNotified(callbacks: readonly CallbackFacts[]): StoryCallback['state'] | undefined {
  const last = new Map<string, CallbackFacts>();
  for (const callback of callbacks) {
    const known = last.get(callback.subjectId);
    if (!known || known.sequence < callback.sequence) last.set(callback.subjectId, callback);
  }
  const states = new Set([...last.values()].map(({ state }) => state));
  return (['dead', 'pending', 'delivered'] as const).find((state) => states.has(state));
}

export const notifiedMarks = {
  dead: { key: 'mark.erpNotNotified', state: 'bad' },
  pending: { key: 'mark.erpWaits', state: 'waiting' },
  delivered: { key: 'mark.erpNotified', state: 'good' },
} as const;
