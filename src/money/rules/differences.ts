// Where stored rows contradict the facts beside them: what `derive` makes of a whole case, compared with what is stored; and what no event puts
// right by itself, because a row names another one that does not belong there. For `tillgate doctor`, not for a decision.
import { type Case, type Close, type Device, type Draft, draftOf, type Id, type Name, nameKey, type Op, type TableName } from '../case.ts';
import { derive } from './derive.ts';
import { allOps, closesDay, isAbort, isOpen, isPayment, nameOf } from './facts.ts';
import { differs } from './roots.ts';

export type DifferenceKind =
  | 'standing'
  | 'refunded'
  | 'document'
  | 'print'
  | 'decision'
  | 'state'
  | 'lock'
  | 'bank day'
  | 'name'
  | 'paid by card'
  | 'invoice'
  | 'orphan';

export interface Difference {
  kind: DifferenceKind;
  /** Of the operation, device or invoice that it is about. */
  id: Id;
  stored: string;
  derived: string;
}

const kinds: { readonly [Table in TableName]?: Readonly<Record<string, DifferenceKind>> } = {
  ops: {
    standing: 'standing',
    refundedBani: 'refunded',
    document: 'document',
    // A document that nothing locks counts as ended by hand.
    isEndedByHand: 'lock',
    printId: 'print',
    isUnconfirmed: 'decision',
    isToConfirm: 'decision',
    state: 'state',
  },
  devices: { commandId: 'lock', documentId: 'lock', unconfirmed: 'decision', lastPayment: 'lock' },
  invoices: { isPaidByCard: 'paid by card', state: 'invoice' },
  orphans: { isListed: 'orphan', reason: 'orphan' },
};

/** `c`: everything around some operations, devices or invoices, of one moment (wanted.ts). */
export function differencesIn(c: Case): Difference[] {
  const derived = derive(draftOf(c));
  const found: Difference[] = [];
  for (const [table, fields] of Object.entries(kinds) as [TableName, Readonly<Record<string, DifferenceKind>>][])
    for (const [key, row] of Object.entries<object>(derived[table])) found.push(...changedFields(table, fields, c[table][key], row));
  for (const device of Object.values(c.devices)) found.push(...ofDevice(c, device, derived));
  for (const name of Object.values(c.names)) found.push(...ofName(c, name, derived));
  return found;
}

function changedFields(
  table: TableName,
  fields: Readonly<Record<string, DifferenceKind>>,
  stored: object | undefined,
  row: object,
): Difference[] {
  const values = row as Readonly<Record<string, unknown>>;
  const before = stored as typeof values | undefined;
  return differs(before ?? {}, row).flatMap((field) => {
    const kind = fields[field];
    const id = String(values[table === 'orphans' ? 'oid' : table === 'invoices' ? 'oid' : 'id']);
    // A row that is missing is one difference.
    if (kind === undefined || (!before && field !== 'isListed')) return [];
    return [{ kind, id, stored: textOf(before?.[field]), derived: textOf(values[field]) }];
  });
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : value === undefined ? 'missing' : JSON.stringify(value));

function ofDevice(c: Case, { id, commandId, documentId, unconfirmed, closes, lastPayment }: Device, derived: Draft): Difference[] {
  const found: Difference[] = [];
  const add = (kind: DifferenceKind, stored: string | null, what: string) =>
    found.push({ kind, id, stored: stored ?? 'none', derived: what });
  const isHere = (opId: Id, isMeant: (op: Op) => boolean) => {
    const op = c.ops[opId];
    return op !== undefined && op.deviceId === id && isMeant(op);
  };
  for (const op of allOps(c))
    if (op.deviceId === id && isOpen(op) && !isAbort(op) && commandId !== op.id) add('lock', commandId, `${op.id} is open`);
  if (commandId !== null && !isHere(commandId, () => true)) add('lock', commandId, 'no operation of this device');
  if (documentId !== null && !isHere(documentId, isPayment)) add('lock', documentId, 'no payment of this device');
  if (lastPayment && !isHere(lastPayment.id, (op) => isPayment(op) && op.sequence === lastPayment.sequence))
    add('lock', lastPayment.id, 'no payment of this device');
  for (const one of unconfirmed) if (!isHere(one, (op) => op.isUnconfirmed)) add('decision', one, 'no decision that waits for this device');
  for (const close of closes)
    if (!isHere(close.id, (op) => closesDay(op) && op.state === 'done' && op.sequence === close.sequence))
      add('bank day', close.id, 'not a close that was made');
  // Earlier closes than the last one decide nothing.
  const [last, shouldBe] = [closes.at(-1), derived.devices[id]?.closes.at(-1)];
  if (found.length === 0 && last?.id !== shouldBe?.id) add('bank day', shown(last), shown(shouldBe));
  return found;
}

const shown = (close: Close | undefined): string => close?.id ?? 'not closed';

/** The newest attempt is always listed; what `derive` adds is held by the name. */
function ofName(c: Case, name: Name, derived: Draft): Difference[] {
  const should = derived.names[nameKey(name.merchantId, name.value)]?.ops ?? [];
  const isOurs = (op: Op | undefined) => op?.merchantId === name.merchantId && nameOf(op) === name.value;
  const isNewest = ({ attempt }: Op) => attempt > 0 && attempt >= name.attempts;
  const unlisted = allOps(c).filter((op) => isOurs(op) && !name.ops.includes(op.id) && (isNewest(op) || should.includes(op.id)));
  const strange = name.ops.filter((id) => !should.includes(id) || !isOurs(c.ops[id]));
  const [id] = [...unlisted.map((op) => op.id), ...strange, ...(should.join() === name.ops.join() ? [] : should)];
  return id === undefined ? [] : [{ kind: 'name', id, stored: textOf(name.ops), derived: textOf(should) }];
}
