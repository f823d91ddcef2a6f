// A world: one merchant with a few devices and numbers, the ledger of its gateways, and the truth beside it: what each device's hardware has
// really done, and what each caller has learned. Every action makes another state; nothing is changed in place.
import type { Unit } from '../src/database/commit-data.ts';
import type { Id, Invoice, Op, Presence, Report } from '../src/money/case.ts';
import { nameKey } from '../src/money/case.ts';
import type { Answer, Effect, Event } from '../src/money/event.ts';
import { newInvoice } from '../src/money/rules/invoices.ts';
import { toColumns } from '../src/money/tables.ts';
import { freeDevice } from '../src/money/unit.ts';
import { planted, type Ran, run } from './gateway.ts';
import type { Surroundings } from './memory-load.ts';
import { commitTo, emptyLedger, type Ledger, opsIn, rowOf } from './memory-store.ts';

export interface World {
  devices: readonly Id[];
  /** `oid` stands for the number of an invoice. */
  numbers: readonly string[];
  maxOps: number;
  /** How many events are explored after the seed, and after how many the pairs of events of two gateways are compared. */
  depth: number;
  pairs: number;
  /** Kinds of events that happen in this world (moves.ts, calls.ts). */
  events: readonly string[];
  /** Kinds of events whose gateway may stand still between its decision and its commit. */
  stale?: readonly string[];
  /** The beginnings of labels. */
  seed?: readonly string[];
  /** The two terminals are interchangeable. */
  isSymmetric?: boolean;
  /** The bank's numbers start over: every payment of a terminal gets the same one. */
  hasReusedNumbers?: boolean;
  /** Journals lose their ends. */
  hasLapses?: boolean;
  withoutJournal?: readonly Id[];
  /** Calls without a name are known by their content, and callers note what they have received [D58]. */
  isUnnamed?: boolean;
  /** Idempotency keys that calls may carry. */
  keys?: readonly string[];
  /** The invoice is new and has a limit; or is not created yet. */
  isInvoiceNew?: boolean;
  isInvoiceAbsent?: boolean;
  /** Kinds of events whose commit may get no answer. */
  unanswered?: readonly string[];
  /** Calls name an address for completion notices. */
  hasNotices?: boolean;
  /** Of a seed (seeds.ts): its last state, what its devices report, and its calls once more. */
  start?: State;
  reported?: Readonly<Record<Id, Report>>;
  calls?: readonly Asking[];
}

/** What a caller or a person may ask for. `kind`: as worlds name it. */
export interface Asking {
  kind: string;
  label: string;
  event: Event;
}

export const merchantId = 'm';
/** Its devices begin with x. */
export const otherMerchantId = 'o';
export const merchantOf = (deviceId: Id) => (deviceId.startsWith('x') ? otherMerchantId : merchantId);
export const oid = 'aaaaaaaa-0000-4000-8000-000000000001';
export const priceBani = 15000;
/** Time stands still: a deadline passes by moving the operation's own times into the past, so equal situations are equal states. */
export const now = 1_000_000_000;
export const longAgo = 1;
/** Of an operation whose unit has not been committed. */
export const newId = 'new';

/** `hw`: the hardware that has it. `unsent`: committed. `sent`: on the way or not begun. `absent`: it never arrives. */
export interface Truth {
  hw: string;
  did: 'unsent' | 'sent' | 'running' | 'executed' | 'refused' | 'absent';
  /** The end of its journal is lost. */
  hasForgotten?: true;
  /** Of a void or refund: the payment whose money it returned. Of a sale by QR: the newest operation before it. */
  hits?: Id | undefined;
}

/** `try`: its commit got no answer. It is done or not, or will be done; `given up`: its caller was answered that this is not known. */
export interface Pending {
  unit: Unit;
  event: Event;
  label: string;
  try?: 'under way' | 'done' | 'given up';
}

export interface State {
  ledger: Ledger;
  /** The journal that is connected, by device; null: the device keeps none. Absent: offline. */
  live: Readonly<Record<Id, string | null | undefined>>;
  disabled: readonly Id[];
  features: Readonly<Record<Id, readonly string[]>>;
  truth: Readonly<Record<Id, Truth>>;
  /** Acceptances that a gateway has received and not written. */
  gathered: readonly Id[];
  /** Payments that a terminal was asked to stop. */
  stops: readonly Id[];
  /** Operations about which a person overruled a journal or declared it lost: what follows is that person's error, not the ledger's. */
  overruled: readonly Id[];
  /** Operations with a caller that waits for an answer, and those of which a caller has the outcome. */
  waiting: readonly Id[];
  informed: readonly Id[];
  /** A gateway that stands still between its decision and its commit. */
  pending: Pending | null;
  /** What was sent in the last action; not part of the state's key. */
  sent: Id | undefined;
  /** How many operations began: ids are counted. Those of a transcript have names. */
  count: number;
  isSeed?: true;
}

