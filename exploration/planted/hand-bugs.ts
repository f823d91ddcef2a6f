// Bugs in the rules, written by hand by a colleague who did not know the invariants of the exploration: what a change could break in a year of
// changes, and what it would cost a shop.
import type { PlantedBug } from '../../simulation/planted/planted-bug.ts';

const room = 'src/money/rules';

export const handBugs: readonly PlantedBug[] = [
  {
    name: 'answers 0 to a query about a voided payment',
    kind: 'answers',
    harm: 'lie',
    edits: [{ room, find: "  Voided: 'ended',", instead: "  Voided: 'success'," }],
  },
  {
    name: 'sends an Abort to a terminal that does not have the payment',
    kind: 'aborts',
    harm: 'lie',
    edits: [{ room, find: '  if (isElsewhere) {', instead: '  if (false) {' }],
  },
  {
    name: 'withdraws an invoice that was paid by QR',
    kind: 'invoices',
    harm: 'double charge',
    edits: [{ room, find: '  if (refusal) return say(refusal);\n  const previous', instead: '  const previous' }],
  },
  {
    name: 'writes the notices before the consequences are known',
    kind: 'notices',
    harm: 'callback',
    edits: [
      {
        room,
        find: '  derive(c);\n  noteRemains(facts, c);\n  addNotices(facts, c);\n',
        instead: '  addNotices(facts, c);\n  derive(c);\n  noteRemains(facts, c);\n',
      },
    ],
  },
  {
    name: 'gives a payment to a print only when the print is done',
    kind: 'joins',
    harm: 'lie',
    edits: [
      {
        room,
        find: 'followers.filter((op) => isPrint(op) && !isUnexecuted(op)).toSorted(',
        instead: "followers.filter((op) => isPrint(op) && op.state === 'done').toSorted(",
      },
    ],
  },
  {
    name: 'cancels an invoice with one of two payments under its OID',
    kind: 'invoices',
    harm: 'lost money',
    edits: [
      {
        room,
        find: '  if (charges.some(stands) || (!isVoided && !charges.some(isStopped))) return;',
        instead: '  if (!isVoided && !charges.some(isStopped)) return;',
      },
    ],
  },
  {
    name: 'sends an unnamed request beside a disputed equal one',
    kind: 'repeats',
    harm: 'double charge',
    edits: [{ room, find: '  if (inDispute && !(key && closesDay(inDispute))) return say(equalIsDisputed(inDispute));\n', instead: '' }],
  },
  {
    name: 'charges although the device was asked about a decision and did not answer',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [
      {
        room,
        find: '  if (asked.length === 0) return undefined;\n',
        instead: '  if (asked.length === 0 || event.hasWaited) return undefined;\n',
      },
    ],
  },
  {
    name: 'counts only the refunds that are done when the next one begins',
    kind: 'sums',
    harm: 'lost money',
    edits: [
      {
        room,
        find: 'refundsOf(followers).filter((op) => !isUnexecuted(op))',
        instead: "refundsOf(followers).filter(({ state }) => state === 'done')",
      },
    ],
  },
  {
    name: 'lets an invoice expire while its card payment stands',
    kind: 'expiry',
    harm: 'lie',
    edits: [
      {
        room,
        find: '  if (!isUnpaid(invoice) || invoice.validTo === null || standingPayments(c, invoice).length > 0) return false;',
        instead: '  if (!isUnpaid(invoice) || invoice.validTo === null) return false;',
      },
    ],
  },
  {
    name: 'takes a QR payment for an invoice that was paid by card on another device',
    kind: 'invoices',
    harm: 'double charge',
    edits: [
      {
        room,
        find: "  return movedBy('pay', invoice) === undefined || (payments.some(isCertain) && !isPaidDevice);",
        instead: "  return movedBy('pay', invoice) === undefined || (payments.length > 1 && !isPaidDevice);",
      },
    ],
  },
  {
    name: 'voids a payment of which a part was refunded',
    kind: 'sums',
    harm: 'lost money',
    edits: [
      {
        room,
        find: "  if (committedRefunds(followersOf(c, payment.id)).length > 0)\n    return cannotApply('A refund of it was made or is under way, so it can no longer be voided.', fieldsOf(payment));\n",
        instead: '',
      },
    ],
  },
  {
    name: 'sends no notice when an outcome becomes disputed',
    kind: 'notices',
    harm: 'callback',
    edits: [{ room, find: "  disputed: 'Unknown',", instead: '  disputed: undefined,' }],
  },
  {
    name: 'answers a number with its oldest payment instead of its newest',
    kind: 'answers',
    harm: 'lie',
    edits: [
      {
        room,
        find: 'money.findLast((op) => op.deviceId === deviceId) ?? money.at(-1) ??',
        instead: 'money.findLast((op) => op.deviceId === deviceId) ?? money.at(0) ??',
      },
    ],
  },
  {
    name: 'answers a CloseDoc with an earlier one that was refused',
    kind: 'repeats',
    harm: 'stuck',
    edits: [
      {
        room,
        find: 'followersOf(c, payment.id).findLast((op) => isCloseDoc(op) && !isUnexecuted(op));',
        instead: 'followersOf(c, payment.id).findLast((op) => isCloseDoc(op));',
      },
    ],
  },
  {
    name: 'takes a step of a person for a delivery of the outcome',
    kind: 'repeats',
    harm: 'double charge',
    edits: [
      {
        room,
        find: '  if (isByPerson === true || payment.requestHash === null || payment.receivedAt !== null) return ruled;',
        instead: '  if (payment.requestHash === null || payment.receivedAt !== null) return ruled;',
      },
    ],
  },
  {
    name: 'keeps the document open of a payment that was decided without its number',
    kind: 'locks',
    harm: 'stuck',
    edits: [{ room, find: '  if (op.operationId === null) op.isEndedByHand = true;\n', instead: '' }],
  },
  {
    name: 'lets a person declare the connected hardware lost',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [
      {
        room,
        find: '    return !live?.isOnline || live.journalId !== op.journalId;',
        instead: '    return !live?.isOnline || live.journalId !== null;',
      },
    ],
  },
  {
    name: 'counts a terminal’s charge once more as a charge of the receipt',
    kind: 'sums',
    harm: 'lie',
    edits: [{ room, find: 'cardBani: sums.cardBani - paidBani };', instead: 'cardBani: sums.cardBani };' }],
  },
  {
    name: 'prints a payment while a void or refund of it is under way',
    kind: 'joins',
    harm: 'lie',
    edits: [
      {
        room,
        find: '  if (followers.some((op) => returnsMoney(op) && isOpen(op)))\n    return notNow(`A void or refund of the card payment of ${place} has not ended yet.`, payment);\n',
        instead: '',
      },
    ],
  },
  {
    name: 'does not report that a disputed payment was charged a second time since',
    kind: 'evidence',
    harm: 'lie',
    edits: [
      {
        room,
        find: 'const other = othersBeside(c, op).at(-1) ?? otherPrints(c, op).at(-1);',
        instead: 'const other = otherPrints(c, op).at(-1);',
      },
    ],
  },
  {
    name: 'believes a refusal from any journal',
    kind: 'evidence',
    harm: 'double charge',
    edits: [
      {
        room,
        find: "op.journalId === null ? outcome !== 'never' : journalId === op.journalId;",
        instead: "op.journalId === null ? outcome !== 'never' : journalId !== undefined;",
      },
    ],
  },
  {
    name: 'ignores an acceptance of what a person decided as not executed',
    kind: 'evidence',
    harm: 'double charge',
    edits: [
      {
        room,
        find: "const isNotBegun = op.state === 'never' || op.isUnconfirmed || (isRunning === true && isUnexecuted(op));",
        instead: "const isNotBegun = op.state === 'never' || (isRunning === true && isUnexecuted(op));",
      },
    ],
  },
  {
    name: 'forgets at the second contradiction what a dispute began from',
    kind: 'evidence',
    harm: 'lie',
    edits: [
      {
        room,
        find: "  if (op.state !== 'disputed') op.disputedFrom = op.state as 'done' | 'refused' | 'never';",
        instead: "  op.disputedFrom = isUnexecuted(op) ? (op.state as 'refused' | 'never') : 'done';",
      },
    ],
  },
  {
    name: 'leaves the name out when an operation under it is disputed or decided',
    kind: 'guards',
    harm: 'double charge',
    edits: [{ room, find: '  if (hasChangedFold(before, op)) relyOnName(c, op);\n', instead: '' }],
  },
  {
    name: 'begins a refund, a print or an abort without its payment as a guard',
    kind: 'guards',
    harm: 'lost money',
    edits: [{ room, find: "    relyOn(c, 'ops', payment.id);\n    if (!returnsMoney(op)", instead: '    if (!returnsMoney(op)' }],
  },
  {
    name: 'does not enter the key of a new operation',
    kind: 'keys',
    harm: 'double charge',
    edits: [{ room, find: '  if (event.key) takeKey(c, event, op.id);\n', instead: '' }],
  },
  {
    name: 'charges while an earlier payment on the terminal awaits CloseDoc',
    kind: 'locks',
    harm: 'lost money',
    edits: [
      {
        room,
        find: "  if (device.documentId !== null && device.documentId !== documentId) return busy('An approved payment on this device awaits CloseDoc.');\n",
        instead: '',
      },
    ],
  },
  {
    name: 'answers a try that was not made although another one under its number was',
    kind: 'answers',
    harm: 'double charge',
    edits: [
      {
        room,
        find: '  return again?.answer && holder.about ? { ...holder, answer: again.answer } : { about: op, also };',
        instead: '  return again?.answer && holder.also.length > 0 ? { ...holder, answer: again.answer } : { about: op, also };',
      },
    ],
  },
  {
    name: 'takes an answer about an open operation for a delivered outcome',
    kind: 'repeats',
    harm: 'double charge',
    edits: [{ room, find: 'op.missedAt !== null : isUnclear) return nothing;', instead: 'op.missedAt !== null : false) return nothing;' }],
  },
];
