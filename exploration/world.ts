// A world: one merchant with a few devices and numbers, the ledger of its gateways, and the truth beside it: what each device's hardware has
// really done. Every action makes another state; nothing is changed in place.
import type { Unit } from '../src/database/commit-data.ts';
import type { Id, Invoice, Op, Presence } from '../src/money/case.ts';
import { nameKey } from '../src/money/case.ts';
import type { Answer, Event } from '../src/money/event.ts';
import { newInvoice } from '../src/money/rules/invoices.ts';
import { toColumns } from '../src/money/tables.ts';
import { freeDevice } from '../src/money/unit.ts';
import { type Ran, run } from './gateway.ts';
import type { Surroundings } from './memory-load.ts';
import { commitTo, emptyLedger, type Ledger, rowOf } from './memory-store.ts';

export const merchantId = 'm';
/** Time stands still: a deadline passes by moving the operation's own times into the past, so equal situations are equal states. */
export const now = 1_000_000_000;
export const longAgo = 1;

/** `hw`: the hardware that has it. `sent`: on the way or not begun. `absent`: it never arrives. `forgot`: the end of its journal is lost. */
export interface Truth {
  hw: string;
  did: 'sent' | 'running' | 'executed' | 'refused' | 'absent';
  hasForgotten?: true;
  /** Of a void or refund: the payment whose money it returned. */
  hits?: Id;
}

export interface State {
  ledger: Ledger;
  /** The journal that is connected, by device; null: the device keeps none. Absent: offline. */
  live: Readonly<Record<Id, string | null | undefined>>;
  features: Readonly<Record<Id, readonly string[]>>;
  truth: Readonly<Record<Id, Truth>>;
  /** Acceptances that a gateway has received and not written. */
  gathered: readonly Id[];
  /** Terminals that were asked to stop a payment. */
  stops: readonly Id[];
  /** A gateway that stands still between its decision and its commit. */
  pending: { unit: Unit; event: Event; label: string } | null;
  /** What was sent in the last action. */
  sent: Id | undefined;
  /** How many operations began: ids are counted. */
  count: number;
}

export interface WorldOptions {
  terminals?: readonly Id[];
  registers?: readonly Id[];
  /** Unpaid invoices by OID. */
  invoices?: readonly Id[];
  withoutJournal?: readonly Id[];
}

export function firstState({ terminals = [], registers = [], invoices = [], withoutJournal = [] }: WorldOptions): State {
  const devices = [...terminals, ...registers];
  const rows = [
    ...devices.map((id) => ({ table: 'device_locks', row: toColumns('devices', { ...freeDevice(id) }) })),
    ...invoices.map((oid) => ({ table: 'invoices', row: toColumns('invoices', { ...invoiceOf(oid), version: 1 }) })),
  ];
  const ledger = commitTo(emptyLedger, { writes: [], inserts: rows }, now);
  if (!ledger) throw new Error('The first rows cannot be written.');
  return {
    ledger,
    live: Object.fromEntries(devices.map((id) => [id, withoutJournal.includes(id) ? null : `${id}-a`])),
    features: Object.fromEntries(registers.map((id) => [id, ['paid']])),
    ...{ truth: {}, gathered: [], stops: [], pending: null, sent: undefined, count: 0 },
  };
}

const invoiceOf = (oid: Id): Invoice =>
  newInvoice({
    ...{ oid, merchantId, amountBani: 15000, validTo: null, callbackUri: 'http://erp/#State#', createdAt: now },
    ...{ receipt: '{}', qrSecretId: 1, pointOfSalesCode: null, preferredDeviceId: null },
  });

/** What the gateways know about the devices beside their rows. Devices whose id begins with r are registers. */
export function aroundOf({ live, features }: State): Surroundings {
  const presence = Object.entries(live).map(([id, journalId]): [string, Presence] => [
    nameKey(merchantId, id),
    {
      kind: id.startsWith('r') ? 'register' : 'terminal',
      isDisabled: false,
      isOnline: journalId !== undefined,
      journalId: journalId ?? null,
      features: features[id],
    },
  ]);
  return { now, presence: Object.fromEntries(presence) };
}

export interface Acted {
  state: State;
  answer?: Answer | undefined;
  unit?: Unit | undefined;
  /** Lines of timelines. */
  steps?: Ran['steps'];
  effects?: Ran['effects'];
}

/** Runs an event on the ledger, and does what the decision asks for. */
export function runIn(state: State, event: Event): Acted {
  const { ledger, answer, unit, effects, steps } = run(state.ledger, event, aroundOf(state));
  const isBegun = unit?.inserts.some(({ table }) => table === 'commands') === true;
  let next: State = { ...state, ledger, sent: undefined, count: state.count + (isBegun ? 1 : 0) };
  for (const effect of effects) {
    if (effect.type === 'send') next = send(next, effect.id);
    else if (effect.type === 'sendAbort') next = { ...next, stops: [...next.stops, effect.targetId] };
    else if (effect.type === 'delivered') next = runIn(next, { type: 'Delivery', id: effect.id, was: 'received' }).state;
  }
  return { state: next, answer, unit, steps, effects };
}

/** A command is published only on a connection with the journal that was committed [D304]. */
function send(state: State, id: Id): State {
  const op = opOf(state, id);
  const hw = hardwareOf(state, op.deviceId);
  if (state.live[op.deviceId] !== op.journalId)
    return runIn(state, { type: 'NotSent', id, reason: 'The device has other hardware.' }).state;
  return { ...state, sent: id, truth: { ...state.truth, [id]: { hw, did: 'sent' } } };
}

export const hardwareOf = ({ live }: State, deviceId: Id): string => live[deviceId] ?? deviceId;

/** The unit of a gateway that stood still; undefined: its guards do not hold any more, and it decides again. */
export function goOn(state: State): Acted {
  if (!state.pending) return { state };
  const { unit, event } = state.pending;
  const ledger = commitTo(state.ledger, unit, now);
  const begun = unit.inserts.find(({ table }) => table === 'commands');
  if (!ledger) return runIn({ ...state, pending: null }, event);
  const next = { ...state, ledger, pending: null, sent: undefined, count: state.count + (begun ? 1 : 0) };
  return { state: begun && begun.row['name'] !== 'Abort' ? send(next, String(begun.row['id'])) : next, unit };
}

/** Changes stored times, as the clock would. */
export function withTimes(state: State, id: Id, times: Partial<Pick<Op, 'answerBy' | 'settledAt' | 'missedAt'>>): State {
  const row = { ...state.ledger['commands']?.[id], ...toColumns('ops', times) };
  return { ...state, ledger: { ...state.ledger, commands: { ...state.ledger['commands'], [id]: row } } };
}

export const isPast = (op: Op) => op.answerBy === longAgo;
export const opsOf = ({ ledger }: State): Op[] => Object.values(ledger['commands'] ?? {}).map((row) => rowOf('ops', row));

export function opOf({ ledger }: State, id: Id): Op {
  const row = ledger['commands']?.[id];
  if (!row) throw new Error(`There is no operation ${id}.`);
  return rowOf('ops', row);
}
