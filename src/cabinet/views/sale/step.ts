// The usual form of a step in a timeline.
import { type Params, text } from '../texts.ts';
import type { Lane, Step } from './sale-model.ts';

/** A step of the lane `from`, with the text of its kind. `to` undefined: a step of one lane. */
export function stepFrom(
  from: Extract<Step['actor'], Lane>,
  to: Lane | undefined,
  kind: string,
  params: Params,
  more: Partial<Step> & Pick<Step, 'atMs'>,
): Step {
  return { actor: from, from, to, kind, isMoney: false, text: text(`step.${kind}`, params), ...more };
}
