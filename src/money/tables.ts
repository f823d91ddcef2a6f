// The tables of the core: which field of a row is which column. Lists are stored as JSON texts, yes and no as 1 and 0.
import type { CommitTable, CommitTables, Value, Values } from '../database/commit-data.ts';
import type { Device, Invoice, Key, Name, Op, TableName } from './case.ts';

interface Stored<Row> {
  table: string;
  key: readonly (keyof Row & string)[];
  /** Columns by field. */
  columns: { readonly [Field in keyof Row]?: string };
  version?: keyof Row & string;
  /** Never changed after the insert. */
  fixed: readonly (keyof Row & string)[];
  guardable?: readonly (keyof Row & string)[];
  json?: readonly (keyof Row & string)[];
  numbers: readonly (keyof Row & string)[];
}

const ops: Stored<Op> = {
  table: 'commands',
  key: ['id'],
  version: 'version',
  columns: {
    ...{
      id: 'id',
      version: 'version',
      kind: 'name',
      merchantId: 'merchant_id',
      deviceId: 'device_id',
      sequence: 'sequence',
      attempt: 'attempt',
    },
    ...{
      state: 'state',
      amountBani: 'amount_bani',
      cardBani: 'card_bani',
      cashBani: 'cash_bani',
      documentNr: 'document_nr',
      receiptUid: 'receipt_uid',
    },
    ...{ targetId: 'target_id', afterId: 'after_id', paid: 'paid', contentHash: 'content_hash', args: 'args', requestHash: 'request_hash' },
    ...{ callbackUri: 'callback_uri', isByPerson: 'is_by_person', journalId: 'journal_id', issuedAt: 'issued_at', answerBy: 'answer_by' },
    ...{
      acceptedAt: 'accepted_at',
      operationId: 'operation_id',
      rrn: 'rrn',
      receiptId: 'receipt_id',
      settledAt: 'settled_at',
      settledBy: 'settled_by',
    },
    ...{ outcome: 'outcome', report: 'report', reason: 'reason', isEndedUnknown: 'is_ended_unknown', disputedFrom: 'disputed_from' },
    ...{ contradiction: 'contradiction', review: 'review', isConfirmed: 'is_confirmed', isHardwareLost: 'is_hardware_lost' },
    ...{
      isEndedByHand: 'is_ended_by_hand',
      isStopRefused: 'is_stop_refused',
      missedAt: 'outcome_missed_at',
      receivedAt: 'outcome_received_at',
    },
    ...{
      notices: 'notice_sequence',
      removedAt: 'removed_at',
      standing: 'standing',
      refundedBani: 'refunded_bani',
      document: 'document_state',
    },
    ...{ printId: 'print_id', isUnconfirmed: 'is_unconfirmed' },
  },
  fixed: [
    ...([
      'id',
      'kind',
      'merchantId',
      'deviceId',
      'sequence',
      'attempt',
      'amountBani',
      'cardBani',
      'cashBani',
      'documentNr',
      'receiptUid',
    ] as const),
    ...([
      'targetId',
      'afterId',
      'paid',
      'contentHash',
      'args',
      'requestHash',
      'callbackUri',
      'isByPerson',
      'journalId',
      'issuedAt',
    ] as const),
  ],
  guardable: ['state', 'acceptedAt', 'receivedAt'],
  json: ['paid', 'args', 'report', 'review'],
  numbers: [
    ...([
      'version',
      'sequence',
      'attempt',
      'amountBani',
      'cardBani',
      'cashBani',
      'isByPerson',
      'issuedAt',
      'answerBy',
      'acceptedAt',
    ] as const),
    ...([
      'settledAt',
      'isEndedUnknown',
      'isConfirmed',
      'isHardwareLost',
      'isEndedByHand',
      'isStopRefused',
      'missedAt',
      'receivedAt',
    ] as const),
    ...(['notices', 'removedAt', 'refundedBani', 'isUnconfirmed'] as const),
  ],
};

const devices: Stored<Device> = {
  table: 'device_locks',
  key: ['id'],
  version: 'sequence',
  columns: {
    ...{ id: 'device_id', sequence: 'sequence', commandId: 'command_id', documentId: 'document_id', unconfirmed: 'unconfirmed' },
    ...{ closes: 'closes', lastPaymentId: 'last_payment_id', lastSaleId: 'last_sale_id', headId: 'head_id' },
  },
  fixed: ['id'],
  guardable: ['commandId', 'documentId', 'unconfirmed'],
  json: ['unconfirmed', 'closes'],
  numbers: ['sequence'],
};

const names: Stored<Name> = {
  table: 'names',
  key: ['merchantId', 'value'],
  version: 'version',
  columns: { merchantId: 'merchant_id', value: 'value', version: 'version', attempts: 'attempts', ops: 'ops' },
  fixed: ['merchantId', 'value'],
  json: ['ops'],
  numbers: ['version', 'attempts'],
};

const keys: Stored<Key> = {
  table: 'idempotency_keys',
  key: ['merchantId', 'key'],
  columns: {
    ...{ merchantId: 'merchant_id', key: 'key', requestHash: 'request_hash', subjectKind: 'subject_kind', subjectId: 'subject_id' },
    createdAt: 'created_at',
  },
  fixed: ['merchantId', 'key'],
  guardable: ['subjectId'],
  numbers: ['createdAt'],
};

const invoices: Stored<Invoice> = {
  table: 'invoices',
  key: ['oid'],
  version: 'version',
  columns: {
    ...{ oid: 'oid', merchantId: 'merchant_id', version: 'version', state: 'state', amountBani: 'amount_bani', validTo: 'valid_to' },
    ...{
      callbackUri: 'callback_uri',
      scannedAt: 'scanned_at',
      endedAt: 'ended_at',
      receiptId: 'receipt_id',
      paidDeviceId: 'paid_device_id',
    },
    ...{ notices: 'callback_sequence', isChargeBegun: 'is_charge_begun' },
  },
  fixed: ['oid', 'merchantId', 'amountBani', 'validTo', 'callbackUri'],
  numbers: ['version', 'amountBani', 'validTo', 'scannedAt', 'endedAt', 'notices', 'isChargeBegun'],
};

/** In the order in which the commit locks and writes them. */
export const stored = { invoices, devices, ops, names, keys } as unknown as Readonly<Record<TableName, Stored<Record<string, unknown>>>>;

export const commitTables: CommitTables = Object.fromEntries(Object.values(stored).map((one) => [one.table, commitTable(one)]));

function commitTable({ key, columns, version, fixed, guardable = [], numbers }: (typeof stored)[TableName]): CommitTable {
  const column = (field: string) => columns[field] ?? field;
  const settable = Object.keys(columns).filter((field) => !fixed.includes(field) && field !== version);
  return {
    key: key.map(column),
    columns: Object.fromEntries(Object.keys(columns).map((field) => [column(field), numbers.includes(field) ? 'int8' : 'text'])),
    version: version === undefined ? 'version' : column(version),
    settable: settable.map(column),
    guardable: guardable.map(column),
  };
}

export function toColumns(table: TableName, fields: Readonly<Record<string, unknown>>): Values {
  const { columns, json = [] } = stored[table];
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [
      columns[field] ?? field,
      json.includes(field) ? JSON.stringify(value) : toValue(value),
    ]),
  );
}

const toValue = (value: unknown): Value => (typeof value === 'boolean' ? Number(value) : ((value ?? null) as Value));
