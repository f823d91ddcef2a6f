// Which guards are needed. A unit that stood still while another one committed fails by one kind of its guards or by several. If only one kind
// fails, and the unit without it writes or answers anything else than what is decided anew, that kind is needed. All kinds are judged in one
// pass over the pairs of events (commutation.ts).

import { namesOf } from '../src/database/commit.ts';
import type { Unit, Write } from '../src/database/commit-data.ts';
import type { Event } from '../src/money/event.ts';
import { commitTables } from '../src/money/tables.ts';
import { commitTo, holds, isTaken, keyText, type Ledger } from './memory-store.ts';
import { now } from './world.ts';

export interface Guard {
  /** The first pair of events that needs it. */
  needed?: string;
  /** The kinds that failed each time when it failed; undefined: it has never failed. */
  beside?: readonly string[];
}
/** By kind: the event, and what is guarded. */
export type Guards = Record<string, Guard>;

/** It fails alone, or never, and the unit without it does what it does anew: another kind of guard stops what does harm. */
const harmless = 'harmless';

/**
 * What no pair of events needs, by the guard that fails whenever it does. They stay: whatever a unit writes is guarded by one rule, which
 * knows nothing of kinds. Mostly because a change of an operation writes its device, whose counter stands for all that happens on it.
 */
const covered: Readonly<Record<string, string>> = {
  'AbortRefused: commands': harmless,
  'AbortRefused: its own row': 'AbortRefused: commands',
  'Accepted: commands': harmless,
  'Accepted: device_locks': harmless,
  'Accepted: its own row': 'Accepted: device_locks',
  'CloseByHand: device_locks': harmless,
  'CloseByHand: invoices': 'CloseByHand: device_locks',
  'CloseByHand: its own row': harmless,
  // Its rows are new, and an OID is drawn.
  'Create: any guard': harmless,
  'Deadline: device_locks': 'Deadline: its own row',
  'Deadline: its own row': 'Deadline: device_locks',
  // What changes under the number is mostly open, and guarded itself; what else a decision reads stands on its device and its number.
  'Decide: commands': harmless,
  'Decide: names': harmless,
  'Decide: orphan_payments': 'Decide: invoices',
  'HardwareLost: commands': harmless,
  'LastIsAnother: commands': harmless,
  'LastIsAnother: device_locks': harmless,
  'LastIsAnother: its own row': 'LastIsAnother: device_locks',
  'Pay: commands': 'Pay: names',
  // The sale is noted for the next close of the day, which relies on it.
  'Payd: device_locks': harmless,
  'Payd: orphan_payments': 'Payd: invoices',
  'Plain: names': 'Plain: device_locks',
  'Print: commands': harmless,
  'Print: invoices': harmless,
  'Refund: commands': harmless,
  'Remove: commands': harmless,
  'Remove: device_locks': harmless,
  'Remove: invoices': harmless,
  'Remove: its own row': harmless,
  'Report: orphan_payments': 'Report: invoices',
};

interface Guarded {
  event: Event;
  unit: Unit;
}

/** The row of the operation that the event names is its own row. */
function kindOf({ event }: Guarded, { table, key, isLate }: Write): string {
  if (table === 'idempotency_keys') return 'a call: its key';
  const what = 'id' in event && table === 'commands' && key[0] === event.id ? 'its own row' : table;
  return `${event.type}: ${what}${isLate ? ', written late' : ''}`;
}
const lateColumns = ({ event }: Guarded) => `${event.type}: late columns`;
const noInvoice = ({ event }: Guarded) => `${event.type}: no invoice`;
/** All guards of a unit at once: if one always fails beside another, at least one of them is needed. */
const anyGuard = ({ event }: Guarded) => `${event.type}: any guard`;

export function noteKinds(guards: Guards, guarded: Guarded): void {
  const { writes, absent = [] } = guarded.unit;
  guards[anyGuard(guarded)] ??= {};
  for (const write of writes) {
    guards[kindOf(guarded, write)] ??= {};
    if (write.also) guards[lateColumns(guarded)] ??= {};
  }
  if (absent.length > 0) guards[noInvoice(guarded)] ??= {};
}

