// Two gateways: a is decided in a state, b commits, then a goes on. Either a guard of a fails, or a decided after b writes the same and answers
// the same. Loaded units are serialisable by construction; assumed ones, and those from a gateway's memory, are proved here.
import type { Unit } from '../src/database/commit-data.ts';
import type { Event } from '../src/money/event.ts';
import { isOpen } from '../src/money/rules/facts.ts';
import { callsIn } from './calls.ts';
import { plan, prepare, type Ran, run } from './gateway.ts';
import { type Guards, judgeGuards, mayShareBatch, noteKinds } from './guards.ts';
import { assume, load } from './memory-load.ts';
import { commitTo, type Ledger } from './memory-store.ts';
import type { Move } from './moves.ts';
import { coreMs, movesOrFault, type Node, sequenceOf, startOf, type Violation } from './search.ts';
import { keyOfState } from './state-key.ts';
import { aroundOf, opOf, type State, type World } from './world.ts';

export interface Commuted {
  pairs: number;
  /** Pairs in which every guard held, so that both orders were compared. */
  held: number;
  isCut: boolean;
  guards: Guards;
  violation?: Violation;
}
type Sum = Pick<Commuted, 'pairs' | 'held' | 'guards'>;

type Mode = 'assumed' | 'loaded' | 'remembered';
interface Early {
  move: Move;
  event: Event;
  mode: Mode;
  unit: Unit;
  answer: Ran['answer'];
}

export function commute(world: World, { depth, limitMs = 60_000 }: { depth: number; limitMs?: number }): Commuted {
  const start = startOf(world);
  const seen = new Set([keyOfState(start.state, world)]);
  const began = coreMs();
  const sum: Sum = { pairs: 0, held: 0, guards: {} };
  let level: Node[] = [start];
  for (let at = 0; at <= depth && level.length > 0; at += 1) {
    const next: Node[] = [];
    for (const node of level) {
      if (coreMs() - began > limitMs) return { ...sum, isCut: true };
      const moves = movesOrFault(node, world);
      if ('invariant' in moves) return { ...sum, isCut: false, violation: moves };
      judgeAssumed(node, world, sum);
      const violation = pairsOf(node, moves, sum);
      if (violation) return { ...sum, isCut: false, violation };
      if (at < depth) next.push(...newOnes(node, moves, seen, world));
    }
    level = next;
  }
  return { ...sum, isCut: false };
}

function newOnes(node: Node, moves: readonly Move[], seen: Set<string>, world: World): Node[] {
  const found: Node[] = [];
  for (const { label, next, answer } of moves) {
    const key = keyOfState(next, world);
    if (seen.has(key)) continue;
    seen.add(key);
    found.push({ state: next, parent: node, label, answer });
  }
  return found;
}

function pairsOf(node: Node, moves: readonly Move[], sum: Sum): Violation | undefined {
  for (const early of moves.flatMap(earlyOnes)) {
    noteKinds(sum.guards, early);
    for (const b of moves) {
      // What is connected and what time it is are read and never guarded.
      if (!b.unit) continue;
      sum.pairs += 1;
      const late = commitTo(b.next.ledger, early.unit, aroundOf(b.next).now);
      if (!late) {
        judgeGuards(sum.guards, b.next.ledger, early, `${early.move.label} after ${b.label}`, (unit) => isNeeded(unit, early, b));
        if (mayShareBatch(b.from.ledger, early, b.unit))
          return { invariant: 'a batch has no two units of one row', why: early.move.label, sequence: [...sequenceOf(node), b.label] };
        continue;
      }
      sum.held += 1;
      const why = difference(early, late, b.next);
      if (!why) continue;
      const sequence = [
        ...sequenceOf(node),
        b.label,
        `decided before the last event (${early.mode}), committed after it: ${early.move.label}`,
      ];
      return { invariant: 'two gateways commute', why, sequence };
    }
  }
  return undefined;
}

/** What is assumed may be wrong already: then its guards must fail. */
function judgeAssumed({ state }: Node, world: World, { guards }: Sum): void {
  const { ledger } = state;
  const around = aroundOf(state);
  for (const { event, label } of callsIn(state, world)) {
    const assumed = assume(event, around);
    const { unit, answer } = assumed ? plan(assumed, event) : { unit: undefined, answer: undefined };
    if (!unit || commitTo(ledger, unit, around.now)) continue;
    judgeGuards(guards, ledger, { event, unit }, `${label}, assumed`, (less) => {
      const late = commitTo(ledger, less, around.now);
      return late !== undefined && difference({ event, unit, answer }, late, state) !== undefined;
    });
  }
}

