// The sweep: overdue invoices become Expired, and their ERPs get a callback, without any request [D23].
// Several gateways may sweep at once: each takes the invoices that the others have not locked, and every invoice moves once.
// An invoice that the database rejects does not block the others: after a batch that was certainly rolled back, each is moved alone, and
// one that fails alone is put in back-off.
import type { Queries } from '../database/database.ts';
import { isCertainlyUndone } from '../database/errors.ts';
import type { Clock } from '../kernel/clock.ts';
import { PutAside } from '../kernel/put-aside.ts';
import { restrainLogger } from '../kernel/restrained-logger.ts';
import { createRounds, type Rounds } from '../kernel/rounds.ts';
import { findStandingPayment } from '../ledger/standing-payment.ts';
import { type InvoiceDeps, logUnreadable, moveOf, transitionOf } from './move.ts';
import { type Move, moveInvoices } from './move-batch.ts';
import { holdOverdueInvoices, type OverdueInvoice } from './store.ts';

const batchSize = 100;
const pauses = { firstMs: 10_000, maxMs: 600_000 };

/** Makes every overdue invoice Expired, batch by batch; returns their number. */
export type ExpireOverdue = () => Promise<number>;

interface Taken {
  held: number;
  expired: number;
}

export function createExpireOverdue(deps: InvoiceDeps, clock: Clock): ExpireOverdue {
  const { engine, transaction } = deps.database;
  const aside = new PutAside(clock, pauses);
  const logger = restrainLogger(deps.logger, clock);

  /** All of them in one commit, or none. */
  async function move(limit: number, onHeld: (held: OverdueInvoice[]) => void): Promise<Move[]> {
    return await transaction(async (queries) => {
      onHeld([]);
      const overdue = await holdOverdueInvoices(queries, engine, deps.graceMs, limit + aside.count);
      const held = (await withoutPayment(queries, overdue)).filter(({ oid }) => !aside.has(oid)).slice(0, limit);
      onHeld(held);
      const expiring = held.map((invoice) => moveOf(deps, invoice, transitionOf({ ...invoice, isTimeUp: true }, 'expire'), {}));
      // They are locked and stay overdue, so each of them moves.
      if (expiring.length > 0) await moveInvoices(engine, queries, deps.graceMs, expiring, 'statement');
      return expiring;
    });
  }

  async function take(limit: number): Promise<Taken> {
    let held: OverdueInvoice[] = [];
    let moves: Move[];
    try {
      moves = await move(limit, (invoices) => {
        held = invoices;
      });
    } catch (error) {
      const [first] = held;
      if (!first || !isCertainlyUndone(error)) throw error;
      if (held.length > 1) return { held: held.length, expired: await takeEach(held.length) };
      const retryMs = aside.add(first.oid);
      const facts = { oid: first.oid, merchantId: first.merchantId, retryMs, err: error };
      logger.error(facts, 'an overdue invoice could not be made Expired; it will be retried');
      return { held: 1, expired: 0 };
    }
    for (const each of moves) logUnreadable(deps, each);
    const written = moves.flatMap(({ callback }) => callback ?? []);
    if (written.length > 0) deps.callbacks.wake(written);
    return { held: moves.length, expired: moves.length };
  }

  async function takeEach(count: number): Promise<number> {
    let total = 0;
    for (let times = 0; times < count; times += 1) total += (await take(1)).expired;
    return total;
  }

  return async () => {
    for (let total = 0; ; ) {
      const { held, expired } = await take(batchSize);
      total += expired;
      // If no invoice of a whole batch could be moved, perhaps none can: the next round continues after them.
      if (held < batchSize || expired === 0) return total;
    }
  };
}

/** Reads again: a payment may have begun while the locking query waited for the invoice's lock. */
async function withoutPayment(queries: Queries, overdue: readonly OverdueInvoice[]): Promise<OverdueInvoice[]> {
  const expiring: OverdueInvoice[] = [];
  for (const invoice of overdue) {
    const { hasPayments, merchantId, oid } = invoice;
    if (!hasPayments || !(await findStandingPayment(queries, merchantId, oid))) expiring.push(invoice);
  }
  return expiring;
}

export function createExpirySweep({ logger }: InvoiceDeps, clock: Clock, work: ExpireOverdue, periodMs: number): Rounds {
  return createRounds({ clock, logger, periodMs, work, complaint: 'overdue invoices could not be swept' });
}