/**
 * Units that exclude each other by a row share it in the group, so they are never in one batch, where the locks of both would hold. If the
 * other one holds after this one as well, the batch is as good as that order.
 */
export function mayShareBatch(ledger: Ledger, guarded: Guarded, other: Unit): boolean {
  const first = commitTo(ledger, guarded.unit, now);
  if (first && commitTo(first, other, now)) return false;
  const after = first && commitTo(ledger, other, now);
  const failing = after ? failingKinds(after, guarded) : new Set<string>();
  // An OID is unknown until its invoice is stored.
  failing.delete(noInvoice(guarded));
  const names = new Set(namesOf(commitTables, other));
  return failing.size > 0 && !namesOf(commitTables, guarded.unit).some((name) => names.has(name));
}

/** The kinds of guards that make the unit fail; none if a row that it would insert is there. */
function failingKinds(ledger: Ledger, guarded: Guarded): Set<string> {
  const failing = new Set<string>();
  const { writes, inserts, absent = [] } = guarded.unit;
  if (inserts.some((insert) => isTaken(ledger, insert))) return failing;
  for (const write of writes) {
    if (!holds(ledger, { ...write, also: {} })) failing.add(kindOf(guarded, write));
    else if (!holds(ledger, write)) failing.add(lateColumns(guarded));
  }
  if (absent.some(({ table, key }) => ledger[table]?.[keyText(key)])) failing.add(noInvoice(guarded));
  return failing;
}

/** `isNeeded`: does it do harm to commit the unit? */
export function judgeGuards(guards: Guards, ledger: Ledger, guarded: Guarded, label: string, isNeeded: (unit: Unit) => boolean): void {
  const failing = failingKinds(ledger, guarded);
  for (const kind of failing) {
    const guard = (guards[kind] ??= {});
    guard.beside = [...(guard.beside ?? failing)].filter((one) => one !== kind && failing.has(one));
    if (failing.size === 1 && guard.needed === undefined && isNeeded(without([kind], guarded))) guard.needed = label;
  }
  const any = (guards[anyGuard(guarded)] ??= {});
  if (failing.size > 0 && any.needed === undefined && isNeeded(without([...failing], guarded))) any.needed = label;
}

function without(kinds: readonly string[], guarded: Guarded): Unit {
  const { unit } = guarded;
  const writes = unit.writes.map((write): Write => {
    const { also, ...rest } = kinds.includes(lateColumns(guarded)) ? { ...write, also: {} } : write;
    return kinds.includes(kindOf(guarded, write)) ? { ...rest, guard: {} } : { ...rest, ...(also ? { also } : {}) };
  });
  return { ...unit, writes, ...(kinds.includes(noInvoice(guarded)) ? { absent: [] } : {}) };
}

export function allGuards(some: readonly Guards[]): Guards {
  const all: Guards = {};
  for (const guards of some)
    for (const [kind, { needed, beside }] of Object.entries(guards)) {
      const guard = (all[kind] ??= {});
      if (needed !== undefined) guard.needed ??= needed;
      if (beside) guard.beside = guard.beside ? guard.beside.filter((one) => beside.includes(one)) : beside;
    }
  return all;
}

/** What the table above does not say of a run of all worlds. */
export function unexplained(guards: Guards): string[] {
  const wrong = Object.entries(guards).flatMap(([kind, guard]) => whatIsWrong(kind, guard) ?? []);
  return [...wrong, ...Object.keys(covered).flatMap((kind) => (guards[kind] ? [] : [`there is no guard ${kind}`]))];
}

function whatIsWrong(kind: string, guard: Guard): string | undefined {
  const { needed, beside } = guard;
  const by = covered[kind];
  if (needed !== undefined) return by === undefined ? undefined : `${kind} is needed: ${needed}`;
  if (by === undefined) return `nothing needs ${kind}, which ${failsOf(guard)}`;
  return by === harmless || beside?.includes(by) ? undefined : `${kind} fails without ${by}`;
}

export const failsOf = ({ beside }: Guard): string => (beside ? `fails beside ${beside.join(' and ') || 'nothing'}` : 'never fails');
