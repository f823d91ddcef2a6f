// Every action that can happen in a state of a world: what callers and people ask for, what devices do and say, what time and gateways do.
import type { Unit } from '../src/database/commit-data.ts';
import type { Ending, Id, Op, Report, Source } from '../src/money/case.ts';
import type { Answer, Event } from '../src/money/event.ts';
import { bankNumbers, callsIn } from './calls.ts';
import { plan, prepare } from './gateway.ts';
import { stepsAfterLostAnswer } from './lost-answers.ts';
import { assume } from './memory-load.ts';
import { commitTo } from './memory-store.ts';
import { kindOf } from './reading.ts';
import {
  aroundOf,
  goOn,
  hardwareOf,
  isPast,
  longAgo,
  oid,
  opsOf,
  priceBani,
  runIn,
  type State,
  type Truth,
  type World,
  withTimes,
} from './world.ts';

export interface Move {
  label: string;
  next: State;
  /** What the gateway decided about; absent: the ledger did not change. */
  event?: Event;
  /** The state in which it decided: the device had acted already. */
  from: State;
  answer?: Answer | undefined;
  unit?: Unit | undefined;
}

/** Counts what the gateways answered, and whether that changed anything: no kind may stay unreached (reached.ts). */
export type Counter = (event: Event, answer: Answer | undefined, hasChanged: boolean, from?: State) => void;

class Moves {
  readonly all: Move[] = [];
  readonly state: State;
  readonly world: World;
  readonly #count: Counter;

  constructor(state: State, world: World, count: Counter) {
    this.state = state;
    this.world = world;
    this.#count = count;
  }

  has(kind: string): boolean {
    return this.world.events.includes(kind);
  }

  add(label: string, next: State): void {
    this.all.push({ label, next: next.sent === undefined ? next : { ...next, sent: undefined }, from: this.state });
  }

  ask(kind: string, label: string, event: Event, from = this.state): void {
    const { state: next, answer, unit } = runIn(from, event);
    this.#count(event, answer, unit !== undefined, from);
    if (unit || next !== this.state) this.all.push({ label, next, from, answer, ...(unit ? { event, unit } : {}) });
    if (!unit || this.state.pending) return;
    const { stale = [], unanswered = [] } = this.world;
    const late = stale.includes(kind) || unanswered.includes(kind) ? preparedIn(from, event) : undefined;
    if (!late) return;
    const pending = { unit: late, event, label };
    if (stale.includes(kind)) this.add(`gateway 2 decides and stands still: ${label}`, { ...from, pending });
    if (unanswered.includes(kind))
      this.add(`gateway 2 commits and gets no answer: ${label}`, { ...from, pending: { ...pending, try: 'under way' } });
  }
}

/** The unit that a gateway would commit now; its operation has no number yet. */
function preparedIn(state: State, event: Event): Unit | undefined {
  const around = aroundOf(state);
  const assumed = assume(event, around);
  const unit = assumed && plan(assumed, event).unit;
  return unit && commitTo(state.ledger, unit, around.now) ? unit : prepare(state.ledger, event, around).unit;
}

export function movesIn(state: State, world: World, count: Counter = () => undefined): Move[] {
  const moves = new Moves(state, world, count);
  for (const { kind, label, event } of callsIn(state, world)) moves.ask(kind, label, event);
  const ops = opsOf(state);
  for (const op of ops) {
    if (op.kind === 'Abort') addAbort(moves, op);
    else if (state.truth[op.id]) {
      addDevice(moves, op, ops);
      addTime(moves, op);
    }
    addCaller(moves, op);
  }
  for (const id of state.gathered) {
    const from = { ...state, gathered: state.gathered.filter((one) => one !== id) };
    moves.ask('accepted', `gateway 1 writes that ${id} was accepted`, { type: 'Accepted', id }, from);
  }
  if (moves.has('swap')) addSwaps(moves, ops);
  if (moves.has('Expire')) addLimit(moves);
  if (moves.has('offline')) addPresence(moves);
  if (state.pending?.try)
    for (const { state: next, ...step } of stepsAfterLostAnswer(state, state.pending)) moves.all.push({ ...step, next, from: state });
  else if (state.pending) {
    const { state: next, unit } = goOn(state);
    moves.all.push({ label: `gateway 2 goes on: ${state.pending.label}`, next, from: state, unit });
  }
  return moves.all;
}

