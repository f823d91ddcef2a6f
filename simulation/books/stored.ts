// What the new core stores beside the states, because lists, figures and later calls read it [D300]: computed here from the states alone, not
// by its rules. The old core computes all of it when it is asked.
import type { Shop } from '../shop.ts';
import type { Books } from './booked.ts';

interface Row {
  id: string;
  merchant_id: string;
  device_id: string;
  name: string;
  state: string;
  standing: string;
  amount_bani: number | null;
  refunded_bani: number | null;
  target_id: string | null;
  document_nr: string | null;
  receipt_uid: string | null;
  document_state: string | null;
  attempt: number;
  is_ended_by_hand: number;
  is_unconfirmed: number;
  card_bani: number | null;
  paid: string | null;
  attention: string | null;
  removed_at: number | null;
}

type List = readonly Row[];

export function checkStored({ shop }: Books): void {
  const rows = shop.storage.peek('select * from commands', []) as unknown as List;
  const followers = Map.groupBy(rows, ({ target_id: id }) => id ?? '');
  for (const row of rows) checkStanding(shop, row, followers.get(row.id) ?? []);
  checkAttention(shop, rows);
  checkDevices(shop, rows);
  checkNames(shop, rows);
  checkCorrections(shop, rows);
}

const isDone = ({ state }: Row) => state === 'done';
const isReturn = ({ name }: Row) => name === 'Refund' || name === 'CancelTransaction';
const ownStanding: Readonly<Record<string, string>> = {
  ...{ sent: 'Open', unknown: 'Open', done: 'Done', refused: 'Refused', never: 'Never', disputed: 'Disputed' },
};

function checkStanding({ violated }: Pick<Shop, 'violated'>, row: Row, followers: List): void {
  const refundedBani = followers
    .filter((one) => one.name === 'Refund' && isDone(one))
    .reduce((bani, { amount_bani: amountBani }) => bani + (amountBani ?? 0), 0);
  const wanted = row.name === 'Pay' && isDone(row) ? standingOfPayment(row, followers, refundedBani) : ownStanding[row.state];
  if (row.standing !== wanted) violated(`${row.name} ${row.id} is stored as ${row.standing}, and by its states it is ${wanted}`);
  if (row.name === 'Pay' && (row.refunded_bani ?? 0) !== refundedBani)
    violated(`of Pay ${row.id}, ${row.refunded_bani} bani are stored as refunded instead of ${refundedBani}`);
}

function standingOfPayment(payment: Row, followers: List, refundedBani: number): string {
  if (followers.some((one) => isReturn(one) && one.state === 'disputed')) return 'Disputed';
  const has = (name: string) => followers.some((one) => one.name === name && isDone(one));
  if (has('CancelTransaction')) return 'Voided';
  if (refundedBani > 0 && refundedBani >= (payment.amount_bani ?? 0)) return 'Refunded';
  return has('CloseDoc') || payment.is_ended_by_hand === 1 ? 'Closed' : 'Done';
}

/** What the operations under one number together mean for a person [D80, D146, D305]. */
function checkAttention({ violated }: Pick<Shop, 'violated'>, rows: List): void {
  const numbered = Map.groupBy(rows, (row) => `${row.merchant_id} ${numberOf(row) ?? ''}`);
  for (const row of rows) {
    const isListed = numberOf(row) !== null && row.removed_at === null;
    const wanted = isListed ? attentionTo(rows, row, numbered.get(`${row.merchant_id} ${numberOf(row)}`) ?? []) : [];
    const stored = JSON.parse(row.attention ?? '[]') as string[];
    if (stored.toSorted().join() !== wanted.toSorted().join())
      violated(`${row.name} ${row.id} is on Attention as ${stored.join() || 'nothing'} instead of ${wanted.join() || 'nothing'}`);
  }
}

const numberOf = (row: Row) => (row.name === 'Pay' ? row.document_nr : row.name === 'PrintReceipt' ? row.receipt_uid : null);
const isFailed = ({ state }: Row) => state === 'refused' || state === 'never';
const mayHaveMoney = ({ standing }: Row) => ['Open', 'Disputed', 'Done', 'Closed'].includes(standing);
const charges = (row: Row) => row.name === 'Pay' || (row.card_bani ?? 0) > 0;
const names = (print: Row, payment: Row) => print.name === 'PrintReceipt' && (print.paid ?? '').includes(`"${payment.id}"`);