export interface WorldOptions {
  terminals?: readonly Id[];
  registers?: readonly Id[];
  /** Unpaid invoices by OID. */
  invoices?: readonly Id[];
  withoutJournal?: readonly Id[];
  /** The invoices have a limit. */
  isInvoiceLimited?: boolean;
}

export function firstState(options: WorldOptions): State {
  const { terminals = [], registers = [], invoices = [], withoutJournal = [], isInvoiceLimited = false } = options;
  const devices = [...terminals, ...registers];
  const rows = [
    ...devices.map((id) => ({ table: 'device_locks', row: toColumns('devices', { ...freeDevice(id) }) })),
    ...invoices.map((id) => ({ table: 'invoices', row: toColumns('invoices', { ...invoiceOf(id, isInvoiceLimited), version: 1 }) })),
  ];
  const ledger = commitTo(emptyLedger, { writes: [], inserts: rows }, now);
  if (!ledger) throw new Error('The first rows cannot be written.');
  const live = Object.fromEntries(devices.map((id) => [id, withoutJournal.includes(id) ? null : `${id}-a`]));
  return {
    ...{ ledger, live, features: Object.fromEntries(registers.map((id) => [id, ['paid']])) },
    ...{
      disabled: [],
      truth: {},
      gathered: [],
      stops: [],
      overruled: [],
      waiting: [],
      informed: [],
      pending: null,
      sent: undefined,
      count: 0,
    },
  };
}

const invoiceOf = (id: Id, isLimited: boolean): Invoice =>
  newInvoice({
    ...{ oid: id, merchantId, amountBani: 15000, validTo: isLimited ? now + 1 : null, callbackUri: 'http://erp/#State#', createdAt: now },
    ...{ receipt: '{}', qrSecretId: 1, pointOfSalesCode: null, preferredDeviceId: null },
  });

const surroundings = new WeakMap<State, Surroundings>();

/** What the gateways know about the devices beside their rows. Devices whose id begins with r are registers. */
export function aroundOf(state: State): Surroundings {
  let found = surroundings.get(state);
  if (!found) {
    const presence = Object.entries(state.live).map(([id, journalId]): [string, Presence] => [
      nameKey(merchantOf(id), id),
      {
        kind: id.startsWith('r') ? 'register' : 'terminal',
        isDisabled: state.disabled.includes(id),
        isOnline: journalId !== undefined,
        journalId: journalId ?? null,
        features: state.features[id],
      },
    ]);
    const key = `${Object.values(state.live).map(String).join()}/${state.disabled.join()}/${Object.values(state.features).join()}/${state.waiting.join()}`;
    found = { now, presence: Object.fromEntries(presence), waitedFor: new Set(state.waiting), key };
    surroundings.set(state, found);
  }
  return found;
}

export interface Acted {
  state: State;
  answer?: Answer | undefined;
  unit?: Unit | undefined;
  /** Lines of timelines. */
  steps?: Ran['steps'];
  effects?: Ran['effects'];
}

const nextId = ({ count, isSeed }: State): Id => (isSeed ? `s${count}` : String(count));

/** Of an operation that may be begun: it is counted. */
const eventWithId = (event: Event, id: Id): Event => ('newId' in event && event.newId === newId ? { ...event, newId: id } : event);

/** Runs an event on the ledger, and does what the decision asks for. */
export function runIn(before: State, event: Event): Acted {
  const state = overruling(before, event);
  const { ledger, answer, unit, effects, steps } = run(state.ledger, eventWithId(event, nextId(state)), aroundOf(state));
  const isUnnamed = 'requestHash' in event && event.requestHash !== undefined && event.newId === newId;
  const sold = unit && event.type === 'Payd' && answer?.code === 'NoError' ? withSale(state, event.oid, event.deviceId) : state;
  const next = withKnown(perform(counted(sold, ledger, unit), effects, isUnnamed), event, effects);
  return { state: isUnnamed ? withCaller(next, answer) : next, answer, unit, steps, effects };
}

/** A customer has paid by QR, after the newest close of the day. */
function withSale(state: State, id: Id, deviceId: Id): State {
  const hits = opsOf(state).findLast((op) => op.deviceId === deviceId && closesDay(op))?.id;
  return { ...state, truth: { ...state.truth, [id]: { hw: hardwareOf(state, deviceId), did: 'executed', hits } } };
}

/** A close of the day or a Z: read here, not asked of the rules. */
export const closesDay = ({ kind }: Op) => kind === 'CloseDay' || kind === 'Report';

function overruling(state: State, event: Event): State {
  const ids = event.type === 'HardwareLost' ? unconfirmedOn(state, event.deviceId) : event.type === 'Decide' ? [event.id] : [];
  const wrong = event.type === 'Decide' && opOf(state, event.id).state !== 'disputed' ? [] : ids;
  return wrong.length === 0 ? state : { ...state, overruled: [...new Set([...state.overruled, ...wrong])].sort() };
}

function unconfirmedOn(state: State, deviceId: Id): Id[] {
  return opsOf(state)
    .filter((op) => op.isUnconfirmed && op.deviceId === deviceId)
    .map(({ id }) => id);
}