function addAbort(moves: Moves, { id, state }: Op): void {
  if ((state === 'sent' || state === 'unknown') && moves.has('abortRefused'))
    moves.ask('abortRefused', `the terminal refuses to stop for Abort ${id}`, { type: 'AbortRefused', id });
}

const withTruth = (state: State, id: Id, fields: Partial<Truth>): State => ({
  ...state,
  sent: undefined,
  truth: { ...state.truth, [id]: { ...(state.truth[id] as Truth), ...fields } },
});

/** A void reaches the payment that this hardware knows under the bank's number; where numbers start over, its newest one. */
function executed(state: State, op: Op, world: World): State {
  const kind = kindOf(op);
  if (kind !== 'Void' && kind !== 'Refund') return withTruth(state, op.id, { did: 'executed' });
  const { hw } = state.truth[op.id] as Truth;
  const own = opsOf(state).filter((one) => one.kind === 'Pay' && state.truth[one.id]?.hw === hw && state.truth[one.id]?.did === 'executed');
  return withTruth(state, op.id, { did: 'executed', hits: world.hasReusedNumbers ? own.at(-1)?.id : (op.targetId ?? undefined) });
}

export function reportOf(op: Op, world: World): Report {
  const { id } = op;
  const said = world.reported?.[id];
  if (said) return said;
  const amount = (op.amountBani ?? 0) / 100;
  switch (kindOf(op)) {
    case 'Pay':
      return { ...bankNumbers(world, id), authCode: 'a', amount };
    case 'Refund':
    case 'Void':
      return { rrn: `r${id}`, operationId: `b${id}`, amount };
    case 'Print':
      return { receiptId: `f${id}`, fiscalNumber: id, total: priceBani / 100 };
    case 'CloseDay':
      return { count: 1, amount: 1 };
    case 'Report':
      return { number: id };
    default:
      return {};
  }
}

/** What the device does with the command, and what it says: at once, late, or when it is asked. */
function addDevice(moves: Moves, op: Op, ops: readonly Op[]): void {
  const { state, world } = moves;
  const { id, deviceId } = op;
  const truth = state.truth[id] as Truth;
  const name = `${kindOf(op)} ${id}`;
  const journal = state.live[deviceId] ?? undefined;
  const isHere = hardwareOf(state, deviceId) === truth.hw;
  const isSilent = state.live[deviceId] === undefined;
  const canBegin = truth.did === 'sent' && !isPast(op);
  const say = (label: string, from: State, outcome: Ending, source: Source, report?: Report) =>
    moves.ask('report', label, { type: 'Report', id, outcome, source, journalId: journal, ...(report ? { report } : {}) }, from);
  const source = isPast(op) ? 'late-answer' : 'answer';
  if (isSilent) {
    // It got the command before.
    if (canBegin || truth.did === 'running') moves.add(`${deviceId} executes ${name} and is offline`, executed(state, op, world));
    return;
  }
  if (moves.has('expired') && isHere && (canBegin || truth.did === 'absent'))
    say(`${deviceId} gets ${name} too late`, withTruth(state, id, { did: 'absent' }), 'expired', source);
  if (isHere && (canBegin || truth.did === 'running')) {
    const done = executed(state, op, world);
    say(`${deviceId} executes ${name} and says done`, done, 'done', source, reportOf(op, world));
    moves.add(`${deviceId} executes ${name}, its answer is lost`, done);
    say(`${deviceId} refuses ${name}`, withTruth(state, id, { did: 'refused' }), 'refused', source);
    if (canBegin && moves.has('busy')) say(`${deviceId} is busy, not for ${name}`, withTruth(state, id, { did: 'absent' }), 'busy', source);
    if (canBegin && moves.has('accepted')) {
      const running = withTruth(state, id, { did: 'running' });
      moves.add(`${deviceId} accepts ${name}, gateway 1 has not written it`, { ...running, gathered: [...state.gathered, id].sort() });
    }
    if (moves.has('unclear')) {
      say(`${deviceId} executes ${name} and cannot tell`, done, 'unknown', source);
      say(`${deviceId} does not execute ${name} and cannot tell`, withTruth(state, id, { did: 'refused' }), 'unknown', source);
    }
    if (moves.has('wrongAmount') && op.kind === 'Pay')
      say(`${deviceId} executes ${name} with another amount`, done, 'done', source, { ...reportOf(op, world), amount: 1 });
  }
  if (state.live[deviceId] === null) return addLastTransaction(moves, op, ops);
  if (isHere) addRecall(moves, op, truth, say);
  else {
    say(`${journal} (other hardware) is asked about ${name}: never`, state, 'never', 'recall');
    if (truth.did === 'executed' && moves.has('bank'))
      say(`${journal} (other hardware) has learned from the bank: ${name} done`, state, 'done', 'recall', reportOf(op, world));
  }
}

