// The tables of the core: which field of a row is stored in which columns, and how. One table of tables for every store: the commit, the load,
// and the memory of the exploration.
import { createHash } from 'node:crypto';
import { atCommit, type CommitTable, type CommitTables, type Value, type Values } from '../database/commit-data.ts';
import { parseExactJson } from '../kernel/exact-json.ts';
import { kindOf } from '../kernel/operations.ts';
import type { Device, Invoice, InvoiceState, Key, Kind, Name, Op, Orphan, Review, TableName, TableRows } from './case.ts';

/** How a field is stored. `now`: a time that is written with this value becomes the time of the commit. */
interface Stored {
  columns: Readonly<Record<string, 'text' | 'int8'>>;
  write(to: Columns, value: unknown, now: number | undefined): void;
  read(row: Values): unknown;
  /** Never changed after the insert. */
  isFixed?: true;
  /** A guard may compare it. */
  isCompared?: true;
}

type Columns = Record<string, Value>;
type Fields<Row> = { readonly [Field in keyof Row & string]: Stored };

interface StoredTable<Row> {
  table: string;
  key: readonly (keyof Row & string)[];
  version?: keyof Row & string;
  fields: Fields<Row>;
  /** Further columns of a write; `row`: as it will be. */
  alsoWritten?(fields: readonly string[], row: Row): Values;
  written?: Readonly<Record<string, 'text' | 'int8'>>;
  /** Further columns of an insert, and those that the database fills in. */
  alsoInserted?(row: Row): Values;
  inserted?: Readonly<Record<string, 'text' | 'int8'>>;
  assigned?: Readonly<Record<string, string>>;
}

/** One field in one column. */
const inColumn = (
  column: string,
  type: 'text' | 'int8',
  write: (value: unknown, now?: number) => Value,
  read: (value: Value) => unknown,
): Stored => ({
  columns: { [column]: type },
  write: (to, value, now) => {
    to[column] = write(value, now);
  },
  read: (row) => read(row[column] ?? null),
});
const plain = (value: unknown) => (value ?? null) as Value;
const text = (column: string) => inColumn(column, 'text', plain, plain);
const int = (column: string) => inColumn(column, 'int8', plain, plain);
const zeroIfNull = (column: string) => inColumn(column, 'int8', plain, (value) => value ?? 0);
const time = (column: string) =>
  inColumn(column, 'int8', (value, now) => (value === now && now !== undefined ? atCommit : plain(value)), plain);
const yesNo = (column: string) => inColumn(column, 'int8', Number, (value) => value === 1);
/** Yes or no, stored as the time of the yes. */
const since = (column: string) =>
  inColumn(
    column,
    'int8',
    (value) => (value === true ? atCommit : null),
    (value) => value !== null,
  );
const json = (column: string, empty: string) =>
  inColumn(
    column,
    'text',
    (value) => (value === null ? null : JSON.stringify(value)),
    (value) => parseExactJson((value as string | null) ?? empty),
  );
const fixed = (stored: Stored): Stored => ({ ...stored, isFixed: true });
const compared = (stored: Stored): Stored => ({ ...stored, isCompared: true });

const review: Stored = {
  columns: { review_since: 'int8', review_reason: 'text', reviewed_at: 'int8' },
  write(to, value, now) {
    const found = value as Review | null;
    to['review_since'] = found && (found.since === now ? atCommit : found.since);
    to['review_reason'] = found?.reason ?? null;
    to['reviewed_at'] = found?.isClosed ? atCommit : null;
  },
  read({ review_since: from = null, review_reason: reason = null, reviewed_at: closed = null }) {
    return from === null ? null : { since: from, reason, isClosed: closed !== null };
  },
};

const invoiceStates: readonly InvoiceState[] = ['NewItem', 'Scanned', 'Payed', 'Expired', 'Cancelled'];
const invoiceState = inColumn(
  'state',
  'int8',
  (value) => invoiceStates.indexOf(value as InvoiceState),
  (value) => invoiceStates[value as number],
);

