// Completion notices [D30] and callbacks of invoices: one for each change of what they would say. They are part of the commit.
import type { Case, Draft, Invoice, Notice, Op } from '../case.ts';

const words = {
  sent: undefined,
  unknown: 'Unknown',
  done: 'Completed',
  refused: 'Refused',
  never: 'Refused',
  disputed: 'Unknown',
} as const;

interface Said {
  state: string;
  receiptId: string | null;
}

/** A register's report that contradicts "refused", or is disputed, proves no receipt. */
function saidOf(op: Op | undefined): Said | undefined {
  const state = op && words[op.state];
  return state && { state, receiptId: op.state === 'done' ? op.receiptId : null };
}

const isSame = (one: Said | undefined, other: Said | undefined) => one?.state === other?.state && one?.receiptId === other?.receiptId;

export function addNotices(facts: Case, c: Draft): void {
  for (const op of Object.values(c.ops)) {
    const said = saidOf(op);
    if (op.callbackUri === null || !said || isSame(saidOf(facts.ops[op.id]), said)) continue;
    // It was answered as never begun, unless an earlier notice said that the outcome is not known.
    if (op.state === 'never' && op.notices === 0) continue;
    op.notices += 1;
    add(c, { subjectKind: 'operation', subjectId: op.id, sequence: op.notices, ...said, deviceId: op.deviceId, uri: op.callbackUri });
  }
  for (const invoice of Object.values(c.invoices)) {
    const before = facts.invoices[invoice.oid];
    // The caller of Create has the answer [D25].
    if (invoice.callbackUri === null || !before || before.state === invoice.state) continue;
    invoice.notices += 1;
    add(c, { ...ofInvoice(invoice), uri: invoice.callbackUri });
  }
}

/** Receipt and device belong to the payment, and are empty before it [service specification]. */
function ofInvoice({ oid, state, notices, receiptId, paidDeviceId }: Invoice): Omit<Notice, 'uri'> {
  return { subjectKind: 'invoice', subjectId: oid, sequence: notices, state, receiptId, deviceId: paidDeviceId };
}

const add = (c: Draft, notice: Notice) => void c.added.notices.push(notice);
