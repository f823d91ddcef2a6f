// What an ERP, a till, a customer and a person in the cabinet can ask for in a state.
import type { Id, Op } from '../src/money/case.ts';
import type { CallEvent, Event } from '../src/money/event.ts';
import { beganAfter } from './reading.ts';
import {
  type Asking,
  isPast,
  merchantId,
  merchantOf,
  newId,
  oid,
  opsOf,
  otherMerchantId,
  priceBani,
  type State,
  type World,
} from './world.ts';

export const numberOf = (number: string) => (number === 'oid' ? oid : number);

/** What a call has beside its own fields. */
interface Extra {
  label: string;
  fields: Partial<Pick<CallEvent, 'key' | 'requestHash'>>;
}

export function callsIn(state: State, world: World): Asking[] {
  const ops = opsOf(state);
  const begun = ops.length >= world.maxOps ? [] : beginnings(state, world, ops);
  return [...(world.calls ?? []), ...begun, ...byPeople(world, ops), ...aboutInvoices(state, world), ...foreign(state, world, ops)].filter(
    ({ kind }) => world.events.includes(kind),
  );
}

function beginnings(state: State, world: World, ops: readonly Op[]): Asking[] {
  const asked: Asking[] = [];
  const add = (kind: string, rest: string, event: CallEvent) => {
    for (const { label, fields } of extrasOf(world, `${kind} ${rest}`, event)) {
      asked.push({ kind, label: `${kind} ${rest}${label}`, event: { ...event, ...fields } });
    }
  };
  // An OID is not known before its invoice is stored.
  const numbers = world.numbers.filter((one) => one !== 'oid' || state.ledger['invoices']?.[oid]);
  for (const deviceId of world.devices) {
    const call = callOf(world, deviceId);
    if (deviceId.startsWith('t')) {
      for (const number of numbers) {
        add('Pay', `${deviceId} ${number}`, payOf(call, numberOf(number)));
        add('Abort', `${deviceId} ${number}`, cancelOf(world, deviceId, numberOf(number), 'none'));
      }
      if (world.isUnnamed) add('Pay', deviceId, { type: 'Pay', ...call, amountBani: priceBani });
      add('CloseDay', deviceId, { type: 'Plain', kind: 'CloseDay', args: {}, ...call });
    } else if (deviceId.startsWith('x')) {
      for (const number of numbers) add('Pay', `${deviceId} ${number}`, payOf(call, numberOf(number)));
    } else {
      for (const number of numbers) add('Print', `${deviceId} ${number}`, printOf(world, deviceId, numberOf(number), undefined));
      for (const number of numbers) add('PrintPaid', `${deviceId} u ${number}`, printOf(world, deviceId, 'u', numberOf(number)));
      for (const number of numbers) add('PrintCards', `${deviceId} ${number}`, printOfCards(world, deviceId, numberOf(number)));
      if (world.isUnnamed) add('Print', deviceId, printOf(world, deviceId, undefined, undefined));
      add('PrintTwoPaid', `${deviceId} u`, printOfTwo(world, deviceId, numbers.map(numberOf)));
      add('Z', deviceId, { type: 'Plain', kind: 'Report', args: { fiscal: true }, ...call });
      add('X', deviceId, { type: 'Plain', kind: 'Report', args: {}, ...call });
      add('Cash', deviceId, { type: 'Plain', kind: 'MoneyIn', args: { amount: 150 }, amountBani: priceBani, ...call });
    }
  }
  for (const payment of ops.filter((op) => op.kind === 'Pay' && op.operationId !== null)) {
    if (payment.state !== 'done' && payment.state !== 'disputed') continue;
    for (const [kind, rest, event] of aboutPayment(world, ops, payment)) add(kind, rest, event);
  }
  return asked;
}

/** Without a name a call is known by its content, but a CloseDoc by its payment; and in some worlds by a key. */
function extrasOf(world: World, content: string, { type }: CallEvent): Extra[] {
  const plain: Extra = { label: '', fields: world.isUnnamed && type !== 'CloseDoc' ? { requestHash: content } : {} };
  const keyed = (world.keys ?? []).map((key) => ({
    label: ` key ${key}`,
    fields: { ...plain.fields, key: { key, requestHash: content } },
  }));
  return [plain, ...keyed];
}

const payOf = (call: ReturnType<typeof callOf>, documentNr: string): CallEvent => ({
  type: 'Pay',
  ...call,
  amountBani: priceBani,
  documentNr,
});

const callOf = (world: World, deviceId: Id) => ({
  merchantId: merchantOf(deviceId),
  deviceId,
  newId,
  ...(world.hasNotices ? { callbackUri: 'http://erp' } : {}),
});

