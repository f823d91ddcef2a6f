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
  const { count, hosts } = await database.transaction(async (queries) => {
    const moved = await expireOverdueInvoices(queries, database.engine, deps.graceMs, batchSize);
    const hosts: string[] = [];
    if (moved.length === 0) return { count: 0, hosts };
    const oids = moved.map(({ oid }) => oid);
    await insertEvents(queries, oids, stateNames[states.expired], {});
    for (const invoice of moved) {
      const host = await writeCallback(deps, queries, invoice, states.expired);
      if (host !== undefined) hosts.push(host);
    }
    return { count: moved.length, hosts };
  });
  if (hosts.length > 0) deps.callbacks.wake(hosts);
  return count;
}

export function createExpirySweep(deps: InvoiceDeps, clock: Clock, periodMs: number): Rounds {
  const work = () => expireOverdue(deps);
  return createRounds({ clock, logger: deps.logger, periodMs, work, complaint: 'overdue invoices could not be swept' });
}