function attentionTo(rows: List, row: Row, equal: List): string[] {
  const isBeside = (one: Row) => equal.some((payment) => names(one, payment));
  const standing = equal.filter((one) => charges(one) && mayHaveMoney(one) && isBeside(one) === isBeside(row));
  const isNewest = charges(row) && standing.every((one) => one.attempt <= row.attempt || one.removed_at !== null);
  const twice = standing.length > 1 && standing.includes(row) && isNewest ? ['chargedTwice'] : [];
  if (row.name === 'PrintReceipt') {
    const payments = equal.filter(({ name }) => name === 'Pay');
    const isAlone = isDone(row) && !charges(row) && payments.length > 0 && payments.every(isFailed);
    return isAlone ? [...twice, 'receiptWithoutPayment'] : twice;
  }
  const naming = rows.filter((one) => names(one, row));
  if (row.standing === 'Voided') return naming.some(isDone) ? [...twice, 'voidedAfterReceipt'] : twice;
  const prints = [...naming, ...equal.filter(({ name }) => name === 'PrintReceipt')];
  const hasMoney = row.standing === 'Done' || row.standing === 'Closed';
  return hasMoney && prints.length > 0 && prints.every(isFailed) ? [...twice, 'paymentWithoutReceipt'] : twice;
}

/** A device is locked by what is open on it, and lists the decisions that its journal has not confirmed. */
function checkDevices({ storage, violated }: Shop, rows: List): void {
  for (const lock of storage.peek('select device_id, command_id, document_id, unconfirmed from device_locks', [])) {
    const { device_id: device, command_id: commandId, document_id: documentId } = lock;
    const here = rows.filter(({ device_id: id, name }) => id === device && name !== 'Abort');
    const open = here.filter(({ state }) => state === 'sent' || state === 'unknown').map(({ id }) => id);
    if (open.join() !== (commandId ?? '')) violated(`device ${device} is locked by ${commandId}, and ${open.join() || 'nothing'} is open`);
    // While its CloseDoc is disputed, an open document locks nothing [D143].
    const isInDoubt = ({ id }: Row) => here.some((one) => one.target_id === id && one.name === 'CloseDoc' && one.state === 'disputed');
    const documents = here.filter((row) => row.document_state === 'open' && row.standing !== 'Disputed' && !isInDoubt(row));
    const unclosed = documents.map(({ id }) => id).join();
    if (unclosed !== (documentId ?? ''))
      violated(`device ${device} has the document ${documentId}, and ${unclosed || 'nothing'} is not closed`);
    const waiting = here.filter((row) => row.is_unconfirmed === 1).map(({ id }) => id);
    const listed = JSON.parse(String(lock['unconfirmed'] ?? '[]')) as string[];
    if (listed.toSorted().join() !== waiting.toSorted().join())
      violated(`device ${device} waits for ${listed.join() || 'nothing'}, and not confirmed are ${waiting.join() || 'none'}`);
  }
}

/** A number lists every operation that was or may have been executed under it: otherwise it would be charged or printed again. */
function checkNames({ storage, violated }: Shop, rows: List): void {
  const names = new Map(
    storage
      .peek('select merchant_id, value, attempts, ops from names', [])
      .map((name) => [`${name['merchant_id']} ${name['value']}`, name]),
  );
  for (const row of rows) {
    const number = row.name === 'Pay' ? row.document_nr : row.name === 'PrintReceipt' ? row.receipt_uid : null;
    if (number === null) continue;
    const name = names.get(`${row.merchant_id} ${number}`);
    const listed = JSON.parse(String(name?.['ops'] ?? '[]')) as string[];
    const isHeld = !['refused', 'never'].includes(row.state) || row.is_unconfirmed === 1;
    if (isHeld && !listed.includes(row.id)) violated(`${row.name} ${row.id} is ${row.state}, and its number ${number} does not list it`);
    if (row.attempt < 1 || row.attempt > Number(name?.['attempts']))
      violated(`${row.name} ${row.id} is attempt ${row.attempt} of ${name?.['attempts']} under ${number}`);
  }
}

/** What was counted when the outcome became known first, and the corrections since, are what counts now [D303]. */
function checkCorrections({ storage, violated }: Shop, rows: List): void {
  const corrections = storage.peek('select operation_id, sum(amount_bani) as bani from money_corrections group by operation_id', []);
  const corrected = new Map(corrections.map(({ operation_id: id, bani }) => [String(id), Number(bani)]));
  const disputes = storage.peek(`select subject, detail from audit_log where action = 'disputed' order by id desc`, []);
  const first = new Map(disputes.map(({ subject, detail }) => [String(subject), (JSON.parse(String(detail)) as { from: string }).from]));
  for (const row of rows) {
    if (row.state === 'disputed') continue;
    const bani = (row.amount_bani ?? 0) * (isReturn(row) ? -1 : 1);
    const wanted = ((row.state === 'done' ? 1 : 0) - ((first.get(row.id) ?? row.state) === 'done' ? 1 : 0)) * bani;
    if ((corrected.get(row.id) ?? 0) !== wanted)
      violated(`${row.name} ${row.id} is corrected by ${corrected.get(row.id) ?? 0} bani instead of ${wanted}`);
  }
}
