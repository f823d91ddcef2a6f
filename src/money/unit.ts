// What a decision writes: the difference of two cases, and the guards of what it relied on. Generic: no rule is decided here.
// What was loaded is guarded by its version; what was assumed, by exactly the values assumed.
import type { Insert, Unit, Values, Write } from '../database/commit-data.ts';
import type { Case, Device, Draft, Name, Notice, Op, Root, TableName } from './case.ts';
import type { Decision } from './event.ts';
import { isPayment } from './rules/facts.ts';
import { differs, isLate, isSame } from './rules/roots.ts';
import { storedTable, tableNames, toColumns } from './tables.ts';

type Row = Record<string, unknown>;

/** The device of an assumed case: any change of these fails the unit. */
export const freeDevice = (id: string): Device => ({
  ...{ id, sequence: 0, commandId: null, documentId: null, unconfirmed: [], closes: [] },
  ...{ lastPayment: null, lastSaleId: null, headId: null },
});

/** A name under which nothing was begun. */
export const unusedName = (merchantId: string, value: string): Name => ({ merchantId, value, version: 0, attempts: 0, ops: [] });

/** What a gateway adds to the rows. */
export interface Additions {
  /** Columns of a new operation: which gateway has it, who called. */
  ofOperation?: Values;
  /** The row of a notice, with its address; undefined: the address can no longer be read. */
  callbackOf?(notice: Notice): Values | undefined;
  /** The entry about a step of a person. */
  audit?: Values | undefined;
}

export function unitOf(facts: Case, { next, added }: Pick<Decision, 'next' | 'added'>, additions: Additions = {}): Unit {
  if (!next) return { writes: [], inserts: [] };
  if (isLate(facts, next as Draft)) return lateUnit(facts, next);
  const parts = tableNames.map((table) => partOf(facts, next, table, table === 'ops' ? additions.ofOperation : undefined));
  return {
    writes: parts.flatMap(({ writes }) => writes),
    inserts: [...parts.flatMap(({ inserts }) => inserts), ...addedRows(facts, next, added, additions)],
    // An OID is unknown until its invoice is stored, and invoices are never deleted: so nothing is locked for this.
    deletes: textsOfRemoved(facts, next),
    absent: facts.isAssumed ? assumedNumbers(facts).map((value) => ({ table: 'invoices', key: [value] })) : [],
  };
}

function partOf(facts: Case, next: Case, table: TableName, further: Values = {}): { writes: Write[]; inserts: Insert[] } {
  const writes: Write[] = [];
  const inserts: Insert[] = [];
  const isRoot = rootsOf(next.roots, table);
  for (const [key, row] of Object.entries<object>(next[table])) {
    const before = (facts[table] as Record<string, object>)[key] as Row | undefined;
    const fields = before ? differs(before, row) : [];
    if (!before || isUnused(before)) {
      if (!before || fields.length > 0 || isRoot.has(key)) inserts.push(insertOf(table, row as Row, further));
    } else if (fields.length > 0 || isRoot.has(key)) {
      const write = writeOf(facts, table, before, row as Row, fields);
      // A sale by QR is noted on its device, whatever is under way there: nothing of the device is relied on.
      writes.push(table === 'devices' && !isRoot.has(key) ? { ...write, guard: {} } : write);
    }
  }
  return { writes, inserts };
}

/** What is removed after the retention time keeps its row [D66]. */
function textsOfRemoved(facts: Case, next: Case): NonNullable<Unit['deletes']> {
  const isNew = (before: { removedAt: number | null } | undefined, { removedAt }: { removedAt: number | null }) =>
    before?.removedAt === null && removedAt !== null;
  const of = (id: string, tables: readonly string[]) => tables.map((table) => ({ table, of: id }));
  return [
    ...Object.values(next.ops).flatMap((op) => (isNew(facts.ops[op.id], op) ? of(op.id, textsOfOps) : [])),
    ...Object.values(next.invoices).flatMap((one) => (isNew(facts.invoices[one.oid], one) ? of(one.oid, textsOfInvoices) : [])),
  ];
}

const textsOfOps = ['command_events', 'command_step_counts', 'search_terms'];
const textsOfInvoices = ['invoice_events', 'search_terms'];

const rootsOf = (roots: readonly Root[], table: TableName) => new Set(roots.filter(([name]) => name === table).map(([, key]) => key));

/** A name that no operation has used: the insert itself is the guard. */
const isUnused = (row: Row) => row['version'] === 0;

function insertOf(name: TableName, row: Row, further: Values): Insert {
  const { table, version, alsoInserted } = storedTable(name);
  const first = version === undefined ? row : { ...row, [version]: 1 };
  return { table, row: { ...toColumns(name, first), ...alsoInserted?.(row), ...further } };
}

