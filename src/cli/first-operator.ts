// What `serve` prints on a terminal while no user can sign in to the cabinet yet. Several gateways that start together show one link between them.
import type { People } from '../access/people/people.ts';

export function tellFirstOperator(made: Awaited<ReturnType<People['firstOperatorLink']>>, out: (text: string) => void): void {
  if (made === 'has operator') return;
  if (made === 'has link')
    out('The cabinet has no operator yet. A link was shown within the last hour; `tillgate user create` shows a new one.');
  else out(`The cabinet has no operator yet. Open this link once, within an hour, to become the first:\n  ${made.link}`);
}