const ops: StoredTable<Op> = {
  table: 'commands',
  key: ['id'],
  version: 'version',
  fields: {
    id: fixed(text('id')),
    version: int('version'),
    kind: fixed(text('name')),
    merchantId: fixed(text('merchant_id')),
    deviceId: fixed(text('device_id')),
    sequence: fixed(int('sequence')),
    attempt: fixed(int('attempt')),
    state: compared(text('state')),
    amountBani: fixed(int('amount_bani')),
    cardBani: fixed(zeroIfNull('card_bani')),
    cashBani: fixed(zeroIfNull('cash_bani')),
    documentNr: fixed(text('document_nr')),
    receiptUid: fixed(text('receipt_uid')),
    targetId: fixed(text('target_id')),
    afterId: fixed(text('after_id')),
    paid: fixed(json('paid', '[]')),
    contentHash: fixed(text('content_hash')),
    args: fixed(json('args', 'null')),
    requestHash: fixed(text('request_hash')),
    callbackUri: fixed(text('callback_uri')),
    isByPerson: fixed(yesNo('is_by_person')),
    journalId: fixed(text('journal_id')),
    issuedAt: fixed(int('issued_at')),
    answerBy: fixed(int('answer_by')),
    acceptedAt: compared(time('accepted_at')),
    operationId: text('operation_id'),
    rrn: text('rrn'),
    receiptId: text('receipt_id'),
    settledAt: time('settled_at'),
    settledBy: text('settled_by'),
    outcome: text('outcome'),
    report: json('report', 'null'),
    reason: text('reason'),
    isEndedUnknown: since('ended_unknown_at'),
    disputedFrom: text('disputed_from'),
    contradiction: text('contradiction'),
    review,
    isConfirmed: yesNo('is_confirmed'),
    isHardwareLost: yesNo('is_hardware_lost'),
    isEndedByHand: yesNo('is_ended_by_hand'),
    isStopRefused: yesNo('is_stop_refused'),
    missedAt: time('outcome_missed_at'),
    receivedAt: compared(time('outcome_received_at')),
    notices: zeroIfNull('notice_sequence'),
    removedAt: time('removed_at'),
    standing: text('standing'),
    refundedBani: zeroIfNull('refunded_bani'),
    document: text('document_state'),
    printId: text('print_id'),
    isUnconfirmed: yesNo('is_unconfirmed'),
    isToConfirm: yesNo('is_to_confirm'),
    attention: json('attention', 'null'),
  },
  alsoWritten: (fields, op) => ({
    // In another state its device is asked at once.
    ...(fields.includes('state') ? { next_recall_at: null } : {}),
    ...(fields.includes('removedAt') ? textsOfRemovedOp(op) : {}),
  }),
  written: { next_recall_at: 'int8', args: 'text', callback_uri: 'text', caller: 'text', request: 'text' },
  // What indexes and statements ask for, from the catalogue; which gateway has it; who called.
  inserted: { mode: 'text', is_payment: 'int8', closes_day: 'int8', recalls: 'int8', instance_id: 'text', caller: 'text', request: 'text' },
  alsoInserted: ({ kind }) => ({ ...columnsOf(kind), recalls: 0 }),
  assigned: {
    issued_at: 'now_ms()',
    answer_by: 'now_ms() + "new"."answer_by" - "new"."issued_at"',
    sequence: 'coalesce("new"."sequence", (select "sequence" from "device_locks" where "device_locks"."device_id" = "new"."device_id"))',
  },
};

/** Of a close or report, the day of the next one begins there: whether it was a Z stays [D85]. */
const textsOfRemovedOp = ({ kind }: Op): Values => ({
  ...(columnsOf(kind)['closes_day'] === 1 ? {} : { args: '{}' }),
  ...{ callback_uri: null, caller: null, request: null, receipt_id: null },
});

/** Number and Uid of the receipt stay; their length was checked when it was accepted. */
function textsOfRemovedInvoice({ receipt }: Invoice): Values {
  if (receipt === null) throw new Error('The receipt of an invoice that is removed was not loaded.');
  const { Number: number, Uid: uid } = JSON.parse(receipt) as { Number?: unknown; Uid?: unknown };
  return {
    receipt: JSON.stringify({ Number: number ?? undefined, Uid: uid ?? undefined }),
    content_hash: createHash('sha256').update(receipt).digest('hex'),
    ...{ callback_uri: null, point_of_sales_code: null, preferred_device_id: null },
  };
}

