// Compares every invoice with the answers to its ERP and devices: one per key, paid by one receipt if and only if that was answered,
// every other receipt on the orphan board, nothing left overdue, and one callback for each change, in order [D19 to D26].
import type { Books } from './booked.ts';

const stateNames = ['NewItem', 'Scanned', 'Payed', 'Expired', 'Cancelled'];

export async function checkInvoices({ shop, database, erp }: Books): Promise<void> {
  const { queries } = database;
  const invoices = await queries.selectFrom('invoices').selectAll().execute();
  const orphans = await queries.selectFrom('orphan_payments').select(['oid', 'receipt_id', 'device_id']).execute();
  const byOid = new Map(invoices.map((invoice) => [invoice.oid, invoice]));
  const byCode = Map.groupBy(invoices, ({ point_of_sales_code: code }) => code);
  for (const intent of erp.invoices) {
    const invoice = byOid.get(intent.oid);
    const name = `${intent.name} ${intent.oid}`;
    if (!invoice) {
      shop.violated(`${name} was answered 0, and there is no such invoice`);
      continue;
    }
    const made = byCode.get(intent.pointOfSalesCode)?.length ?? 0;
    if (intent.hasKey && made !== 1) shop.violated(`${name} was created ${made} times under one Idempotency-Key`);
    if (intent.isAborted && invoice.state < 2)
      shop.violated(`${name}: it was withdrawn, or its card payment aborted, with 0, and it is ${stateNames[invoice.state]}`);
    for (const receiptId of intent.paidBy)
      if (invoice.state !== 2 || invoice.receipt_id !== receiptId)
        shop.violated(`${name}: Payd by ${receiptId} was answered 0, and it is ${stateNames[invoice.state]} by ${invoice.receipt_id}`);
    for (const receiptId of intent.orphans) {
      if (invoice.state === 2 && invoice.receipt_id === receiptId)
        shop.violated(`${name}: Payd by ${receiptId} was answered 22, and it is Payed by it`);
      if (!orphans.some((orphan) => orphan.oid === intent.oid && orphan.receipt_id === receiptId))
        shop.violated(`${name}: Payd by ${receiptId} was answered 22, and it is not on the orphan board`);
    }
  }
  const commands = await queries
    .selectFrom('commands')
    .select(['id', 'name', 'target_id', 'device_id', 'document_nr', 'state', 'document_state', 'issued_at'])
    .where('name', 'in', ['Pay', 'Refund'])
    .execute();
  const refunded = new Set(commands.filter(({ name }) => name === 'Refund').map((refund) => refund.target_id));
  const payments = commands.filter(({ name }) => name === 'Pay');
  const paymentsOf = Map.groupBy(payments, ({ document_nr: documentNr }) => documentNr);
  for (const { oid, state, valid_to: validTo, ended_at: endedAt, ...payd } of invoices) {
    const own = paymentsOf.get(oid) ?? [];
    const paid = own.filter((payment) => payment.state === 'done' && payment.document_state !== 'voided');
    const isPaid = paid.length > 0;
    const isListed = orphans.some(
      (orphan) => orphan.oid === oid && orphan.receipt_id === payd.receipt_id && orphan.device_id === payd.paid_device_id,
    );
    if (state === 2 && !isListed && paid.some((payment) => payment.device_id !== payd.paid_device_id && !refunded.has(payment.id)))
      shop.violated(`invoice ${oid} was paid by card and by QR, and it is not on the orphan board`);
    const isHeld = isPaid || own.some((payment) => ['sent', 'unknown', 'disputed'].includes(payment.state));
    if (state < 2 && validTo !== null && validTo < shop.clock.now() - 60_000 && !isHeld)
      shop.violated(`invoice ${oid} is overdue and ${stateNames[state]}`);
    // Wrongly settled as refused by an operator, it held no invoice until its device contradicted that.
    // A void that was wrongly settled as done has cancelled the invoice, which stays cancelled [D143].
    const wasHeld = !own.some(({ id }) => shop.earlyOperator.hasOnceGuessed(id) || shop.earlyOperator.wasFollowerCalledDone(id));
    if (state > 2 && isPaid && wasHeld) shop.violated(`invoice ${oid} was paid by card, and it is ${stateNames[state]}`);
    if (endedAt !== null && own.some((payment) => payment.issued_at > endedAt))
      shop.violated(`invoice ${oid} is ${stateNames[state]}, and a card payment of it was begun afterwards`);
  }
  await checkTold({ shop, database, erp, commands: [] }, invoices);
}

/** The callbacks of an invoice are its history, change by change. */
async function checkTold({ shop, database }: Books, invoices: readonly { oid: string; state: number }[]): Promise<void> {
  const { queries } = database;
  const events = await queries.selectFrom('invoice_events').select(['oid', 'event']).orderBy('id').execute();
  const callbacks = await queries
    .selectFrom('callbacks')
    .select(['subject_id', 'url', 'sequence'])
    .where('subject_kind', '=', 'invoice')
    .orderBy('sequence')
    .execute();
  const eventsOf = Map.groupBy(events, ({ oid }) => oid);
  const callbacksOf = Map.groupBy(callbacks, ({ subject_id: oid }) => oid);
  for (const { oid, state } of invoices) {
    const moves = (eventsOf.get(oid) ?? []).map(({ event }) => event).filter((event) => stateNames.includes(event));
    const notified = (callbacksOf.get(oid) ?? []).map(({ url }) => new URL(url).searchParams.get('state') ?? '');
    if (moves.join() !== notified.join())
      shop.violated(`invoice ${oid} went ${moves.join(', ')}, and its ERP is notified ${notified.join(', ') || 'nothing'}`);
    if (state !== 0 && moves.at(-1) !== stateNames[state])
      shop.violated(`invoice ${oid} is ${stateNames[state]}, and its history ends with ${moves.at(-1)}`);
    if (new Set(moves).size !== moves.length) shop.violated(`invoice ${oid} went ${moves.join(', ')}`);
  }
}
