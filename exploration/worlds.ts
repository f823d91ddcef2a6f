// Many small worlds instead of a wide one: the worst known faults need seven to fourteen events.
import type { World } from './world.ts';

const basic = ['Pay', 'decision', 'resolve'];
const paid = ['Pay t1 n', 't1 executes Pay 0 and says done'];
const wrongNo = ['Pay t1 n', 't1 executes Pay 0, its answer is lost', 'the last moment of Pay 0', 'decision 0 no', 'Pay t2 n'];
const wrongNoPaid = [...wrongNo, 't2 executes Pay 1 and says done'];
const voidInDoubt = [
  't1 is asked about Pay 0: done',
  'resolve 0 yes',
  'closeByHand 0',
  'Void t2 1',
  'the last moment of Void 2',
  'decision 2 yes',
];
const doubtfulClose = ['CloseDay t1', 'the last moment of CloseDay 1', 'decision 1 yes', 'CloseDay t1'];
const twoTerminals = ['t1', 't2'];

export const worlds: Readonly<Record<string, World>> = {
  'one terminal': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 4, depth: 6, pairs: 4 },
    events: [...basic, 'CloseDoc', 'Void', 'Refund', 'Abort', 'abortRefused', 'closeByHand', 'swap', 'lost', 'bank', 'remove'],
  },
  'two terminals': {
    ...{ devices: twoTerminals, numbers: ['n'], maxOps: 3, depth: 7, pairs: 4, isSymmetric: true },
    events: [...basic, 'Void', 'swap', 'lost', 'lateMoney'],
  },
  'a wrong no': {
    ...{ devices: twoTerminals, numbers: ['n'], maxOps: 4, depth: 5, pairs: 3, seed: wrongNo },
    events: [...basic, 'Void', 'Refund', 'Abort', 'swap', 'lost', 'closeByHand'],
  },
  'two gateways': {
    ...{ devices: twoTerminals, numbers: ['n'], maxOps: 3, depth: 6, pairs: 4, isSymmetric: true },
    events: [...basic, 'swap', 'Abort'],
    stale: ['Pay', 'report', 'decision', 'resolve', 'Abort', 'lost'],
  },
  returns: {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 4, depth: 4, pairs: 4, seed: paid },
    events: [...basic, 'Void', 'Refund', 'CloseDoc', 'lost'],
    stale: ['Refund', 'Void', 'CloseDoc', 'report', 'decision', 'resolve'],
  },
  'bank numbers start over': {
    ...{ devices: ['t1'], numbers: ['n', 'm'], maxOps: 4, depth: 5, pairs: 3, hasReusedNumbers: true, seed: [...paid, 'closeByHand 0'] },
    ...{ events: ['Pay', 'Void', 'closeByHand'], stale: ['Void'] },
  },
  receipts: {
    ...{ devices: ['t1', 'r1'], numbers: ['n'], maxOps: 4, depth: 6, pairs: 4 },
    ...{ events: [...basic, 'Print', 'Void', 'Refund'], stale: ['Print', 'Pay'] },
  },
  'receipts after a wrong no': {
    ...{ devices: ['t1', 't2', 'r1'], numbers: ['n'], maxOps: 5, depth: 4, pairs: 2, seed: wrongNoPaid },
    events: [...basic, 'Print', 'Void'],
  },
  'a void in doubt': {
    ...{ devices: ['t1', 't2', 'r1'], numbers: ['n'], maxOps: 5, depth: 3, pairs: 1, seed: [...wrongNoPaid, ...voidInDoubt] },
    events: [...basic, 'Print', 'Void', 'Refund', 'Abort', 'lost', 'closeByHand'],
  },
  invoice: {
    ...{ devices: ['t1', 'r1'], numbers: ['oid'], maxOps: 3, depth: 6, pairs: 4 },
    events: [...basic, 'Abort', 'abortRefused', 'Void', 'Payd', 'cancelInvoice', 'Print'],
    stale: ['Pay', 'Payd'],
  },
  'an invoice after a wrong no': {
    ...{ devices: twoTerminals, numbers: ['oid'], maxOps: 4, depth: 4, pairs: 2 },
    seed: wrongNo.map((line) => line.replace(/^(Pay t\d) n$/, '$1 oid')),
    events: [...basic, 'Void', 'Abort', 'Payd', 'cancelInvoice', 'lost'],
  },
  'a slow terminal': {
    ...{ devices: twoTerminals, numbers: ['n'], maxOps: 3, depth: 6, pairs: 3, isSymmetric: true },
    ...{ events: [...basic, 'accepted', 'swap', 'lost'], stale: ['accepted', 'decision'] },
  },
  'two registers': {
    ...{ devices: ['t1', 'r1', 'r2'], numbers: ['n', 'm'], maxOps: 4, depth: 4, pairs: 2, seed: paid },
    events: [...basic, 'Print', 'PrintPaid', 'Void', 'swap', 'lost', 'closeByHand'],
  },
  'two decisions': {
    ...{ devices: ['t1'], numbers: ['n', 'm'], maxOps: 3, depth: 4, pairs: 2 },
    seed: [...wrongNo.slice(0, 4), 'Pay t1 m', 'the last moment of Pay 1'],
    events: [...basic, 'swap', 'lost', 'closeByHand', 'Void'],
    stale: ['report', 'decision', 'resolve'],
  },
  'late money': {
    ...{ devices: twoTerminals, numbers: ['n'], maxOps: 4, depth: 4, pairs: 2 },
    seed: ['Pay t1 n', 't1 refuses Pay 0', 'Pay t1 n', 't1 refuses Pay 1', 'money of Pay 0', 'resolve 0 yes'],
    events: [...basic, 'Void', 'Refund', 'lateMoney'],
  },
  'lost journal ends': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 3, depth: 8, pairs: 6, hasLapses: true },
    ...{ events: ['Pay', 'accepted', 'resolve', 'decision'], stale: ['report'] },
  },
  // Beyond the sketch.
  'calls without a name': {
    ...{ devices: ['t1'], numbers: [], maxOps: 3, depth: 6, pairs: 3, isUnnamed: true },
    ...{ events: [...basic, 'Refund', 'Void', 'CloseDoc', 'closeByHand', 'Deadline', 'forget', 'lost'], stale: ['Pay', 'Refund'] },
  },
  'two cards on a receipt': {
    ...{ devices: ['t1', 'r1'], numbers: ['n'], maxOps: 3, depth: 4, pairs: 2 },
    ...{ events: [...basic, 'PrintCards', 'Print', 'Void'], stale: ['PrintCards', 'Pay'] },
  },
  'an unnamed wrong no': {
    ...{ devices: ['t1'], numbers: [], maxOps: 3, depth: 4, pairs: 2, isUnnamed: true },
    seed: ['Pay t1', 't1 executes Pay 0, its answer is lost', 'the last moment of Pay 0', 'decision 0 no'],
    events: [...basic, 'closeByHand', 'lost', 'forget'],
  },
  'a late note': {
    ...{ devices: ['t1'], numbers: [], maxOps: 2, depth: 4, pairs: 2, isUnnamed: true },
    seed: ['Pay t1', 't1 executes Pay 0, its answer', 'the last moment of Pay 0', 'decision 0 no', 't1 is asked about Pay 0: done'],
    events: ['Pay', 'resolve', 'closeByHand', 'lateNote', 'CloseDoc'],
  },
  'a gateway stands still after a wrong no': {
    ...{ devices: twoTerminals, numbers: ['n'], maxOps: 3, depth: 3, pairs: 2, seed: wrongNo.slice(0, 4) },
    ...{ events: [...basic, 'lost', 'swap'], stale: ['Pay', 'report', 'resolve'] },
  },
  'an acceptance after a wrong no': {
    ...{ devices: twoTerminals, numbers: ['n'], maxOps: 2, depth: 3, pairs: 2 },
    seed: ['Pay t1 n', 't1 accepts Pay 0', 'the last moment of Pay 0', 'decision 0 no'],
    events: [...basic, 'accepted', 'lost', 'swap'],
  },
  'an unnamed acceptance': {
    ...{ devices: ['t1'], numbers: [], maxOps: 2, depth: 3, pairs: 2, isUnnamed: true },
    seed: ['Pay t1', 't1 accepts Pay 0', 'the last moment of Pay 0', 'decision 0 no'],
    events: ['Pay', 'resolve', 'accepted'],
  },
  'a step of a person': {
    ...{ devices: ['t1'], numbers: [], maxOps: 3, depth: 5, pairs: 2, isUnnamed: true },
    seed: ['Pay t1', 't1 executes Pay 0 and says done', 'the caller of Pay 0 left'],
    events: ['Pay', 'CloseDocByPerson', 'CloseDoc'],
  },
  keys: {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 3, depth: 6, pairs: 3, keys: ['k'] },
    ...{ events: [...basic, 'Refund', 'Void', 'Abort', 'abortRefused', 'CloseDoc', 'forget'], stale: ['Pay', 'Abort', 'Refund'] },
  },
  'an invoice paid twice': {
    ...{ devices: ['t1', 'r1'], numbers: ['oid'], maxOps: 4, depth: 3, pairs: 2 },
    seed: ['Pay t1 oid', 'Payd r1', 't1 executes Pay 0 and says done', 'closeByHand 0'],
    ...{ events: [...basic, 'Void', 'Refund', 'Payd', 'Print', 'lost'], stale: ['Void', 'Refund', 'report', 'resolve', 'Payd'] },
  },
  'keys of an invoice': {
    ...{ devices: ['t1'], numbers: ['oid'], maxOps: 3, depth: 5, pairs: 3, keys: ['k'], isInvoiceNew: true, hasNotices: true },
    ...{ events: [...basic, 'Abort', 'abortRefused', 'Payd', 'Get', 'Expire', 'Void'], stale: ['Abort', 'Payd'] },
  },
  'the close of a day': {
    ...{
      devices: ['t1'],
      numbers: ['n'],
      maxOps: 4,
      depth: 5,
      pairs: 3,
      seed: [...paid, 'CloseDoc t1 0', 't1 executes CloseDoc 1 and says done'],
    },
    ...{ events: [...basic, 'CloseDay', 'Refund', 'Void'], stale: ['CloseDay', 'Refund', 'report'] },
  },
  'a close in dispute': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 4, depth: 3, pairs: 2, seed: [...paid, 'closeByHand 0', ...doubtfulClose] },
    ...{ events: ['CloseDay', 'decision', 'resolve', 'Refund'], stale: ['report'] },
  },
  'unnamed closes': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 4, depth: 6, pairs: 3, isUnnamed: true },
    events: ['Pay', 'CloseDay', 'closeByHand', 'decision', 'resolve', 'Deadline', 'forget'],
  },
  'no journal': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 4, depth: 7, pairs: 4, withoutJournal: ['t1'] },
    ...{ events: [...basic, 'Void', 'CloseDoc', 'closeByHand', 'lost', 'busy', 'unclear'], stale: ['report', 'decision'] },
  },
  'doubtful answers': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 3, depth: 6, pairs: 3, hasNotices: true },
    events: [
      ...basic,
      'review',
      'remove',
      'Void',
      'CloseDoc',
      'busy',
      'unclear',
      'wrongAmount',
      'lateMoney',
      'Deadline',
      'accepted',
      'closeByHand',
    ],
  },
  'receipts by number': {
    ...{ devices: ['t1', 'r1'], numbers: ['n'], maxOps: 5, depth: 4, pairs: 2, seed: paid },
    events: [...basic, 'PrintPaid', 'Print', 'Void', 'Refund', 'closeByHand', 'lost', 'Cash', 'swap'],
    stale: ['PrintPaid', 'Void'],
  },
  // What is not there, or belongs to another merchant; and commits without an answer.
  'a terminal comes and goes': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 3, depth: 6, pairs: 2 },
    ...{ events: [...basic, 'offline', 'Void', 'CloseDoc', 'Abort'], stale: ['Pay', 'report'] },
  },
  'another merchant': {
    ...{ devices: ['t1', 'x1'], numbers: ['n'], maxOps: 3, depth: 5, pairs: 2 },
    events: [...basic, 'Void', 'foreign', 'closeByHand'],
  },
  'an invoice and another merchant': {
    ...{ devices: ['t1', 'x1'], numbers: ['oid'], maxOps: 2, depth: 4, pairs: 2 },
    events: [...basic, 'Payd', 'foreign', 'Void', 'remove', 'RemoveInvoice'],
  },
  'a commit without an answer': {
    ...{ devices: twoTerminals, numbers: ['n'], maxOps: 3, depth: 5, pairs: 1, isSymmetric: true },
    ...{ events: [...basic, 'Abort', 'Void'], unanswered: ['Pay', 'report', 'decision', 'Abort', 'resolve'] },
  },
  'an invoice without an answer': {
    ...{ devices: ['t1', 'r1'], numbers: ['oid'], maxOps: 2, depth: 4, pairs: 1, keys: ['k'] },
    ...{ events: [...basic, 'Abort', 'Payd', 'cancelInvoice'], unanswered: ['Pay', 'Payd', 'Abort', 'cancelInvoice'] },
  },
  'an invoice comes and goes': {
    ...{ devices: ['t1', 'r1'], numbers: ['oid'], maxOps: 2, depth: 5, pairs: 3, keys: ['k'], isInvoiceAbsent: true },
    events: ['Create', 'Get', 'Pay', 'Payd', 'Print', 'cancelInvoice', 'RemoveInvoice', 'remove', 'resolve'],
  },
  'a removal': {
    ...{ devices: [...twoTerminals, 'r1'], numbers: ['n'], maxOps: 3, depth: 4, pairs: 2, seed: ['Pay t1 n', 't1 refuses Pay 0'] },
    events: [...basic, 'remove', 'Void', 'Print', 'lateMoney', 'review', 'CloseDoc', 'closeByHand'],
  },
  'the Z of a register': {
    ...{ devices: ['r1'], numbers: [], maxOps: 3, depth: 5, pairs: 3, isUnnamed: true },
    events: ['Z', 'X', 'Cash', 'Print', 'decision', 'resolve', 'Deadline', 'forget'],
  },
  'a sale by QR and the close': {
    ...{ devices: ['t1'], numbers: ['oid'], maxOps: 3, depth: 5, pairs: 3, isUnnamed: true },
    events: ['Payd', 'CloseDay', 'decision', 'resolve'],
  },
  'a second number': {
    ...{ devices: ['t1', 'r1'], numbers: ['n'], maxOps: 3, depth: 5, pairs: 2 },
    events: [...basic, 'secondNumber', 'review', 'Print', 'Void'],
  },
  'a receipt of two payments': {
    ...{ devices: [...twoTerminals, 'r1'], numbers: ['n', 'm'], maxOps: 5, depth: 3, pairs: 2 },
    seed: [
      ...[...paid, 'closeByHand 0', 'Pay t1 m', 't1 executes Pay 1, its answer is lost', 'the last moment of Pay 1', 'decision 1 no'],
      ...['Pay t2 m', 't2 refuses Pay 2', 't1 is asked about Pay 1: done', 'resolve 1 yes'],
    ],
    ...{ events: ['PrintTwoPaid', 'lateMoney', 'resolve', 'Void'], stale: ['PrintTwoPaid'] },
  },
  'an expired key': {
    ...{ devices: twoTerminals, numbers: ['n', 'm'], maxOps: 3, depth: 3, pairs: 1, keys: ['k'] },
    seed: ['Pay t1 n key k', 't1 refuses Pay 0', 'a day passes after Pay 0'],
    ...{ events: ['Pay', 'forget'], stale: ['Pay'] },
  },
  'no journal, and another terminal': {
    ...{ devices: twoTerminals, numbers: ['n'], maxOps: 3, depth: 3, pairs: 2, withoutJournal: ['t1'] },
    seed: ['Pay t1 n', 'the last moment of Pay 0', 'decision 0 no'],
    events: [...basic, 'lost', 'expired'],
  },
  // Shapes of events that the simulation has met (shapes.txt).
  'every kind is accepted': {
    ...{ devices: ['t1', 'r1'], numbers: ['n'], maxOps: 2, depth: 4, pairs: 1, seed: paid },
    events: ['Pay', 'CloseDoc', 'Void', 'Print', 'Cash', 'CloseDay', 'accepted', 'decision', 'closeByHand', 'expired'],
  },
  'accepted without a journal': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 2, depth: 5, pairs: 1, withoutJournal: ['t1'] },
    events: ['Pay', 'CloseDoc', 'Void', 'Abort', 'accepted', 'decision', 'expired'],
  },
  'a document without a journal': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 2, depth: 5, pairs: 1, withoutJournal: ['t1'], seed: paid },
    events: ['CloseDoc', 'Void', 'accepted', 'decision'],
  },
  'keys and acceptances': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 2, depth: 3, pairs: 1, keys: ['k'], isUnnamed: true },
    seed: ['Pay t1 key k', 't1 accepts Pay 0', 'gateway 1 writes that 0'],
    events: ['Pay', 'CloseDay', 'Abort', 'accepted', 'decision', 'closeByHand', 'Deadline'],
  },
  'keys of a register': {
    ...{ devices: ['r1'], numbers: ['n'], maxOps: 2, depth: 4, pairs: 1, keys: ['k'], isUnnamed: true },
    events: ['Print', 'Cash', 'Z', 'offline', 'decision', 'accepted'],
  },
  'keys of returns': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 3, depth: 4, pairs: 1, keys: ['k'], seed: [...paid, 'closeByHand 0'] },
    events: ['Refund', 'Void', 'CloseDay', 'decision'],
  },
  'the sale after a return': {
    ...{ devices: ['t1'], numbers: ['n', 'm'], maxOps: 4, depth: 2, pairs: 1 },
    seed: [...paid, 'closeByHand 0', 'Refund t1 0 1', 't1 executes Refund 1 and says', 'Pay t1 m', 't1 executes Pay 2 and says done'],
    events: ['CloseDoc', 'Refund', 'Void', 'closeByHand'],
  },
  'unnamed beside an open document': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 3, depth: 2, pairs: 1, isUnnamed: true },
    seed: [
      ...['Pay t1', 't1 executes Pay 0 and says done', 'the caller gets the outcome of Pay 0', 'closeByHand 0'],
      ...['Pay t1 n', 't1 executes Pay 1 and says done'],
    ],
    events: ['Pay', 'CloseDoc', 'closeByHand'],
  },
  'a register accepts': {
    ...{ devices: ['r1'], numbers: ['n'], maxOps: 1, depth: 5, pairs: 1 },
    events: ['Print', 'Cash', 'Z', 'accepted', 'decision', 'expired'],
  },
  'a register without a journal': {
    ...{ devices: ['r1'], numbers: ['n'], maxOps: 1, depth: 5, pairs: 1, withoutJournal: ['r1'] },
    events: ['Print', 'Cash', 'Z', 'accepted', 'decision', 'expired'],
  },
  'an invoice and another sale': {
    ...{ devices: ['t1'], numbers: ['n', 'oid'], maxOps: 2, depth: 4, pairs: 1, isInvoiceNew: true },
    events: ['Pay', 'Get', 'Payd', 'cancelInvoice', 'Expire'],
  },
  'an invoice that a card paid': {
    ...{ devices: ['t1'], numbers: ['oid'], maxOps: 2, depth: 2, pairs: 1 },
    ...{ seed: ['Pay t1 oid', 't1 executes Pay 0 and says done', 'closeByHand 0'], events: ['Get', 'Payd', 'Pay'] },
  },
  'a new invoice that a card paid': {
    ...{ devices: ['t1'], numbers: ['oid'], maxOps: 2, depth: 2, pairs: 1, isInvoiceNew: true },
    ...{ seed: ['Pay t1 oid', 't1 executes Pay 0 and says done', 'closeByHand 0'], events: ['Get', 'Payd', 'Pay'] },
  },
  'a CloseDoc in dispute': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 3, depth: 3, pairs: 1 },
    seed: [...paid, 'CloseDoc t1 0', 'the last moment of CloseDoc 1', 'decision 1 yes', 't1 is asked about CloseDoc 1: never'],
    events: ['CloseDoc', 'Pay', 'resolve'],
  },
  'a close in dispute before a sale': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 3, depth: 2, pairs: 1, isUnnamed: true },
    seed: [
      ...['CloseDay t1', 'the last moment of CloseDay 0', 'decision 0 yes', 't1 is asked about CloseDay 0: never'],
      ...['Pay t1 n', 't1 executes Pay 1 and says done'],
    ],
    events: ['CloseDay', 'resolve', 'closeByHand'],
  },
  'a second refund': {
    ...{ devices: ['t1'], numbers: ['n'], maxOps: 4, depth: 2, pairs: 1 },
    seed: [...paid, 'closeByHand 0', 'Refund t1 0 1', 't1 executes Refund 1 and says', 'Refund t1 0 1'],
    events: ['Refund', 'Void'],
  },
};
