// The places for faults in the database: each writing statement by its table, verb and first columns, each commit by its tables, and each
// unit of the new core by what it does to commands and by its further tables. Reads have no place: nothing is lost with them.

/** `insert commands`, `update commands (state, settled_at)`, `delete idempotency_keys`; undefined for a read. */
export function placeOf(sql: string): string | undefined {
  const known = places.get(sql);
  if (known !== undefined) return known || undefined;
  const place = readPlace(sql);
  if (places.size < maxKept) places.set(sql, place ?? '');
  return place;
}

const places = new Map<string, string>();
const maxKept = 5_000;
/** Not the lock of a read: `for update`. */
const writing = /(?<!\bfor (?:no key )?)\b(insert into|update|delete from) "?(\w+)"?/g;
const setColumn = /"(\w+)" = /g;

function readPlace(sql: string): string | undefined {
  const writes = [...sql.matchAll(writing)];
  // Of several in one statement, the one that needs the lock of the device.
  const [, verb, table] = writes.find(([, , name]) => !besideCommands.has(name ?? '')) ?? writes[0] ?? [];
  if (verb === undefined || table === undefined) return undefined;
  if (verb === 'insert into') return `insert ${table}`;
  if (verb === 'delete from') return `delete ${table}`;
  const changes = sql.slice(sql.indexOf(' set ', sql.indexOf(table)));
  const columns = [...(changes.split(' where ', 1)[0]?.matchAll(setColumn) ?? [])].slice(0, 2).map(([, column]) => column);
  return `update ${table} (${columns.join(', ')})`;
}

/** Its first statement reads the time. */
const isUnit = (statements: readonly string[]) => statements[0]?.startsWith('select now_ms() as "now"') === true;

/**
 * Several statements between which nothing happens: the last that writes. A unit of the new core (database/commit.ts):
 * `unit insert commands + idempotency_keys`, `unit update commands (version, state)`.
 */
export function placeOfAll(statements: readonly string[]): string | undefined {
  const written = statements.flatMap((sql) => placeOf(sql) ?? []);
  const last = written.at(-1);
  if (last === undefined || !isUnit(statements)) return last;
  const ofCommands = [...new Set(written.filter((place) => tableOf(place) === 'commands'))].sort();
  const further = new Set(written.map(tableOf).filter((table) => table !== 'commands' && !besideUnit.has(table)));
  const parts = [...ofCommands, ...[...further].sort()];
  return `unit ${parts.length > 0 ? parts.join(' + ') : last}`;
}

/** Part of so many units that they would not distinguish them. */
const besideUnit: ReadonlySet<string> = new Set([
  ...['device_locks', 'names', 'bank_operations', 'printed_payments', 'settlements'],
  ...['command_events', 'audit_log', 'money_corrections'],
]);

/** Written with a command's row, in the same statement or transaction: a commit is named by the others. */
export const besideCommands: ReadonlySet<string> = new Set(['device_locks', 'claims', 'bank_operations', 'decisions']);

/** The table of a place that `placeOf` named. */
export function tableOf(place: string): string {
  return place.split(' ')[1] ?? place;
}
