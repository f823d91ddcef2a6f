// Breadth first, so that the sequence of a violation is the shortest one.
import type { Answer, Event } from '../src/money/event.ts';
import { answersAs } from './gateway.ts';
import { invariants } from './invariants.ts';
import { forgetReleases } from './invariants-of-states.ts';
import type { Invariant, Judged } from './judged.ts';
import { type Counter, type Move, movesIn } from './moves.ts';
import { shapesOf } from './shapes.ts';
import { situationOf } from './situations.ts';
import { keyOfLedger, keyOfState } from './state-key.ts';
import { firstState, merchantId, oid, runIn, type State, type World } from './world.ts';

export interface Node {
  state: State;
  parent: Node | null;
  label: string;
  answer: Answer | undefined;
}

export interface Violation {
  invariant: string;
  why: string;
  /** Labels with their answers, from the empty ledger on. */
  sequence: string[];
}

export interface Explored {
  states: number;
  transitions: number;
  /** Events after the seed. */
  depth: number;
  isCut: boolean;
  violation?: Violation;
}

/** What a search has met: by `event code`, how often, and how often it changed the ledger; by invariant, how often it was interesting; shapes of events. */
export interface Met {
  shapes: Record<string, number>;
  reached: Record<string, { times: number; changed: number }>;
  interesting: Record<string, number>;
}
export const nothingMet = (): Met => ({ shapes: {}, reached: {}, interesting: {} });

export const counterOf =
  ({ shapes, reached }: Met): Counter =>
  (event, answer, hasChanged, from) => {
    if (from) for (const shape of shapesOf(event, situationOf(from))) shapes[shape] = (shapes[shape] ?? 0) + 1;
    const place = `${nameOfEvent(event)} ${answer?.code ?? '-'}`;
    reached[place] ??= { times: 0, changed: 0 };
    reached[place].times += 1;
    if (hasChanged) reached[place].changed += 1;
  };

function nameOfEvent(event: Event): string {
  if (event.type === 'Report') return `Report ${event.outcome}`;
  if (event.type === 'Plain') return event.kind;
  if (event.type === 'Decide') return event.isDone ? 'Decide done' : 'Decide not done';
  return event.type === 'Delivery' ? `Delivery ${event.was}` : event.type;
}

export function sequenceOf(node: Node): string[] {
  const lines: string[] = [];
  for (let at: Node | null = node; at?.parent; at = at.parent) lines.unshift(lineOf(at));
  return lines;
}

const lineOf = ({ label, answer }: Pick<Node, 'label' | 'answer'>): string => {
  if (!answer) return label;
  const { OID, State, AlsoUnderThisNumber: also } = answer.fields;
  const others = also?.map((one) => `${one.OID} ${one.State}`).join(', ');
  return `${label} -> ${answer.code}${OID === undefined ? '' : ` about ${OID}`}${State ? ` ${State}` : ''}${others ? ` (also ${others})` : ''}`;
};

/** An invoice that is not new has been scanned. */
function firstOf({ devices, numbers, isInvoiceNew = false, ...world }: World): State {
  const state = firstState({
    ...{ terminals: devices.filter((id) => !id.startsWith('r')), registers: devices.filter((id) => id.startsWith('r')) },
    ...{
      invoices: numbers.includes('oid') && !world.isInvoiceAbsent ? [oid] : [],
      withoutJournal: world.withoutJournal ?? [],
      isInvoiceLimited: isInvoiceNew,
    },
  });
  return isInvoiceNew || world.isInvoiceAbsent ? state : { ...state, ledger: runIn(state, { type: 'Get', merchantId, oid }).state.ledger };
}

/** A seed is a transcript: each line is the beginning of the label of one possible move. */
export function startOf(world: World, count?: Counter): Node {
  if (world.start) return { state: world.start, parent: null, label: '', answer: undefined };
  let node: Node = { state: firstOf(world), parent: null, label: '', answer: undefined };
  for (const line of world.seed ?? []) {
    const all = movesIn(node.state, { ...world, events: [...world.events, ...seedEvents] }, count);
    const move = all.find(({ label }) => label === line) ?? all.find(({ label }) => label.startsWith(line));
    if (!move) throw new Error(`The seed's "${line}" is not possible, only: ${all.map(({ label }) => label).join(' | ')}`);
    node = { state: move.next, parent: node, label: move.label, answer: move.answer };
  }
  return node;
}

