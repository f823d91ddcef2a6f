// The sweep: overdue invoices become Expired, and their ERPs are called back, without anybody asking [D23].
// Several gateways may sweep at once: each takes what the others have not locked, and every invoice moves once.
import type { Clock } from '../kernel/clock.ts';
import { createRounds, type Rounds } from '../kernel/rounds.ts';
import { type InvoiceDeps, moveOf, tellUnreadable, transitionOf } from './move.ts';
import { moveInvoices } from './move-batch.ts';
import { holdOverdueInvoices } from './store.ts';

const batchSize = 100;

/** Makes every overdue invoice Expired, batch by batch, and says how many there were. */
export async function expireOverdue(deps: InvoiceDeps): Promise<number> {
  let total = 0;
  for (;;) {
    const count = await expireBatch(deps);
    total += count;
    if (count < batchSize) return total;
  }
}

async function expireBatch(deps: InvoiceDeps): Promise<number> {
  const { engine, transaction } = deps.database;
  const moves = await transaction(async (queries) => {
    const overdue = await holdOverdueInvoices(queries, engine, deps.graceMs, batchSize);
    const expiring = overdue.map((invoice) => moveOf(deps, invoice, transitionOf({ ...invoice, isTimeUp: true }, 'expire'), {}));
    // They are held, and time goes on: each of them moves.
    if (expiring.length > 0) await moveInvoices(engine, queries, deps.graceMs, expiring, 'as long as a statement may');
    return expiring;
  });
  for (const move of moves) tellUnreadable(deps, move);
  const hosts = moves.flatMap(({ callback }) => (callback ? [callback.host] : []));
  if (hosts.length > 0) deps.callbacks.wake(hosts);
  return moves.length;
}

export function createExpirySweep(deps: InvoiceDeps, clock: Clock, periodMs: number): Rounds {
  const work = () => expireOverdue(deps);
  return createRounds({ clock, logger: deps.logger, periodMs, work, complaint: 'overdue invoices could not be swept' });
}
