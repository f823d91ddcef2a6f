// Loads the case of an event from a ledger in memory, as the databases' load does: by ids and names only, in rounds until nothing is missing.
import { assume as assumeBy } from '../src/money/assume.ts';
import type { Case, Op, Presence, TableName, TableRows } from '../src/money/case.ts';
import { nameKey } from '../src/money/case.ts';
import type { Event } from '../src/money/event.ts';
import { storedTable } from '../src/money/tables.ts';
import { unusedName } from '../src/money/unit.ts';
import { type Ref, refKey, wanted } from '../src/money/wanted.ts';
import { type Ledger, opsIn, rowOf } from './memory-store.ts';

export interface Surroundings {
  now: number;
  presence: Readonly<Record<string, Presence>>;
  waitedFor?: ReadonlySet<string>;
  /** The same as a text. */
  key?: string;
}

const maxRounds = 10;

const empty = ({ now, presence, waitedFor = new Set() }: Surroundings): Writable<Case> => ({
  ...{ now, scanGraceMs: 0, isAssumed: false, ops: {}, devices: {}, names: {}, keys: {}, invoices: {}, orphans: {} },
  ...{ presence, sales: new Set<string>(), waitedFor, roots: [] },
});
type Writable<Given> = { -readonly [Field in keyof Given]: Given[Field] };

export function load(ledger: Ledger, event: Event, around: Surroundings): Case {
  const c = empty(around);
  const looked = new Set<string>();
  for (let round = 0; round < maxRounds; round += 1) {
    const refs = wanted(event, c, looked);
    if (refs.length === 0) return c;
    for (const ref of refs) {
      looked.add(refKey(ref));
      fetch(ledger, c, ref);
    }
  }
  throw new Error(`The case of ${event.type} is never complete.`);
}

function fetch(ledger: Ledger, c: Writable<Case>, ref: Ref): void {
  switch (ref.what) {
    case 'op':
      return add(ledger, c, 'ops', ref.id);
    case 'sale':
      (c.sales as Set<string>).add(ref.id);
      for (const op of opsIn(ledger)) if (isOfSale(op, ref.id)) add(ledger, c, 'ops', op.id);
      return;
    case 'operations':
      for (const op of opsIn(ledger)) if (op.deviceId === ref.deviceId && op.operationId === ref.operationId) add(ledger, c, 'ops', op.id);
      return;
    case 'device':
      return add(ledger, c, 'devices', ref.id);
    case 'name':
      return add(ledger, c, 'names', nameKey(ref.merchantId, ref.value), unusedName(ref.merchantId, ref.value));
    case 'key':
      return add(ledger, c, 'keys', nameKey(ref.merchantId, ref.key));
    case 'invoice':
      add(ledger, c, 'invoices', ref.oid);
      for (const [key, row] of Object.entries(ledger['orphan_payments'] ?? {})) if (row['oid'] === ref.oid) add(ledger, c, 'orphans', key);
      return;
  }
}

const isOfSale = (op: Op, id: string) => op.id === id || op.targetId === id || op.paid.some(({ paymentId }) => paymentId === id);

function add<Table extends TableName>(ledger: Ledger, c: Case, table: Table, key: string, absent?: TableRows[Table]): void {
  const row = ledger[storedTable(table).table]?.[key];
  const found = row ? rowOf(table, row) : absent;
  if (found) (c[table] as Record<string, TableRows[Table]>)[key] = found;
}

/** The assumed case of the gateways. Undefined: this event loads. */
export function assume(event: Event, { now, presence }: Surroundings): Case | undefined {
  const known = 'deviceId' in event && 'merchantId' in event ? presence[nameKey(event.merchantId ?? '', event.deviceId)] : undefined;
  return known && assumeBy(event, { now, presence: known })?.case;
}
