// The sweep: overdue invoices become Expired, and their ERPs are called back, without anybody asking [D23].
// Several gateways may sweep at once: each takes what the others have not locked, and every invoice moves once.
import type { Clock } from '../kernel/clock.ts';
import { createRounds, type Rounds } from '../kernel/rounds.ts';
import { type InvoiceDeps, writeCallback } from './move.ts';
import { stateNames, states } from './rules.ts';
import { expireOverdueInvoices, insertEvents } from './store.ts';

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
  const { database } = deps;
  const expired = await database.transaction(async (queries) => {
    const moved = await expireOverdueInvoices(queries, database.engine, deps.graceMs, batchSize);
    if (moved.length === 0) return moved;
    const oids = moved.map(({ oid }) => oid);
    await insertEvents(queries, oids, stateNames[states.expired], {});
    for (const invoice of moved) await writeCallback(deps, queries, invoice, states.expired);
    return moved;
  });
  if (expired.some(({ callbackUri }) => callbackUri !== null)) deps.callbacks.wake();
  return expired.length;
}

export function createExpirySweep(deps: InvoiceDeps, clock: Clock, periodMs: number): Rounds {
  const work = () => expireOverdue(deps);
  return createRounds({ clock, logger: deps.logger, periodMs, work, complaint: 'overdue invoices could not be swept' });
}