const cancelOf = (world: World, deviceId: Id, documentNr: string, operationId: string, amountBani = priceBani): CallEvent => ({
  ...{ type: 'CancelTransaction', ...callOf(world, deviceId), documentNr, operationId, amountBani, token: '' },
});

/** With a card element: of the payment that `documentNr` names, or of one under its own Uid, or charged by the register. */
function printOf(world: World, deviceId: Id, uid: string | undefined, documentNr: string | undefined): CallEvent {
  const element = { PaymentCode: 1, ...(documentNr === undefined ? {} : { documentNr }) };
  const receipt = {
    ...(uid === undefined ? {} : { Uid: uid }),
    Items: [{ Name: 'x', Quantity: 1, Price: priceBani / 100 }],
    Payments: [element],
  };
  return { type: 'Print', ...callOf(world, deviceId), receipt, contentHashes: [`receipt ${uid} ${documentNr}`] };
}

/** Two cards that the register charges itself: neither element names a payment. */
function printOfCards(world: World, deviceId: Id, uid: string): CallEvent {
  const half = { PaymentCode: 1, Amount: priceBani / 200 };
  const receipt = { Uid: uid, Items: [{ Name: 'x', Quantity: 1, Price: priceBani / 100 }], Payments: [half, half] };
  return { type: 'Print', ...callOf(world, deviceId), receipt, contentHashes: [`two cards ${uid}`] };
}

/** Two cards that were charged on terminals. */
function printOfTwo(world: World, deviceId: Id, numbers: readonly string[]): CallEvent {
  const Payments = numbers.map((documentNr) => ({ PaymentCode: 1, Amount: priceBani / 100, documentNr }));
  const receipt = { Uid: 'u', Items: [{ Name: 'x', Quantity: 1, Price: (numbers.length * priceBani) / 100 }], Payments };
  return { type: 'Print', ...callOf(world, deviceId), receipt, contentHashes: ['two payments'] };
}

function aboutPayment(world: World, ops: readonly Op[], payment: Op): [string, string, CallEvent][] {
  const { id, deviceId, operationId, rrn, amountBani } = payment;
  const whole = amountBani ?? priceBani;
  const documentNr = payment.documentNr ?? 'none';
  const call = { ...callOf(world, deviceId), documentNr, operationId: operationId ?? '' };
  const all: [string, string, CallEvent][] = [['CloseDoc', `${deviceId} ${id}`, { type: 'CloseDoc', ...call }]];
  all.push(['CloseDocByPerson', `${deviceId} ${id}`, { type: 'CloseDoc', ...call, isByPerson: true }]);
  // Where the bank's numbers start over, a till names only its newest payment that has the number.
  const isHidden =
    world.hasReusedNumbers &&
    ops.some((op) => op.kind === 'Pay' && beganAfter(ops, op.id, id) && op.state === 'done' && op.deviceId === deviceId);
  if (isHidden) return all;
  all.push(['Void', `${deviceId} ${id}`, cancelOf(world, deviceId, documentNr, operationId ?? '', whole)]);
  for (const half of [1, 2])
    all.push([
      'Refund',
      `${deviceId} ${id} ${half}`,
      { type: 'Refund', ...call, rrn: rrn ?? '', amountBani: Math.floor((half * whole) / 2) },
    ]);
  return all;
}

/** The bank's numbers as the operator reads them at the terminal. */
export function bankNumbers(world: World, id: Id): { operationId: string; rrn: string } {
  const said = world.reported?.[id];
  if (said) return { operationId: String(said['operationId']), rrn: String(said['rrn']) };
  return { operationId: world.hasReusedNumbers ? 'b' : `b${id}`, rrn: `r${id}` };
}

/** What a merchant asks about the devices, payments and invoices of the other one. */
function foreign({ ledger }: State, world: World, ops: readonly Op[]): Asking[] {
  const asked: Asking[] = [];
  const add = (label: string, event: Event) => asked.push({ kind: 'foreign', label: `foreign ${label}`, event });
  for (const deviceId of world.devices.filter((id) => !id.startsWith('r'))) {
    const other = { ...callOf(world, deviceId), merchantId: deviceId.startsWith('x') ? merchantId : otherMerchantId };
    for (const number of world.numbers) add(`Pay ${deviceId} ${number}`, payOf(other, numberOf(number)));
    for (const { id, operationId, documentNr, rrn } of ops.filter((op) => op.kind === 'Pay' && op.operationId !== null)) {
      const named = { documentNr: documentNr ?? '', operationId: operationId ?? '' };
      for (const call of [other, callOf(world, deviceId)].filter(
        (one) => one.merchantId !== merchantOf(ops.find((op) => op.id === id)?.deviceId ?? ''),
      )) {
        add(`Void ${deviceId} ${id}`, { type: 'CancelTransaction', ...call, ...named, amountBani: priceBani, token: '' });
        add(`Refund ${deviceId} ${id}`, { type: 'Refund', ...call, ...named, rrn: rrn ?? '', amountBani: priceBani });
        add(`CloseDoc ${deviceId} ${id}`, { type: 'CloseDoc', ...call, ...named });
      }
    }
  }
  if (ledger['invoices']?.[oid]) {
    add('Payd', { type: 'Payd', merchantId: otherMerchantId, oid, receiptId: 'q', deviceId: 'x1', hasKey: true });
    add('Get', { type: 'Get', merchantId: otherMerchantId, oid });
    add('cancelInvoice', { type: 'CancelInvoice', merchantId: otherMerchantId, oid });
  }
  return asked;
}

