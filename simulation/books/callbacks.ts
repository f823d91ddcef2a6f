// Every change was notified: each callback is received or dead, the notices of every operation end with its final state, and
// "Unknown" is never the last one [D26, D30].
import { isOpen } from '../../src/ledger/command.ts';
import { isNewCore } from '../../test/support/core.ts';
import type { Books } from './booked.ts';

const finalWords: Record<string, string> = { done: 'Completed', refused: 'Refused', never: 'Refused' };
const maxAttempts = 6;

export async function checkCallbacks({ shop, database, commands }: Books): Promise<void> {
  const rows = await database.queries
    .selectFrom('callbacks')
    .select(['id', 'subject_id', 'state', 'url', 'sequence', 'attempts'])
    .orderBy('sequence')
    .execute();
  for (const row of rows) {
    const name = `callback ${row.sequence} of ${row.subject_id}`;
    if (row.state === 'pending') shop.violated(`${name} is still pending`);
    if (row.state === 'delivered' && !shop.receiver.received.has(row.id)) shop.violated(`${name} is "delivered", and no ERP received it`);
    if (row.state === 'dead' && row.attempts < maxAttempts) shop.violated(`${name} is dead after ${row.attempts} attempts`);
  }
  const bySubject = Map.groupBy(rows, ({ subject_id: id }) => id);
  for (const command of commands) {
    if (command.callbackUri === null || isOpen(command)) continue;
    const notices = bySubject.get(command.id) ?? [];
    // A command that never began was answered so and needs no notice, unless "Unknown" was sent before.
    if (command.state === 'never' && notices.length === 0) continue;
    const last = notices.at(-1)?.url;
    if (!last?.includes(`state=${finalWords[command.state]}`))
      shop.violated(`${command.name} ${command.id} is ${command.state}, and the last notice to the ERP is ${last ?? 'nothing'}`);
    // A decision, the dispute and its resolution are notified as well [D143].
    const most = (command.disputedFrom === null ? 2 : 4) + (isNewCore && hasBroughtNumber(notices.map(({ url }) => url)) ? 1 : 0);
    if (notices.length > most) shop.violated(`${command.name} ${command.id} has ${notices.length} notices`);
    if (notices.some(({ sequence }, at) => sequence !== at + 1)) shop.violated(`the notices of ${command.name} ${command.id} have gaps`);
  }
}

/** A person decided that it was printed, and the register has reported its number since: the new core notifies that, too [D308]. */
function hasBroughtNumber(urls: readonly string[]): boolean {
  const queries = urls.map((url) => new URL(url).searchParams);
  return queries.some((now, at) => {
    const before = queries[at - 1];
    return before?.get('state') === 'Completed' && now.get('state') === 'Completed' && !before.get('receipt') && !!now.get('receipt');
  });
}
