// Equal situations have equal keys. What no rule reads again is dropped: versions and counters (ids are in the order of begin), arguments,
// texts for people. A unit that stands still keeps only what it writes and whether each of its guards holds. Rows are shared between ledgers,
// so each is read once and stands for a number.
import type { Unit, Values } from '../src/database/commit-data.ts';
import { holds, type Ledger } from './memory-store.ts';
import type { State, World } from './world.ts';

const dropped: ReadonlySet<string> = new Set(['version', 'sequence', 'args', 'reason', 'issued_at', 'callback_sequence']);
const tables = ['device_locks', 'commands', 'names', 'idempotency_keys', 'invoices', 'orphan_payments'] as const;

/** The text and the text with both terminals exchanged, each as a number. */
type Both = readonly [number, number];
const numbers = new Map<string, Both>();
const rowNumbers = new WeakMap<object, Both>();

const exchanged = (text: string) => text.replace(/t[12](?=[-" |]|$)/g, (id) => (id === 't1' ? 't2' : 't1'));

function both(text: string): Both {
  const found = numbers.get(text);
  if (found) return found;
  const other = exchanged(text);
  const made: Both = other === text ? [numbers.size, numbers.size] : [numbers.size, numbers.size + 1];
  numbers.set(text, made);
  if (other !== text) numbers.set(other, [made[1], made[0]]);
  return made;
}

function numbersOf(row: object, text: () => string): Both {
  let found = rowNumbers.get(row);
  if (!found) {
    found = both(text());
    rowNumbers.set(row, found);
  }
  return found;
}

function textOfRow(row: Values): string {
  let text = '';
  for (const column in row) if (!dropped.has(column)) text += `${row[column]}|`;
  // A close of the day is known by its id.
  return text.includes('"sequence":') ? text.replace(/"sequence":\d+/g, '') : text;
}

const tableTexts = new WeakMap<object, readonly [string, string]>();

function textsOfTable(name: string, rows: Readonly<Record<string, Values>>): readonly [string, string] {
  let found = tableTexts.get(rows);
  if (!found) {
    const all = Object.entries(rows);
    const list = (which: 0 | 1): string => {
      const some = all.map(([, row]) => numbersOf(row, () => textOfRow(row))[which]);
      if (name === 'device_locks')
        return which === 0
          ? some.join()
          : inOtherOrder(
              all.map(([id]) => id),
              some,
            ).join();
      return name === 'commands' ? some.join() : some.sort((one, other) => one - other).join();
    };
    found = [list(0), list(1)];
    tableTexts.set(rows, found);
  }
  return found;
}

/** By device: the rows of t1 and t2 change places. */
function inOtherOrder<Item>(ids: readonly string[], items: readonly Item[]): Item[] {
  return ids.map((id) => items[ids.indexOf(id === 't1' ? 't2' : id === 't2' ? 't1' : id)] as Item);
}

function textOfUnit(unit: Unit): string {
  return JSON.stringify([unit.writes.map(({ table, key, set }) => [table, key, set]), unit.inserts], (name, value: unknown) =>
    dropped.has(name) ? undefined : value,
  );
}

const textOfLedger = (ledger: Ledger, which: 0 | 1): string =>
  tables.map((name) => textsOfTable(name, ledger[name] ?? {})[which]).join(';');

/** What answers depend on: the rows, and what the gateways know about devices and callers. */
export const keyOfLedger = ({ ledger, live, disabled, waiting }: Pick<State, 'ledger' | 'live' | 'disabled' | 'waiting'>): string =>
  `${textOfLedger(ledger, 0)}/${Object.values(live).map(String).join()}/${disabled.join()}/${waiting.join()}`;

export function keyOfState(state: State, world: World): string {
  const { ledger, pending } = state;
  const key = (which: 0 | 1): string => {
    const { live } = state;
    const ids = Object.keys(live);
    const journals =
      which === 0 ? Object.values(live).map(String) : inOtherOrder(ids, Object.values(live)).map((id) => exchanged(String(id)));
    const truth = Object.values(state.truth).map(
      (one) => numbersOf(one, () => `${one.hw}|${one.did}|${one.hasForgotten}|${one.hits}`)[which],
    );
    const held = pending
      ? [
          pending.try,
          ...numbersOf(pending.unit, () => textOfUnit(pending.unit)).slice(which, which + 1),
          ...pending.unit.writes.map((write) => holds(ledger, write)),
          pending.unit.absent?.some(({ table, key: [id = ''] }) => ledger[table]?.[id]),
          pending.unit.inserts.map(
            ({ table, row }) =>
              table !== 'commands' && ledger[table]?.[`${row['merchant_id']} ${row['value'] ?? row['key']}`] !== undefined,
          ),
        ].join()
      : '';
    const { disabled, gathered, stops, overruled, waiting, informed } = state;
    return `${textOfLedger(ledger, which)}/${journals.join()}/${disabled.join()}/${truth.join()}/${held}/${gathered.join()}/${stops.join()}/${overruled.join()}/${waiting.join()}/${informed.join()}`;
  };
  const text = key(0);
  if (!world.isSymmetric) return text;
  const other = key(1);
  return text < other ? text : other;
}