/** A request to stop is no command, so the indexes of the lists leave it apart. */
const columnsOf = (kind: Kind): Values => (kind === 'Abort' ? { mode: 'Abort', is_payment: 0, closes_day: 0 } : kindOf(kind));

const devices: StoredTable<Device> = {
  table: 'device_locks',
  key: ['id'],
  version: 'sequence',
  fields: {
    id: fixed(text('device_id')),
    sequence: zeroIfNull('sequence'),
    commandId: compared(text('command_id')),
    documentId: compared(text('document_id')),
    unconfirmed: compared(json('unconfirmed', '[]')),
    closes: compared(json('closes', '[]')),
    lastPayment: json('last_payment', 'null'),
    lastSaleId: text('last_sale_id'),
    headId: text('head_id'),
  },
};

const names: StoredTable<Name> = {
  table: 'names',
  key: ['merchantId', 'value'],
  version: 'version',
  fields: {
    merchantId: fixed(text('merchant_id')),
    value: fixed(text('value')),
    version: int('version'),
    attempts: int('attempts'),
    ops: json('ops', '[]'),
  },
};

const keys: StoredTable<Key> = {
  table: 'idempotency_keys',
  key: ['merchantId', 'key'],
  fields: {
    merchantId: fixed(text('merchant_id')),
    key: fixed(text('key')),
    requestHash: text('request_hash'),
    subjectKind: text('subject_kind'),
    subjectId: compared(text('subject_id')),
    createdAt: time('created_at'),
  },
  assigned: { created_at: 'now_ms()' },
};

const invoices: StoredTable<Invoice> = {
  table: 'invoices',
  key: ['oid'],
  version: 'version',
  fields: {
    oid: fixed(text('oid')),
    merchantId: fixed(text('merchant_id')),
    version: int('version'),
    state: invoiceState,
    amountBani: fixed(int('amount_bani')),
    validTo: fixed(int('valid_to')),
    callbackUri: fixed(text('callback_uri')),
    scannedAt: time('scanned_at'),
    endedAt: time('ended_at'),
    receiptId: text('receipt_id'),
    paidDeviceId: text('paid_device_id'),
    notices: zeroIfNull('callback_sequence'),
    isChargeBegun: since('payment_begun_at'),
    receipt: fixed(text('receipt')),
    qrSecretId: fixed(int('qr_secret_id')),
    pointOfSalesCode: fixed(text('point_of_sales_code')),
    preferredDeviceId: fixed(text('preferred_device_id')),
    createdAt: fixed(time('created_at')),
    removedAt: time('removed_at'),
    isPaidByCard: yesNo('is_paid_by_card'),
  },
  alsoWritten: (fields, invoice) => (fields.includes('removedAt') ? textsOfRemovedInvoice(invoice) : {}),
  written: {
    ...{ receipt: 'text', content_hash: 'text', callback_uri: 'text', point_of_sales_code: 'text', preferred_device_id: 'text' },
  },
  assigned: { created_at: 'now_ms()' },
};

const orphans: StoredTable<Orphan> = {
  table: 'orphan_payments',
  key: ['oid', 'receiptId', 'deviceId'],
  version: 'version',
  fields: {
    oid: fixed(text('oid')),
    merchantId: fixed(text('merchant_id')),
    receiptId: fixed(text('receipt_id')),
    deviceId: fixed(text('device_id')),
    version: int('version'),
    at: fixed(time('at')),
    reason: text('reason'),
    isListed: yesNo('is_listed'),
  },
  assigned: { at: 'now_ms()' },
};

/** In the order in which the commit locks and writes them. */
const stored: { readonly [Table in TableName]: StoredTable<TableRows[Table]> } = { invoices, devices, ops, names, keys, orphans };

export const tableNames = Object.keys(stored) as TableName[];
/** Without the type of its rows, for what is generic. */
export const storedTable = (table: TableName): StoredTable<Record<string, unknown>> =>
  stored[table] as unknown as StoredTable<Record<string, unknown>>;

