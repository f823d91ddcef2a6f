// Lists the shapes of the events that the simulation meets, as the exploration of the new core knows them (exploration/shapes.ts): calls,
// answers of devices, and steps of people, each with the rows as they were before it.

import { invoiceStateOf } from '../exploration/reading.ts';
import { type OpRow, type Situation, shapesOf } from '../exploration/shapes.ts';
import type { Ending } from '../src/money/case.ts';
import type { Event } from '../src/money/event.ts';
import type { GatewayLife } from './gateway-life.ts';
import type { SharedStorage } from './shared-storage.ts';
import type { ShopDevice } from './shop-devices.ts';
import type { Passing } from './wire.ts';

export interface ShapeRecorder {
  readonly shapes: ReadonlySet<string>;
  passing(passing: Passing): void;
  /** The same gateway: each call of it is noted before it begins. */
  noting(life: GatewayLife): GatewayLife;
}

interface Deps {
  storage: Pick<SharedStorage, 'peek'>;
  devices: readonly ShopDevice[];
}

type Request = Record<string, unknown> & {
  deviceId: string;
  hashRequest?: () => string;
  idempotency?: { key: string; requestHash: string };
};
type Note = (request: Request) => Event | undefined;

/** A QR text begins with a version, and the OID as bytes. */
function oidIn(text: unknown): string {
  const value = String(text);
  if (value.includes('-')) return value;
  const hex = Buffer.from(value, 'base64').subarray(1, 17).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
const called = (type: string, fields: object = {}): Note => {
  return (request) => {
    const { idempotency: key, hashRequest } = request;
    return { type, newId: '', ...request, key, requestHash: hashRequest?.(), ...fields } as unknown as Event;
  };
};

/** By room and method. */
const notes: Readonly<Record<string, Readonly<Record<string, Note>>>> = {
  cards: {
    pay: called('Pay'),
    closeDoc: called('CloseDoc'),
    refund: called('Refund'),
    cancelTransaction: called('CancelTransaction'),
    closeDay: called('Plain', { kind: 'CloseDay' }),
    closeDocumentByHand: ({ commandId }) => ({ type: 'CloseByHand', id: String(commandId), reason: '' }),
  },
  fiscal: {
    cashIn: called('Plain', { kind: 'MoneyIn' }),
    cashOut: called('Plain', { kind: 'MoneyOut' }),
    createReport: called('Plain', { kind: 'Report' }),
    printReceipt: called('Print'),
  },
};

export function createShapeRecorder({ storage, devices }: Deps): ShapeRecorder {
  const shapes = new Set<string>();
  const situation = situationIn(storage, devices);
  const note = (event: Event | undefined) => {
    if (event) for (const shape of shapesOf(event, situation)) shapes.add(shape);
  };
  const wrapped = <Room extends object>(room: Room, of: (name: string, args: readonly unknown[]) => Event | undefined): Room =>
    new Proxy(room, {
      get(target, name, receiver) {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) => {
          note(of(String(name), args));
          return (method as (...all: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  const byRequest = (room: string) => (name: string, args: readonly unknown[]) => notes[room]?.[name]?.(args[0] as Request);
  return {
    shapes,
    passing({ kind, deviceId, message }) {
      if (kind === 'answer') note(saidBy(message, situation.journal(deviceId)));
    },
    noting: (life) => ({
      ...life,
      cards: wrapped(life.cards, byRequest('cards')),
      fiscal: wrapped(life.fiscal, byRequest('fiscal')),
      invoices: wrapped(life.invoices, ofInvoice),
      ledger: wrapped(life.ledger, ofPerson),
    }),
  };
}

function saidBy({ id, outcome }: { id: string; outcome: string }, journalId: string | null | undefined): Event {
  if (outcome === 'accepted' || outcome === 'running') return { type: 'Accepted', id, isRunning: outcome === 'running' };
  return { type: 'Report', id, outcome: outcome as Ending, source: 'answer', journalId: journalId ?? undefined };
}

function ofInvoice(name: string, args: readonly unknown[]): Event | undefined {
  const oid = oidIn(args[name === 'cancelUnpaidInvoice' ? 1 : 0]);
  if (name === 'scan') return { type: 'Get', oid };
  if (name === 'pay') return { type: 'Payd', oid, receiptId: '', deviceId: '' };
  return name === 'cancelUnpaidInvoice' ? { type: 'CancelInvoice', merchantId: '', oid } : undefined;
}

function ofPerson(name: string, [id, decision]: readonly unknown[]): Event | undefined {
  if (name === 'declareLost') return { type: 'HardwareLost', deviceId: '', reason: '' };
  if (name !== 'decide') return undefined;
  const { state, operationId } = decision as { state: string; operationId?: string };
  return { type: 'Decide', id: String(id), isDone: state === 'done', reason: '', operationId };
}

const columns = `c.*, (select count(*) from decisions d where d.command_id = c.id and d.lost_at is null and c.state in ('refused', 'never')) is_unconfirmed`;

function situationIn(storage: Deps['storage'], devices: readonly ShopDevice[]): Situation {
  const all = (where: string, ...values: unknown[]) =>
    storage.peek(`select ${columns} from commands c where ${where} order by issued_at, id`, values) as unknown as OpRow[];
  const first = (query: string, value: unknown) => storage.peek(query, [value])[0];
  return {
    op: (id) => all('id = ?', id)[0],
    under: (column, number) => all(`${column} = ? and name = ?`, number, column === 'document_nr' ? 'Pay' : 'PrintReceipt'),
    equal: (deviceId, hash) => all('device_id = ? and request_hash = ?', deviceId, hash),
    numbered: (deviceId, number) => all(`device_id = ? and operation_id = ? and name = 'Pay'`, deviceId, number),
    followers: (id) => all('target_id = ?', id),
    lock: (deviceId) => first('select command_id, document_id from device_locks where device_id = ?', deviceId),
    journal(id) {
      const target = devices.find((one) => one.id === id);
      return target?.device.isOn() ? (target.hasJournal ? target.device.journal().journalId : null) : undefined;
    },
    invoice: (oid) => invoiceStateOf(first('select state from invoices where oid = ?', oid)),
    key: (key) => first('select * from idempotency_keys where key = ?', key),
  };
}