/** A seed may use what its world does not go on with. */
const seedEvents = [
  'Pay',
  'CloseDoc',
  'Void',
  'Refund',
  'Abort',
  'Print',
  'decision',
  'resolve',
  'closeByHand',
  'CloseDay',
  'accepted',
  'lateMoney',
  'forget',
];

/** Processor time of this thread: a search is as long on a busy machine. */
export function coreMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

export interface Limits {
  depth: number;
  /** Of processor time; the search is cut, and says so. */
  limitMs?: number;
  /** Transitions. */
  most?: number;
}

export function explore(world: World, { depth, limitMs = 60_000, most = Number.POSITIVE_INFINITY }: Limits, met: Met): Explored {
  const count = counterOf(met);
  const start = startOf(world, count);
  const judge = judgeOf(world, met, count);
  const seen = new Set([keyOfState(start.state, world)]);
  const began = coreMs();
  forgetReleases();
  let level = [start];
  let transitions = 0;
  const result = (at: number, isCut = false): Explored => ({ states: seen.size, transitions, depth: at, isCut });
  for (let at = 1; at <= depth && level.length > 0; at += 1) {
    const next: Node[] = [];
    for (const node of level) {
      if (coreMs() - began > limitMs || transitions > most) return result(at - 1, true);
      const moves = movesOrFault(node, world, count);
      if ('invariant' in moves) return { ...result(at), violation: moves };
      for (const move of moves) {
        transitions += 1;
        const child: Node = { state: move.next, parent: node, label: move.label, answer: move.answer };
        const key = keyOfState(move.next, world);
        const isNew = !seen.has(key);
        const violation = judge(node, child, move, isNew);
        if (violation) return { ...result(at), violation };
        if (!isNew) continue;
        seen.add(key);
        if (at < depth) next.push(child);
      }
      // Its sequence is needed still, its rows are not.
      node.state = noState;
    }
    level = next;
  }
  return result(depth);
}

const noState = {} as State;

export function movesOrFault(node: Node, world: World, count?: Counter): Move[] | Violation {
  try {
    return movesIn(node.state, world, count);
  } catch (error) {
    return { invariant: 'every event is decided', why: String((error as Error).stack), sequence: sequenceOf(node) };
  }
}

type Judge = (node: Node, child: Node, move: Move, isNew: boolean) => Violation | undefined;

export function judgeOf(world: World, met: Met, count: Counter): Judge {
  const ledgers = new Map<string, State['ledger']>();
  return (node, child, move, isNew) => {
    const judged = { before: node.state, after: child.state, world, move, count };
    const place = keyOfLedger(child.state);
    const equal = ledgers.get(place);
    if (equal !== undefined && equal !== child.state.ledger) answersAs(child.state.ledger, equal);
    const found = firstWrong(invariants.transitions, judged, met) ?? (isNew ? firstWrong(invariants.ofTruth, judged, met) : undefined);
    if (found) return { ...found, sequence: sequenceOf(child) };
    if (!isNew) return undefined;
    if (equal === undefined) {
      ledgers.set(place, child.state.ledger);
      const wrong = firstWrong(invariants.ofLedger, judged, met);
      return wrong && { ...wrong, sequence: sequenceOf(child) };
    }
    // The answers of an equal ledger are known; but a unit that stands still knows versions.
    if (!child.state.pending) child.state = { ...child.state, ledger: equal };
    return undefined;
  };
}

function firstWrong(
  checks: Readonly<Record<string, Invariant>>,
  judged: Judged,
  { interesting }: Met,
): Omit<Violation, 'sequence'> | undefined {
  for (const [invariant, check] of Object.entries(checks)) {
    const why = saidBy(check, judged);
    if (typeof why === 'string') return { invariant, why };
    if (why) interesting[invariant] = (interesting[invariant] ?? 0) + 1;
  }
  return undefined;
}

function saidBy(check: Invariant, judged: Judged): ReturnType<Invariant> {
  try {
    return check(judged);
  } catch (error) {
    return String((error as Error).stack);
  }
}
