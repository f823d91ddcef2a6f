// How the page reads the Playground and does something with it.
import type { Playground } from './playground.ts';
import { useChange, useRead } from './query.ts';

const path = '/playground';

export function usePlayground() {
  return useRead<Playground>(path);
}

/** Something is done with the playground; the page reads anew afterwards, also after a failure. */
export function usePlay(onDone?: () => void) {
  return useChange([path], onDone);
}
