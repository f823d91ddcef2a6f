// The shapes of events that the simulation has met (shapes.txt) must all be met by the exploration, too. The list is written by
// `npm run simulation -- --days 20 --shapes exploration/shapes.txt`, which only adds to it, and is reviewed as a diff.
import { readFileSync } from 'node:fs';
import type { Met } from './search.ts';

/** Shapes that no world has, by the reason. */
const left: Readonly<Record<string, string>> = {
  'CancelTransaction with a key of Pay open': 'the simulated till stops a payment under the key of the payment, with one hash for both',
  'CancelTransaction with a key of Pay refused': 'the same',
  'CloseDoc of done by a person closed; offline': 'it is answered before the device is looked at',
  'Pay unnamed after nothing; offline': 'the same refusal as under a number',
  'Print under refused by a person unconfirmed; offline': 'the same refusal as of a Pay',
  'expired from other journal about a print open': 'as never from another journal, which every world with other hardware has',
};

export function unmet({ shapes }: Met): string[] {
  const listed = readFileSync(new URL('shapes.txt', import.meta.url), 'utf8').split('\n');
  const missing = listed.filter((shape) => shape !== '' && !shapes[shape] && left[shape] === undefined);
  const met = Object.keys(left).filter((shape) => shapes[shape] || !listed.includes(shape));
  return [...missing.map((shape) => `no world has: ${shape}`), ...met.map((shape) => `is left out for no reason: ${shape}`)];
}
