// Two gateways: a is decided in a state, b commits, then a goes on. Either a guard of a fails, or a decided after b writes the same and answers
// the same. Loaded units are serialisable by construction; assumed ones, and those from a gateway's memory, are proved here.
import type { Unit } from '../src/database/commit-data.ts';
import type { Event } from '../src/money/event.ts';
import { fromColumns } from '../src/money/tables.ts';
import { heldBy } from '../src/money/unit.ts';
import { plan, prepare, type Ran, run } from './gateway.ts';
import { assume } from './memory-load.ts';
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
  violation?: Violation;
}

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
  const sum = { pairs: 0, held: 0 };
  let level: Node[] = [start];
  for (let at = 0; at <= depth && level.length > 0; at += 1) {
    const next: Node[] = [];
    for (const node of level) {
      if (coreMs() - began > limitMs) return { ...sum, isCut: true };
      const moves = movesOrFault(node, world);
      if ('invariant' in moves) return { ...sum, isCut: false, violation: moves };
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

function pairsOf(node: Node, moves: readonly Move[], sum: { pairs: number; held: number }): Violation | undefined {
  for (const early of moves.flatMap(earlyOnes)) {
    for (const b of moves) {
      // What is connected and what time it is are read and never guarded.
      if (!b.unit) continue;
      sum.pairs += 1;
      const late = commitTo(b.next.ledger, early.unit, aroundOf(b.next).now);
      if (!late) continue;
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
  if (isRemembered(from, event) && loaded.unit) add('remembered', { ...loaded, unit: remembered(from, event, loaded.unit) });
  return found;
}

/** A CloseDoc and a settlement may start from the last case in a gateway's memory. */
function isRemembered(state: State, event: Event): boolean {
  if (event.type === 'CloseDoc') return true;
  return event.type === 'Report' && ['sent', 'unknown'].includes(opOf(state, event.id).state);
}

/** Of what was remembered, the device is guarded by its values; a settlement knows only that the device is held by its operation. */
function remembered({ ledger }: State, event: Event, unit: Unit): Unit {
  const writes = unit.writes.map((write) => {
    const row = write.table === 'device_locks' ? ledger['device_locks']?.[write.key[0] ?? ''] : undefined;
    if (!row) return write;
    const held = heldBy(fromColumns('devices', row));
    return { ...write, guard: event.type === 'CloseDoc' ? held : { command_id: held['command_id'] ?? null } };
  });
  return { ...unit, writes };
}

function difference({ event, answer, unit }: Early, late: Ledger, after: State): string | undefined {
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

function textOf(ledger: Ledger): string {
  return Object.entries(ledger)
    .map(
      ([table, rows]) =>
        `${table} ${Object.entries(rows)
          .map(([key, row]) => `${key}:${textOfRow(row)}`)
          .sort((one, two) => (one < two ? -1 : 1))
          .join()}`,
    )
    .join(';');
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