function writeOf(facts: Case, name: TableName, before: Row, row: Row, fields: readonly string[]): Write {
  const { table, key, version, fields: known, alsoWritten } = storedTable(name);
  const changed = fields.filter((field) => field !== version && !known[field]?.isFixed);
  const set = {
    ...toColumns(name, Object.fromEntries(changed.map((field) => [field, row[field]])), facts.now),
    ...alsoWritten?.(changed, row),
  };
  const place = { table, key: key.map((field) => String(row[field])), set };
  if (version === undefined) return { ...place, guard: toColumns(name, { subjectId: before['subjectId'] }) };
  if (name === 'devices' && (facts.isAssumed || facts.isRemembered))
    return { ...place, guard: { ...heldBy(before as unknown as Device), ...closesOf(before, changed) } };
  const late = name === 'ops' ? lateGuards(before, row) : {};
  const also: { also?: Values } = Object.keys(late).length > 0 ? { also: toColumns(name, late) } : {};
  return { ...place, guard: before[version] as number, ...also };
}

/** The lock of a device by its values: all that an assumed or remembered case knows of it. */
export const heldBy = ({ commandId, documentId, unconfirmed }: Device): Values =>
  toColumns('devices', { commandId, documentId, unconfirmed });

/** What closes its day is written as a whole, and a dispute may have changed it while another close was under way. */
const closesOf = ({ closes }: Row, changed: readonly string[]): Values =>
  changed.includes('closes') ? toColumns('devices', { closes }) : {};

/**
 * Acceptance and delivery are written without the version: a `never` about an accepted command would be wrong, and a dispute that takes back
 * what was delivered must know of it [D58].
 */
function lateGuards(before: Row, { state }: Row): Partial<Row> {
  if (state === before['state']) return {};
  if (state === 'never') return { acceptedAt: null };
  return state === 'disputed' ? { receivedAt: before['receivedAt'] } : {};
}

/** Acceptance and delivery, on the condition that nothing was settled in between. */
function lateUnit(facts: Case, next: Case): Unit {
  const writes = Object.values(next.ops).flatMap((op): Write[] => {
    const before = facts.ops[op.id];
    const fields = before ? differs(before, op) : [];
    if (!before || fields.length === 0) return [];
    const set = toColumns('ops', Object.fromEntries(fields.map((field) => [field, facts.now])), facts.now);
    const { state, acceptedAt, receivedAt } = before;
    // What was received before a dispute is not its outcome.
    const isOfState = fields.includes('receivedAt') ? { state, receivedAt } : { receivedAt };
    const guard = fields.includes('acceptedAt') ? { state, acceptedAt } : isOfState;
    return [{ table: 'commands', key: [op.id], guard: toColumns('ops', guard), set, isLate: true }];
  });
  return { writes, inserts: [] };
}

const assumedNumbers = (facts: Case) => Object.values(facts.names).map(({ value }) => value);

function addedRows(facts: Case, next: Case, added: Decision['added'], { callbackOf = snake, audit }: Additions): Insert[] {
  const rows = (table: string, list: readonly (Values | undefined)[]): Insert[] => list.flatMap((row) => (row ? [{ table, row }] : []));
  const ops = Object.values(next.ops);
  return [
    ...rows(
      'bank_operations',
      ops.flatMap((op) => bankNumber(facts.ops[op.id], op)),
    ),
    ...rows(
      'printed_payments',
      ops.flatMap(({ id, paid }) =>
        facts.ops[id] ? [] : paid.map((one) => ({ payment_id: one.paymentId, print_id: id, amount_bani: one.amountBani })),
      ),
    ),
    // What the search and the figures have yet to read.
    ...rows(
      'settlements',
      ops.flatMap((op) =>
        isNewsOfSettled(facts.ops[op.id], op) ? [{ command_id: op.id, entered_as: entryOf(facts.ops[op.id], op) }] : [],
      ),
    ),
    ...rows(
      'invoice_events',
      (added?.history ?? []).map((entry) => snake({ ...entry, detail: JSON.stringify(entry.detail) })),
    ),
    ...rows(
      'callbacks',
      (added?.notices ?? []).map((notice) => callbackOf(notice)),
    ),
    // A step that a person needs after the change is part of it.
    ...rows(
      'command_events',
      (added?.steps ?? []).flatMap(({ operationId, step, detail, isCounted }) =>
        isCounted ? [] : [{ command_id: operationId, step, detail: detail.toWellFormed() }],
      ),
    ),
    ...rows('audit_log', [audit]),
    ...rows('money_corrections', (added?.corrections ?? []).map(snake)),
  ];
}

function isNewsOfSettled(before: Op | undefined, op: Op): boolean {
  if (op.removedAt !== null) return false;
  return before !== undefined && op.settledAt !== null && (before.state !== op.state || !isSame(before.report, op.report));
}

/** The first settlement is the money entry of the operation [D303]. */
const entryOf = (before: Op | undefined, { state }: Op): string | null => (before?.settledAt === null ? state : null);

/** A payment is found by the number that its bank gave it. */
function bankNumber(before: Op | undefined, op: Op): Values[] {
  if (!isPayment(op) || op.operationId === null || before?.operationId === op.operationId) return [];
  return [{ device_id: op.deviceId, operation_id: op.operationId, payment_id: op.id }];
}

const snake = (row: object): Values =>
  Object.fromEntries(
    Object.entries(row).map(([field, value]) => [field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value as string]),
  );
