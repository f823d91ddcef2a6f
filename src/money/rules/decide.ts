// The one decision about money [D300]: the facts and an event give the next case, the answer and what has to be sent. Pure and total: no
// clock, no database, no connection. Without a next case nothing changes.
import { type Case, type Draft, draftOf } from '../case.ts';
import type { Decision, Event, Of } from '../event.ts';
import { cancelTransaction } from './cancel.ts';
import { derive } from './derive.ts';
import { cancelInvoice, create, expire, get, invoiceStatusOf, payd, removeInvoice } from './invoices.ts';
import { addNotices } from './notices.ts';
import { closeDoc, pay, refund } from './payments.ts';
import { closeByHand, decideByPerson, hardwareLost, remove } from './people.ts';
import { plain, print } from './prints.ts';
import { noteRemains } from './remains.ts';
import { abortRefused, accepted, deadline, lastIsAnother, notSent, overdue, report } from './reports.ts';
import { relyOnRoots } from './roots.ts';
import type { Ruled } from './ruled.ts';
import { answerOfTry, delivery, outcome, status } from './status.ts';

type Rules = { readonly [Type in Event['type']]: (c: Draft, event: Of<Type>) => Ruled };

const rules: Rules = {
  Pay: pay,
  CloseDoc: closeDoc,
  Refund: refund,
  CancelTransaction: cancelTransaction,
  Print: print,
  Plain: plain,
  Status: status,
  Outcome: outcome,
  Report: report,
  Accepted: accepted,
  NotSent: notSent,
  LastIsAnother: lastIsAnother,
  AbortRefused: abortRefused,
  Deadline: deadline,
  Overdue: overdue,
  Decide: decideByPerson,
  CloseByHand: closeByHand,
  HardwareLost: hardwareLost,
  Delivery: delivery,
  Remove: remove,
  Create: create,
  Get: get,
  InvoiceStatus: invoiceStatusOf,
  Payd: payd,
  Expire: expire,
  CancelInvoice: cancelInvoice,
  RemoveInvoice: removeInvoice,
};

export function decide(facts: Case, event: Event): Decision {
  const c = draftOf(facts);
  const rule = rules[event.type] as (c: Draft, event: Event) => Ruled;
  const { needs, changes, answer, about, effects = [] } = rule(c, event);
  if (needs) return { needs, effects: [] };
  if (!changes) return { effects, added: c.added, ...(answer ? { answer } : {}) };
  derive(c);
  noteRemains(facts, c);
  addNotices(facts, c);
  relyOnRoots(facts, c);
  const op = about === undefined ? undefined : c.ops[about];
  const said = answer ?? (op && answerOfTry(c, op));
  return { next: c, effects, added: c.added, ...(said ? { answer: said } : {}) };
}
