// Which rows an event concerns: by ids and names only, never by state. Asked again after each read, until nothing is missing. Pure; the
// stores (memory, SQLite, PostgreSQL) only fetch.
import { parseUuid, sameNumber } from '../kernel/ids.ts';
import { cardElementsOf } from '../kernel/receipt.ts';
import type { Case, Id, Op } from './case.ts';
import type { Event } from './event.ts';
import { contentName, isPayment, isPrint, nameOf } from './rules/facts.ts';

export type Ref =
  | { what: 'op'; id: Id }
  /** A payment with everything that refers to it. */
  | { what: 'sale'; id: Id }
  /** Payments on a terminal with this number of the bank. */
  | { what: 'operations'; deviceId: Id; operationId: string }
  | { what: 'device'; id: Id }
  | { what: 'name'; merchantId: Id; value: string }
  | { what: 'key'; merchantId: Id; key: string }
  /** With its orphans. */
  | { what: 'invoice'; oid: Id };

export const refKey = (ref: Ref): string => Object.values(ref).join('\u0000');

/** `looked`: what was looked up already, found or not. */
export function wanted(event: Event, c: Case, looked: ReadonlySet<string>): Ref[] {
  const refs = [
    ...asked(event),
    ...subjectsOf(event, c).flatMap((op) => [...around(c, op), ...entered(event, op)]),
    ...listed(c),
    ...commands(c),
  ];
  const missing = new Map<string, Ref>();
  for (const ref of refs) {
    const key = refKey(ref);
    if (!looked.has(key)) missing.set(key, ref);
  }
  return [...missing.values()];
}

function asked(event: Event): Ref[] {
  switch (event.type) {
    case 'Pay':
      return [...ofCall(event), ...(event.documentNr === undefined ? content(event) : number(event, event.documentNr))];
    case 'CloseDoc':
    case 'Refund':
    case 'CancelTransaction': {
      const { deviceId, operationId, paymentId, documentNr } = event;
      const payment: Ref = paymentId === undefined ? { what: 'operations', deviceId, operationId } : { what: 'sale', id: paymentId };
      return [...ofCall(event), payment, ...number(event, documentNr), ...content(event)];
    }
    case 'Print': {
      const uid = event.receipt['Uid'];
      const numbers = cardElementsOf(event.receipt).flatMap(({ documentNr }) => (typeof documentNr === 'string' ? [documentNr] : []));
      const own = typeof uid === 'string' ? number(event, sameNumber(uid)) : content(event);
      return [...ofCall(event), ...own, ...numbers.flatMap((one) => number(event, sameNumber(one)))];
    }
    case 'Plain':
      return [...ofCall(event), ...content(event)];
    case 'Status':
      return statusRefs(event);
    case 'Create':
      return ofKey(event);
    case 'HardwareLost':
      return [{ what: 'device', id: event.deviceId }];
    case 'Get':
    case 'InvoiceStatus':
    case 'CancelInvoice':
    case 'Expire':
    case 'RemoveInvoice':
      return [{ what: 'invoice', oid: event.oid }];
    case 'Payd':
      return [
        { what: 'invoice', oid: event.oid },
        { what: 'device', id: event.deviceId },
      ];
    default:
      return [{ what: 'op', id: event.id }];
  }
}

interface Keyed {
  merchantId: Id;
  key?: { key: string } | undefined;
}

const ofCall = (event: Keyed & { deviceId: Id }): Ref[] => [{ what: 'device', id: event.deviceId }, ...ofKey(event)];
const ofKey = ({ merchantId, key }: Keyed): Ref[] => (key ? [{ what: 'key', merchantId, key: key.key }] : []);

/** A number may be an OID. */
function number({ merchantId }: { merchantId: Id }, value: string): Ref[] {
  const oid = parseUuid(value);
  return [{ what: 'name', merchantId, value }, ...(oid === undefined ? [] : [{ what: 'invoice', oid } as const])];
}

const content = ({ merchantId, deviceId, requestHash }: { merchantId: Id; deviceId: Id; requestHash?: string | undefined }): Ref[] =>
  requestHash === undefined ? [] : [{ what: 'name', merchantId, value: contentName(deviceId, requestHash) }];

function statusRefs({ merchantId, oid, documentNr, receiptUid, idempotencyKey }: Extract<Event, { type: 'Status' }>): Ref[] {
  const names = [documentNr, receiptUid].filter((value) => value !== undefined);
  return [
    ...(oid === undefined ? [] : [{ what: 'op', id: oid } as const]),
    ...names.map((value) => ({ what: 'name', merchantId, value }) as const),
    ...(idempotencyKey === undefined ? [] : [{ what: 'key', merchantId, key: idempotencyKey } as const]),
  ];
}

/** The operations that the event itself is about: everything that depends on them is needed. */
function subjectsOf(event: Event, c: Case): Op[] {
  const keyed = Object.values(c.keys).map(({ subjectId }) => subjectId);
  const own = 'id' in event ? [event.id] : event.type === 'Status' && event.oid !== undefined ? [event.oid] : [];
  const lost = event.type === 'HardwareLost' ? (c.devices[event.deviceId]?.unconfirmed ?? []) : [];
  return [...own, ...keyed, ...lost].flatMap((id) => c.ops[id] ?? []);
}

function around(c: Case, op: Op): Ref[] {
  const payments = [
    ...(isPayment(op) ? [op.id] : []),
    ...(op.targetId === null ? [] : [op.targetId]),
    ...op.paid.map(({ paymentId }) => paymentId),
  ];
  const named = [op, ...payments.flatMap((id) => c.ops[id] ?? [])];
  const names = named.flatMap((one) => {
    const value = nameOf(one);
    return value === undefined ? [] : number(one, value);
  });
  return [{ what: 'device', id: op.deviceId }, ...payments.map((id) => ({ what: 'sale', id }) as const), ...names];
}

/** A decision must not give a payment the numbers of another one. */
function entered(event: Event, { deviceId }: Op): Ref[] {
  if (event.type !== 'Decide' || event.operationId === undefined) return [];
  return [{ what: 'operations', deviceId, operationId: event.operationId }];
}

/** What the names, keys, invoices and devices of the case list. */
function listed(c: Case): Ref[] {
  const underNames = Object.values(c.names).flatMap(({ ops }) => ops);
  const ofKeys = Object.values(c.keys).map(
    ({ subjectKind, subjectId }): Ref => (subjectKind === 'command' ? { what: 'op', id: subjectId } : { what: 'invoice', oid: subjectId }),
  );
  const lost = Object.values(c.devices).flatMap(({ unconfirmed }) => unconfirmed);
  const invoices = Object.values(c.invoices).map(({ merchantId, oid }) => ({ what: 'name', merchantId, value: oid }) as const);
  const found = Object.values(c.ops).flatMap((op): Ref[] => {
    // An answer advises how its money can be returned, which depends on the day of its terminal.
    if (isPayment(op))
      return [
        { what: 'sale', id: op.id },
        { what: 'device', id: op.deviceId },
      ];
    return isPrint(op) ? op.paid.map(({ paymentId }) => ({ what: 'sale', id: paymentId }) as const) : [];
  });
  return [...[...underNames, ...lost].map((id) => ({ what: 'op', id }) as const), ...ofKeys, ...invoices, ...found];
}

/** What holds a device: the sentence of a refusal depends on it. */
const commands = (c: Case): Ref[] =>
  Object.values(c.devices).flatMap(({ commandId, documentId }) =>
    [commandId, documentId].flatMap((id) => (id === null ? [] : [{ what: 'op', id } as const])),
  );
