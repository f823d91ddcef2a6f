// Reads the Playground and sends its actions.
import type { Playground } from './playground.ts';
import { useChange, useRead } from './query.ts';

const path = '/playground';

export function usePlayground() {
  return useRead<Playground>(path);
}

/** Sends an action; afterwards the page reads again, also after a failure. */
export function usePlay(onDone?: () => void) {
  return useChange([path], onDone);
}