function byPeople(world: World, ops: readonly Op[]): Asking[] {
  const asked: Asking[] = [];
  const add = (kind: string, label: string, event: Event) => asked.push({ kind, label: `${kind} ${label}`, event });
  for (const op of ops.filter(({ kind }) => kind !== 'Abort')) {
    const { id, contradiction } = op;
    const isOpen = op.state === 'sent' || op.state === 'unknown';
    const known = op.kind === 'Pay' ? bankNumbers(world, id) : {};
    if (isOpen && (isPast(op) || op.isEndedUnknown)) {
      add('decision', `${id} yes`, { type: 'Decide', id, isDone: true, reason: '', ...known });
      if (op.kind === 'Pay') add('decision', `${id} bare`, { type: 'Decide', id, isDone: true, reason: '' });
      add('decision', `${id} no`, { type: 'Decide', id, isDone: false, reason: '' });
    }
    if (op.state === 'disputed') {
      add('resolve', `${id} yes`, {
        type: 'Decide',
        id,
        isDone: true,
        reason: '',
        contradiction,
        ...(op.operationId === null ? known : {}),
      });
      if (op.kind === 'Pay' && op.operationId === null)
        add('resolve', `${id} bare`, { type: 'Decide', id, isDone: true, reason: '', contradiction });
      add('resolve', `${id} no`, { type: 'Decide', id, isDone: false, reason: '', contradiction });
    } else if (!isOpen && op.review && !op.review.isClosed) {
      add('review', id, { type: 'Decide', id, isDone: op.state === 'done', reason: '', contradiction });
    }
    if (op.document === 'open') add('closeByHand', id, { type: 'CloseByHand', id, reason: '' });
    add('remove', id, { type: 'Remove', id });
  }
  const waiting = new Set(ops.filter(({ isUnconfirmed }) => isUnconfirmed).map(({ deviceId }) => deviceId));
  for (const deviceId of waiting) add('lost', deviceId, { type: 'HardwareLost', deviceId, reason: '' });
  return asked;
}

/** With a key, the repeat has another OID, which was drawn for it. */
function creations(isThere: boolean, { keys = [] }: World): Asking[] {
  const newId = isThere ? oid.replace(/1$/, '2') : oid;
  const given = { amountBani: priceBani, validTo: null, callbackUri: null, receipt: '{}', qrSecretId: 1, pointOfSalesCode: null };
  const event: Event = { type: 'Create', merchantId, newId, ...given, preferredDeviceId: null };
  const keyed = keys.map(
    (key): Asking => ({ kind: 'Create', label: `Create key ${key}`, event: { ...event, key: { key, requestHash: 'Create' } } }),
  );
  return isThere || keys.length > 0 ? keyed : [{ kind: 'Create', label: 'Create', event }];
}

function aboutInvoices({ ledger }: State, world: World): Asking[] {
  const isThere = ledger['invoices']?.[oid] !== undefined;
  if (!isThere) return creations(isThere, world);
  const payd = world.devices.map((deviceId): Asking => {
    const event: Event = { type: 'Payd', merchantId, oid, receiptId: `q-${deviceId}`, deviceId, hasKey: true };
    return { kind: 'Payd', label: `Payd ${deviceId}`, event };
  });
  return [
    ...creations(isThere, world),
    ...payd,
    { kind: 'RemoveInvoice', label: 'RemoveInvoice', event: { type: 'RemoveInvoice', oid } },
    {
      kind: 'RemoveInvoice',
      label: 'RemoveInvoice, its callback is not sent',
      event: { type: 'RemoveInvoice', oid, isCallbackPending: true },
    },
    { kind: 'Get', label: 'Get', event: { type: 'Get', merchantId, oid } },
    { kind: 'cancelInvoice', label: 'cancelInvoice', event: { type: 'CancelInvoice', merchantId, oid } },
    { kind: 'Expire', label: 'Expire', event: { type: 'Expire', oid } },
  ];
}