type Say = (label: string, from: State, outcome: Ending, source: Source, report?: Report) => void;

/** The device looks into its journal. */
function addRecall(moves: Moves, op: Op, truth: Truth, say: Say): void {
  const { state, world } = moves;
  const { id, deviceId } = op;
  const name = `${kindOf(op)} ${id}`;
  const asked = `${deviceId} is asked about ${name}`;
  if (truth.hasForgotten) say(`${deviceId} has lost the end of its journal and says never about ${name}`, state, 'never', 'recall');
  else if (truth.did === 'executed') say(`${asked}: done`, state, 'done', 'recall', reportOf(op, world));
  else if (truth.did === 'refused') say(`${asked}: refused`, state, 'refused', 'recall');
  else if (truth.did === 'running') {
    if (moves.has('accepted')) moves.ask('accepted', `${asked}: it executes it`, { type: 'Accepted', id, isRunning: true });
  } else say(`${asked}: never`, withTruth(state, id, { did: 'absent' }), 'never', 'recall');
  const said = reportOf(op, world);
  const isNumbered = Object.keys(secondNumbers).some((field) => said[field] !== undefined);
  if (truth.did === 'executed' && op.outcome === 'done' && isNumbered && moves.has('secondNumber'))
    say(`${deviceId} reports ${name} with another number`, state, 'done', 'late-answer', { ...said, ...secondNumbers });
  if (truth.did === 'refused' && op.kind === 'Pay' && moves.has('lateMoney'))
    // Until a gateway has it, the money was not there.
    moves.ask(
      'lateMoney',
      `money of ${name} arrives after all: done, late`,
      { type: 'Report', id, outcome: 'done', source: 'late-answer', journalId: state.live[deviceId] ?? undefined, report: said },
      withTruth(state, id, { did: 'executed' }),
    );
  if (world.hasLapses && !truth.hasForgotten && (truth.did === 'running' || truth.did === 'executed'))
    moves.add(
      `${deviceId} forgets ${name}`,
      withTruth(state, id, { hasForgotten: true, did: truth.did === 'running' ? 'absent' : truth.did }),
    );
}

/** Two numbers for one command mean two operations [D49]. */
const secondNumbers = { operationId: 'second', rrn: 'second', receiptId: 'second' };

/** A device without a journal shows its last transaction when its command is overdue: this one, or another. */
function addLastTransaction(moves: Moves, op: Op, ops: readonly Op[]): void {
  const { state, world } = moves;
  const { id, deviceId } = op;
  if (!isPast(op) || state.truth[id]?.did === 'running') return;
  const last = ops.findLast((one) => one.deviceId === deviceId && state.truth[one.id]?.did === 'executed');
  const label = `${deviceId} shows its last transaction, asked about ${kindOf(op)} ${id}`;
  if (last?.id === id)
    moves.ask('report', `${label}: this one`, {
      type: 'Report',
      id,
      outcome: 'done',
      source: 'last-transaction',
      report: reportOf(op, world),
    });
  else moves.ask('report', `${label}: another`, { type: 'LastIsAnother', id });
}

