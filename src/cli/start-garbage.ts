// A start grows V8's space for new objects to 16 MB, which an idle gateway does not need. V8 releases memory some seconds after a full
// collection, which may be hours away in an idle process. So one is forced when the gateway is ready [D133].
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Blocks for 40 ms, which the start takes longer. */
export function collectStartGarbage(): void {
  // The only way without a flag on the command line; adds no global name.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('globalThis.gc') as (() => void) | undefined;
  setFlagsFromString('--no-expose-gc');
  collect?.();
}