export function counted(state: State, ledger: Ledger, unit: Unit | undefined): State {
  const isBegun = unit?.inserts.some(({ table }) => table === 'commands') === true;
  if (ledger === state.ledger && state.sent === undefined) return state;
  return { ...state, ledger, sent: undefined, count: state.count + (isBegun ? 1 : 0) };
}

function perform(state: State, effects: readonly Effect[], isWaitedFor: boolean): State {
  let next = state;
  for (const effect of effects) {
    if (effect.type === 'send') next = send(next, effect.id, isWaitedFor);
    else if (effect.type === 'sendAbort') next = { ...next, stops: [...next.stops, effect.targetId] };
    else if (effect.type === 'delivered')
      next = { ...runIn(next, { type: 'Delivery', id: effect.id, was: 'received' }).state, sent: next.sent };
  }
  return next;
}

/** A till that names a payment by its numbers has its outcome; a step of a person shows nothing about the till [D309]. */
function withKnown(state: State, event: Event, effects: readonly Effect[]): State {
  const known = 'isByPerson' in event && event.isByPerson ? [] : effects.flatMap((one) => (one.type === 'delivered' ? [one.id] : []));
  return known.length === 0 ? state : { ...state, informed: [...new Set([...state.informed, ...known])].sort() };
}

/** A repeat waits for the outcome as the first call does. */
function withCaller(state: State, answer: Answer | undefined): State {
  const id = answer?.fields.OID;
  return answer?.fields.Repeated && id !== undefined && !state.waiting.includes(id)
    ? { ...state, waiting: [...state.waiting, id].sort() }
    : state;
}

/** A command is published only on a connection with the journal that was committed [D304]. */
function send(state: State, id: Id, isWaitedFor: boolean): State {
  const op = opOf(state, id);
  if (state.live[op.deviceId] !== op.journalId && !planted.sendsToOtherHardware)
    return runIn(state, { type: 'NotSent', id, reason: 'The device has other hardware.' }).state;
  const truth: Truth = { hw: hardwareOf(state, op.deviceId), did: 'sent' };
  return {
    ...state,
    sent: id,
    truth: { ...state.truth, [id]: truth },
    waiting: isWaitedFor ? [...state.waiting, id].sort() : state.waiting,
  };
}

export const hardwareOf = ({ live }: State, deviceId: Id): string => live[deviceId] ?? deviceId;

/** The unit of a gateway that stood still; if its guards do not hold any more, it decides again. */
export function goOn(state: State): Acted {
  if (!state.pending) return { state };
  const { event } = state.pending;
  const unit = renamed(state.pending.unit, nextId(state));
  const ledger = commitTo(state.ledger, unit, now);
  if (!ledger) return runIn({ ...state, pending: null }, event);
  return { state: started(counted({ ...state, pending: null }, ledger, unit), unit, event), unit };
}

/** What the unit has begun is sent. */
export function started(state: State, { inserts }: Unit, event: Event): State {
  const begun = inserts.find(({ table }) => table === 'commands')?.row;
  if (!begun) return state;
  if (begun['name'] === 'Abort') return { ...state, stops: [...state.stops, String(begun['target_id'])] };
  const isWaitedFor = 'requestHash' in event && event.requestHash !== undefined && event.newId === newId;
  return send(state, String(begun['id']), isWaitedFor);
}

/** Ids are counted when an operation is committed, so that equal situations are equal states. */
export function renamed(unit: Unit, id: Id): Unit {
  if (!unit.inserts.some(({ table }) => table === 'commands')) return unit;
  const text = JSON.stringify(unit).replaceAll(`"${newId}"`, `"${id}"`).replaceAll(`\\"${newId}\\"`, `\\"${id}\\"`);
  return JSON.parse(text) as Unit;
}

type Times = Partial<Pick<Op, 'answerBy' | 'settledAt' | 'missedAt'>>;

/** Changes stored times, as the clock would. */
export const withTimes = (state: State, id: Id, times: Times): State => ({
  ...state,
  sent: undefined,
  ledger: ledgerWithTimes(state.ledger, id, times),
});

const timed = new WeakMap<Ledger, Map<string, Ledger>>();

/** The same change of a ledger makes the same one, of which everything is known that it was asked. */
function ledgerWithTimes(ledger: Ledger, id: Id, times: Times): Ledger {
  const mine = timed.get(ledger) ?? new Map<string, Ledger>();
  timed.set(ledger, mine);
  const place = id + JSON.stringify(times);
  let found = mine.get(place);
  if (!found) {
    const row = { ...ledger['commands']?.[id], ...toColumns('ops', times) };
    found = { ...ledger, commands: { ...ledger['commands'], [id]: row } };
    mine.set(place, found);
  }
  return found;
}

export const isPast = (op: Op) => op.answerBy === longAgo;

export const opsOf = ({ ledger }: State): readonly Op[] => opsIn(ledger);

export function opOf({ ledger }: State, id: Id): Op {
  const row = ledger['commands']?.[id];
  if (!row) throw new Error(`There is no operation ${id}.`);
  return rowOf('ops', row);
}