/** With fewer guards the unit would be committed, and do or answer something else, or warn no person that something may be done twice. */
function isNeeded(unit: Unit, early: Early, { next }: Move): boolean {
  const late = commitTo(next.ledger, unit, aroundOf(next).now);
  if (!late) return false;
  return difference(early, late, next) !== undefined || warnings(late) < warnings(run(next.ledger, early.event, aroundOf(next)).ledger);
}

const warnings = (ledger: Ledger): number =>
  Object.values(ledger['commands'] ?? {}).filter((row) => String(row['review_reason']).includes('may be done twice')).length;

function earlyOnes(move: Move): Early[] {
  const { event, from } = move;
  if (!event) return [];
  const around = aroundOf(from);
  const assumed = assume(event, around);
  const loaded = prepare(from.ledger, event, around);
  const found: Early[] = [];
  const add = (mode: Mode, { unit, answer }: Pick<Ran, 'unit' | 'answer'>) => {
    // A unit that only gives a key to an earlier operation decides nothing.
    if (unit && ![...unit.writes, ...unit.inserts].every(({ table }) => table === 'idempotency_keys'))
      found.push({ move, event, mode, unit, answer });
  };
  if (assumed) add('assumed', plan(assumed, event));
  add('loaded', loaded);
  if (isRemembered(from, event)) add('remembered', plan({ ...load(from.ledger, event, around), isRemembered: true }, event));
  return found;
}

/** A CloseDoc and a settlement may start from the last case in a gateway's memory. */
function isRemembered(state: State, event: Event): boolean {
  if (event.type === 'CloseDoc') return true;
  return event.type === 'Report' && isOpen(opOf(state, event.id));
}

function difference({ event, answer, unit }: Pick<Early, 'event' | 'answer' | 'unit'>, late: Ledger, after: State): string | undefined {
  const anew = run(after.ledger, event, aroundOf(after));
  const [one, other] = [textOf(late), textOf(anew.ledger)];
  // The call is answered again when its operation ends, with what then stands under the number. What only joins an earlier one waits for that, and answers what it is then.
  const isCall = unit.inserts.some(({ table }) => table === 'commands');
  const said = isCall
    ? [answer, anew.answer].map((given) => JSON.stringify([given?.code, given?.fields.OID, given?.fields.State]))
    : ['', ''];
  if (one === other && said[0] === said[1]) return undefined;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const part = (text: string) => text.slice(Math.max(0, at - 120), at + 80);
  return one === other ? `answered ${said[0]}, decided anew ${said[1]}` : `committed late ...${part(one)}, decided anew ...${part(other)}`;
}

/** Versions and counters differ by nature; why an operation is for review depends on which note came first; the journal of a command that is not sent has no effect. */
const ignored: ReadonlySet<string> = new Set(['version', 'sequence', 'journal_id', 'callback_sequence', 'review_reason']);

const textOf = (ledger: Ledger): string =>
  Object.entries(ledger)
    .map(([table, rows]) => `${table} ${textOfTable(rows)}`)
    .join(';');

const tableTexts = new WeakMap<object, string>();

function textOfTable(rows: Ledger[string]): string {
  let found = tableTexts.get(rows);
  if (found === undefined) {
    found = Object.entries(rows)
      .map(([key, row]) => `${key}:${textOfRow(row)}`)
      .sort((one, two) => (one < two ? -1 : 1))
      .join();
    tableTexts.set(rows, found);
  }
  return found;
}

const texts = new WeakMap<object, string>();

function textOfRow(row: Ledger[string][string]): string {
  let found = texts.get(row);
  if (found === undefined) {
    found = Object.entries(row)
      // That a caller left is no matter if nothing was done.
      .filter(([column]) => !ignored.has(column) && !(column === 'outcome_missed_at' && row['state'] === 'never'))
      .map(([column, value]) => `${column}=${value}`)
      .sort((one, two) => (one < two ? -1 : 1))
      .join('|')
      .replace(/"sequence":(\d+|null)/g, '');
    texts.set(row, found);
  }
  return found;
}
