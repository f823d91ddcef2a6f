// Printed by `serve` on a terminal while no user can sign in to the cabinet. Of several gateways that start together only one shows a link.
import type { People } from '../access/people/people.ts';

export function printFirstOperatorLink(made: Awaited<ReturnType<People['firstOperatorLink']>>, out: (text: string) => void): void {
  if (made === 'has operator') return;
  if (made === 'has link')
    out('The cabinet has no operator yet. A link was shown within the last hour; `tillgate user create` shows a new one.');
  else out(`The cabinet has no operator yet. Open this link once, within an hour, to become the first:\n  ${made.link}`);
}