/** The last moment of a command is answerBy and two minutes: no device begins it any more, and a person may decide [D63]. */
function addTime(moves: Moves, op: Op): void {
  const { state } = moves;
  const { id } = op;
  const name = `${kindOf(op)} ${id}`;
  if (!isPast(op)) {
    const isNotBegun = state.truth[id]?.did === 'sent' || state.truth[id]?.did === 'unsent';
    const absent = isNotBegun ? withTruth(state, id, { did: 'absent' }) : state;
    moves.add(`the last moment of ${name} passes`, withTimes(absent, id, { answerBy: longAgo }));
  } else if (moves.has('Deadline') && op.state === 'sent')
    moves.ask('Deadline', `the sweep finds ${name} overdue`, { type: 'Deadline', id });
  if (moves.has('forget') && op.settledAt !== null && op.settledAt !== longAgo && !state.waiting.includes(id))
    moves.add(
      `a day passes after ${name}`,
      withOldKeys(withTimes(state, id, { settledAt: longAgo, ...(op.missedAt === null ? {} : { missedAt: longAgo }) }), id),
    );
}

function withOldKeys(state: State, id: Id): State {
  const keys = Object.entries(state.ledger['idempotency_keys'] ?? {});
  const aged = keys.map(([key, row]) => [key, row['subject_id'] === id ? { ...row, created_at: longAgo } : row]);
  return keys.length === 0 ? state : { ...state, ledger: { ...state.ledger, idempotency_keys: Object.fromEntries(aged) } };
}

/** What the caller of an unnamed operation learns, and what its connection notes about that [D58]. */
function addCaller(moves: Moves, op: Op): void {
  const { state } = moves;
  const { id } = op;
  if (!state.waiting.includes(id)) return;
  const name = `${kindOf(op)} ${id}`;
  const left = { ...state, waiting: state.waiting.filter((one) => one !== id) };
  if (op.state === 'sent' || op.state === 'unknown' || op.state === 'disputed') {
    moves.ask('delivery', `the caller of ${name} is answered 3`, { type: 'Delivery', id, was: 'missed' }, left);
    if (op.state === 'disputed' && moves.has('lateNote'))
      moves.ask('delivery', `the caller got what ${name} was before its dispute`, { type: 'Delivery', id, was: 'received' }, left);
  } else {
    const informed = { ...left, informed: [...new Set([...state.informed, id])].sort() };
    moves.ask('delivery', `the caller gets the outcome of ${name}`, { type: 'Delivery', id, was: 'received' }, informed);
    moves.ask('delivery', `the caller of ${name} left before its outcome`, { type: 'Delivery', id, was: 'missed' }, left);
  }
}

function addSwaps(moves: Moves, ops: readonly Op[]): void {
  const { state, world } = moves;
  for (const id of world.devices) {
    if (state.live[id] === null || !(state.pending || ops.some((op) => op.deviceId === id))) continue;
    const other = state.live[id] === `${id}-a` ? `${id}-b` : `${id}-a`;
    moves.add(`${id} is replaced by other hardware`, { ...state, live: { ...state.live, [id]: other } });
  }
}

/** A device loses its connection, and has it again; a user disables it. */
function addPresence(moves: Moves): void {
  const { state, world } = moves;
  for (const id of world.devices) {
    const own = world.withoutJournal?.includes(id) ? null : `${id}-a`;
    const isOnline = state.live[id] !== undefined;
    moves.add(`${id} ${isOnline ? 'goes offline' : 'is online again'}`, {
      ...state,
      live: { ...state.live, [id]: isOnline ? undefined : own },
    });
    const isDisabled = state.disabled.includes(id);
    const disabled = isDisabled ? state.disabled.filter((one) => one !== id) : [...state.disabled, id].sort();
    moves.add(`${id} is ${isDisabled ? 'enabled' : 'disabled'}`, { ...state, disabled });
  }
}

function addLimit(moves: Moves): void {
  const { ledger } = moves.state;
  const row = ledger['invoices']?.[oid];
  if (!row || row['valid_to'] === null || row['valid_to'] === longAgo) return;
  const invoices = { ...ledger['invoices'], [oid]: { ...row, valid_to: longAgo } };
  moves.add('the limit of the invoice passes', { ...moves.state, ledger: { ...ledger, invoices } });
}