/** Rows that are only added, and deleted with what they are about. */
export const addedTables: CommitTables = {
  bank_operations: {
    key: ['device_id', 'operation_id', 'payment_id'],
    columns: { device_id: 'text', operation_id: 'text', payment_id: 'text' },
    mayExist: true,
  },
  printed_payments: {
    key: ['payment_id', 'print_id'],
    columns: { payment_id: 'text', print_id: 'text', amount_bani: 'int8' },
  },
  settlements: {
    key: ['settled_at', 'command_id'],
    columns: { settled_at: 'int8', command_id: 'text', entered_as: 'text' },
    assigned: { settled_at: 'now_ms()' },
    mayExist: true,
  },
  invoice_events: {
    key: ['oid'],
    columns: { oid: 'text', event: 'text', detail: 'text', at: 'int8' },
    assigned: { at: 'now_ms()' },
    deletedBy: 'oid',
  },
  callbacks: {
    key: ['id'],
    columns: {
      ...{ id: 'text', merchant_id: 'text', subject_kind: 'text', subject_id: 'text', sequence: 'int8', url: 'text', host: 'text' },
      ...{ state: 'text', attempts: 'int8', traceparent: 'text', created_at: 'int8', next_attempt_at: 'int8' },
    },
    assigned: { created_at: 'now_ms()', next_attempt_at: 'now_ms()' },
  },
  command_events: {
    key: ['command_id'],
    columns: { command_id: 'text', step: 'text', detail: 'text', at: 'int8' },
    assigned: { at: 'now_ms()' },
    deletedBy: 'command_id',
  },
  // Written in the background.
  command_step_counts: { key: ['command_id', 'step'], columns: { command_id: 'text', step: 'text' }, deletedBy: 'command_id' },
  search_terms: {
    key: ['merchant_id', 'term', 'subject_id'],
    columns: { merchant_id: 'text', term: 'text', subject_id: 'text' },
    deletedBy: 'subject_id',
  },
  audit_log: {
    key: ['subject'],
    columns: { at: 'int8', actor: 'text', action: 'text', subject: 'text', detail: 'text', merchant_id: 'text' },
    assigned: { at: 'now_ms()' },
  },
  money_corrections: {
    key: ['operation_id'],
    columns: { operation_id: 'text', amount_bani: 'int8', at: 'int8' },
    assigned: { at: 'now_ms()' },
  },
};

export const commitTables: CommitTables = {
  ...Object.fromEntries(tableNames.map((name) => [stored[name].table, commitTable(storedTable(name))])),
  ...addedTables,
};

function commitTable({ key, version, fields, inserted = {}, written = {}, assigned }: StoredTable<Record<string, unknown>>): CommitTable {
  const all = Object.entries(fields);
  const columnsWhere = (isMeant: (field: string, stored: Stored) => boolean) =>
    all.filter(([field, how]) => isMeant(field, how)).flatMap(([, { columns }]) => Object.keys(columns));
  return {
    key: columnsWhere((field) => key.includes(field)),
    columns: Object.assign({}, ...all.map(([, { columns }]) => columns), inserted, written) as CommitTable['columns'],
    // A key of a caller is guarded by what it leads to.
    ...(version === undefined ? {} : { version: Object.keys(fields[version]?.columns ?? {})[0] ?? version }),
    settable: [...columnsWhere((field, { isFixed }) => !isFixed && field !== version), ...Object.keys(written)],
    guardable: columnsWhere((_, { isCompared }) => isCompared === true),
    ...(assigned ? { assigned } : {}),
  };
}

/** Columns of some fields. */
export function toColumns(table: TableName, fields: Readonly<Record<string, unknown>>, now?: number): Values {
  const known = storedTable(table).fields;
  const columns: Columns = {};
  for (const field in fields) known[field]?.write(columns, fields[field], now);
  return columns;
}

const fieldsOf = ofEach((table) => Object.entries(storedTable(table).fields));
/** Filling the fields of a copy is several times faster than adding them one after the other. */
const blanks = ofEach((table) => Object.fromEntries(fieldsOf[table].map(([field]) => [field, undefined])));

function ofEach<Made>(make: (table: TableName) => Made): Record<TableName, Made> {
  return Object.fromEntries(tableNames.map((table) => [table, make(table)])) as Record<TableName, Made>;
}

/** The row as the rules see it. */
export function fromColumns<Table extends TableName>(table: Table, row: Values): TableRows[Table] {
  const found: Record<string, unknown> = { ...blanks[table] };
  for (const [field, { read }] of fieldsOf[table]) found[field] = read(row);
  return found as unknown as TableRows[Table];
}
