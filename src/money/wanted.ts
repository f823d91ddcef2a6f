// Which rows an event concerns: by ids and names only, never by state. Asked again after each read, until nothing is missing. Pure; the
// stores (memory, SQLite, PostgreSQL) only fetch.
import { parseUuid, sameNumber } from '../kernel/ids.ts';
import { cardElementsOf } from '../kernel/receipt.ts';
import type { Case, Id, Op } from './case.ts';
import type { Event, Of } from './event.ts';
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

const mark = '\u0000';
export const refKey = (ref: Ref): string => Object.values(ref).join(mark);

/** What was not looked up yet. A reference is built only then: most of a case is named again in each round. */
class Missing {
  readonly #looked: ReadonlySet<string>;
  readonly #refs = new Map<string, Ref>();

  constructor(looked: ReadonlySet<string>) {
    this.#looked = looked;
  }

  op(id: Id): void {
    const key = `op${mark}${id}`;
    if (this.#isNew(key)) this.#refs.set(key, { what: 'op', id });
  }

  sale(id: Id): void {
    const key = `sale${mark}${id}`;
    if (this.#isNew(key)) this.#refs.set(key, { what: 'sale', id });
  }

  operations(deviceId: Id, operationId: string): void {
    const key = `operations${mark}${deviceId}${mark}${operationId}`;
    if (this.#isNew(key)) this.#refs.set(key, { what: 'operations', deviceId, operationId });
  }

  device(id: Id): void {
    const key = `device${mark}${id}`;
    if (this.#isNew(key)) this.#refs.set(key, { what: 'device', id });
  }

  name(merchantId: Id, value: string): void {
    const key = `name${mark}${merchantId}${mark}${value}`;
    if (this.#isNew(key)) this.#refs.set(key, { what: 'name', merchantId, value });
  }

  key(merchantId: Id, key: string): void {
    const place = `key${mark}${merchantId}${mark}${key}`;
    if (this.#isNew(place)) this.#refs.set(place, { what: 'key', merchantId, key });
  }

  invoice(oid: Id): void {
    const key = `invoice${mark}${oid}`;
    if (this.#isNew(key)) this.#refs.set(key, { what: 'invoice', oid });
  }

  all(): Ref[] {
    return [...this.#refs.values()];
  }

  #isNew(key: string): boolean {
    return !this.#looked.has(key) && !this.#refs.has(key);
  }
}

/** `looked`: what was looked up already, found or not. */
export function wanted(event: Event, c: Case, looked: ReadonlySet<string>): Ref[] {
  const missing = new Missing(looked);
  asked(event, missing);
  for (const op of subjectsOf(event, c)) {
    around(c, op, missing);
    // A decision must not give a payment the numbers of another one.
    if (event.type === 'Decide' && event.operationId !== undefined) missing.operations(op.deviceId, event.operationId);
  }
  listed(c, missing);
  // A Payd begins nothing on its device.
  if (event.type !== 'Payd') onDevices(c, missing);
  return missing.all();
}

/** Rows that are looked at without an event. */
export interface Subjects {
  ops?: readonly Id[];
  devices?: readonly Id[];
  invoices?: readonly Id[];
}

/** All rows on which anything stored about the subjects depends, and those that their devices name. */
export function wantedAround({ ops = [], devices = [], invoices = [] }: Subjects, c: Case, looked: ReadonlySet<string>): Ref[] {
  const missing = new Missing(looked);
  for (const id of ops) missing.op(id);
  for (const id of devices) missing.device(id);
  for (const oid of invoices) missing.invoice(oid);
  for (const id of ops) if (c.ops[id]) around(c, c.ops[id], missing);
  listed(c, missing);
  onDevices(c, missing);
  for (const { closes, lastPayment } of Object.values(c.devices))
    for (const { id } of lastPayment ? [...closes, lastPayment] : closes) missing.op(id);
  return missing.all();
}

function asked(event: Event, missing: Missing): void {
  switch (event.type) {
    case 'Pay':
      ofCall(event, missing);
      if (event.documentNr === undefined) content(event, missing);
      else number(event, event.documentNr, missing);
      return;
    case 'CloseDoc':
    case 'Refund':
    case 'CancelTransaction':
      ofCall(event, missing);
      if (event.paymentId === undefined) missing.operations(event.deviceId, event.operationId);
      else missing.sale(event.paymentId);
      number(event, event.documentNr, missing);
      content(event, missing);
      return;
    case 'Print':
      return receipt(event, missing);
    case 'Plain':
      ofCall(event, missing);
      content(event, missing);
      return;
    case 'Status':
      return status(event, missing);
    case 'Create':
      return ofKey(event, missing);
    case 'HardwareLost':
      return missing.device(event.deviceId);
    case 'Get':
    case 'InvoiceStatus':
    case 'CancelInvoice':
    case 'Expire':
    case 'RemoveInvoice':
      return missing.invoice(event.oid);
    case 'Payd':
      missing.invoice(event.oid);
      return missing.device(event.deviceId);
    default:
      return missing.op(event.id);
  }
}

function receipt(event: Of<'Print'>, missing: Missing): void {
  const uid = event.receipt['Uid'];
  ofCall(event, missing);
  if (typeof uid === 'string') number(event, sameNumber(uid), missing);
  else content(event, missing);
  for (const { documentNr } of cardElementsOf(event.receipt))
    if (typeof documentNr === 'string') number(event, sameNumber(documentNr), missing);
}

interface Keyed {
  merchantId: Id;
  key?: { key: string } | undefined;
}

function ofCall(event: Keyed & { deviceId: Id }, missing: Missing): void {
  missing.device(event.deviceId);
  ofKey(event, missing);
}

function ofKey({ merchantId, key }: Keyed, missing: Missing): void {
  if (key) missing.key(merchantId, key.key);
}

/** A number may be an OID. */
function number({ merchantId }: { merchantId: Id }, value: string, missing: Missing): void {
  missing.name(merchantId, value);
  const oid = parseUuid(value);
  if (oid !== undefined) missing.invoice(oid);
}

function content(event: { merchantId: Id; deviceId: Id; requestHash?: string | undefined }, missing: Missing): void {
  const { merchantId, deviceId, requestHash } = event;
  if (requestHash !== undefined) missing.name(merchantId, contentName(deviceId, requestHash));
}

function status({ merchantId, oid, documentNr, receiptUid, idempotencyKey }: Of<'Status'>, missing: Missing): void {
  if (oid !== undefined) missing.op(oid);
  if (documentNr !== undefined) missing.name(merchantId, documentNr);
  if (receiptUid !== undefined) missing.name(merchantId, receiptUid);
  if (idempotencyKey !== undefined) missing.key(merchantId, idempotencyKey);
}

/** The operations that the event itself is about: everything that depends on them is needed. */
function subjectsOf(event: Event, c: Case): Op[] {
  const keyed = Object.values(c.keys).map(({ subjectId }) => subjectId);
  const own = 'id' in event ? [event.id] : event.type === 'Status' && event.oid !== undefined ? [event.oid] : [];
  const lost = event.type === 'HardwareLost' ? (c.devices[event.deviceId]?.unconfirmed ?? []) : [];
  return [...own, ...keyed, ...lost].flatMap((id) => c.ops[id] ?? []);
}

function around(c: Case, op: Op, missing: Missing): void {
  missing.device(op.deviceId);
  named(op, missing);
  const payments = [isPayment(op) ? op.id : null, op.targetId, ...op.paid.map(({ paymentId }) => paymentId)];
  for (const id of payments) {
    if (id === null) continue;
    missing.sale(id);
    const payment = c.ops[id];
    if (payment) named(payment, missing);
  }
}

function named(op: Op, missing: Missing): void {
  const value = nameOf(op);
  if (value !== undefined) number(op, value, missing);
}

/** What the names, keys, invoices and operations of the case list. */
function listed(c: Case, missing: Missing): void {
  for (const { ops } of Object.values(c.names)) for (const id of ops) missing.op(id);
  for (const { subjectKind, subjectId } of Object.values(c.keys)) {
    if (subjectKind === 'command') missing.op(subjectId);
    else missing.invoice(subjectId);
  }
  for (const { merchantId, oid } of Object.values(c.invoices)) missing.name(merchantId, oid);
  for (const op of Object.values(c.ops)) {
    if (isPayment(op)) {
      missing.sale(op.id);
      // An answer advises how its money can be returned, which depends on the day of its terminal.
      missing.device(op.deviceId);
    } else if (isPrint(op)) for (const { paymentId } of op.paid) missing.sale(paymentId);
  }
}

/** What holds a device, because the sentence of a refusal depends on it, and what its journal must confirm. */
function onDevices(c: Case, missing: Missing): void {
  for (const { unconfirmed, commandId, documentId } of Object.values(c.devices)) {
    for (const id of unconfirmed) missing.op(id);
    if (commandId !== null) missing.op(commandId);
    if (documentId !== null) missing.op(documentId);
  }
}
