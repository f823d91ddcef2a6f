// The rows that the new money core writes for a Pay, its CloseDoc, a print and a refund, for the measurement of their cost (ledger-cost.ts):
// tables of their own, with the columns and indexes of today's and what docs/decisions.md [D300] adds to them.
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { atCommit, type CommitTable, type Insert, type Unit, type Write } from '../src/database/commit-data.ts';
import type { Queries } from '../src/database/database.ts';

const text = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, 'text'] as const));
const int8 = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, 'int8'] as const));
const settled =
  'state operation_id rrn settled_by outcome report reason document_state standing receipt_id settled_at recalls accepted_at notice_sequence refunded_bani review_since outcome_received_at';

export const coreTables: Record<string, CommitTable> = {
  invoices: { key: ['oid'], columns: text('oid') },
  core_devices: {
    key: ['id'],
    columns: { ...text('id command_id document_id unconfirmed head_id'), sequence: 'int8' },
    version: 'sequence',
    settable: ['command_id', 'document_id', 'unconfirmed', 'head_id'],
    guardable: ['command_id', 'document_id', 'unconfirmed'],
  },
  core_commands: {
    key: ['id'],
    columns: {
      ...text(
        'id merchant_id device_id instance_id name mode args operation_id rrn target_id document_nr receipt_uid content_hash callback_uri journal_id',
      ),
      ...text('request_hash caller request state settled_by outcome report reason document_state standing receipt_id'),
      ...int8(
        'is_payment closes_day amount_bani settled_at recalls accepted_at notice_sequence refunded_bani review_since outcome_received_at',
      ),
      ...int8('version attempt issued_at answer_by sequence'),
    },
    version: 'version',
    settable: settled.split(' '),
    guardable: ['accepted_at'],
    assigned: {
      issued_at: 'now_ms()',
      answer_by: 'now_ms() + 300000',
      sequence: '(select "sequence" from "core_devices" where "core_devices"."id" = "new"."device_id")',
    },
  },
  core_names: {
    key: ['merchant_id', 'value'],
    columns: { ...text('merchant_id value ops'), ...int8('version attempts') },
    version: 'version',
    settable: ['ops', 'attempts'],
  },
  core_keys: {
    key: ['merchant_id', 'key'],
    columns: { ...text('merchant_id key request_hash subject_kind subject_id'), created_at: 'int8' },
  },
  bank_operations: { key: ['device_id', 'operation_id', 'payment_id'], columns: text('device_id operation_id payment_id') },
  settlements: {
    key: ['command_id'],
    columns: { command_id: 'text', settled_at: 'int8' },
    assigned: { settled_at: 'now_ms()' },
  },
  core_callbacks: {
    key: ['id'],
    columns: { ...text('id merchant_id subject_kind subject_id url host state'), ...int8('sequence attempts next_attempt_at created_at') },
  },
};

/** `like` copies columns, defaults and indexes. */
export async function createCoreTables(queries: Queries, devices: readonly string[]): Promise<void> {
  const statements = [
    sql`create table core_commands (like commands including all, version bigint not null default 1, sequence bigint, attempt bigint, standing text, refunded_bani bigint)
      with (fillfactor = 50)`,
    sql`create table core_keys (like idempotency_keys including all)`,
    sql`create table core_callbacks (like callbacks including all)`,
    sql`create table core_devices (id text primary key, sequence bigint not null, command_id text, document_id text, unconfirmed text, head_id text) with (fillfactor = 50)`,
    sql`create table core_names (merchant_id text not null, value text not null, version bigint not null, attempts bigint not null, ops text not null,
      primary key (merchant_id, value)) with (fillfactor = 70)`,
  ];
  for (const one of statements) await one.execute(queries);
  for (const id of devices) await sql`insert into core_devices (id, sequence) values (${id}, 0)`.execute(queries);
}

interface Begun {
  name: string;
  deviceId: string;
  request: string;
  number?: string;
  /** The open document that its device may have. */
  document?: string | null;
  row?: Record<string, string | number | null>;
  writes?: Write[];
}

/** The first commit of a command: device, key, row, and its number. */
export function beginUnit({ name, deviceId, request, number, document = null, row = {}, writes = [] }: Begun): { id: string; unit: Unit } {
  const id = randomUUID();
  const inserts: Insert[] = [
    {
      table: 'core_keys',
      row: { merchant_id: 'm', key: randomUUID(), request_hash: 'hash', subject_kind: 'command', subject_id: id, created_at: Date.now() },
    },
    {
      table: 'core_commands',
      row: {
        id,
        version: 1,
        attempt: 1,
        merchant_id: 'm',
        device_id: deviceId,
        instance_id: 'i',
        name,
        mode: 'POS',
        is_payment: name === 'Pay' ? 1 : 0,
        closes_day: 0,
        args: '{"amount":12.5,"currency":"MDL"}',
        state: 'sent',
        standing: 'Open',
        recalls: 0,
        notice_sequence: 0,
        journal_id: 'journal',
        caller: 'key k',
        request,
        ...row,
      },
    },
  ];
  if (number !== undefined)
    inserts.push({ table: 'core_names', row: { merchant_id: 'm', value: number, version: 1, attempts: 1, ops: id } });
  const device: Write = {
    table: 'core_devices',
    key: [deviceId],
    guard: { command_id: null, document_id: document, unconfirmed: null },
    set: { command_id: id },
  };
  return { id, unit: { writes: [device, ...writes], inserts, absent: number === undefined ? [] : [{ table: 'invoices', key: [number] }] } };
}

/** The end of a command by its device's answer: the row that was inserted has version 1. */
export function settleUnit(
  id: string,
  deviceId: string,
  options: { set: Record<string, string | number | null>; document?: string | null; writes?: Write[]; inserts?: Insert[] },
): Unit {
  const { set, document, writes = [], inserts = [] } = options;
  const held = document === undefined ? {} : { document_id: document };
  const done = { state: 'done', standing: 'Done', settled_at: atCommit, settled_by: 'answer', outcome: 'done', accepted_at: atCommit };
  return {
    writes: [
      { table: 'core_devices', key: [deviceId], guard: { command_id: id }, set: { command_id: null, head_id: id, ...held } },
      { table: 'core_commands', key: [id], guard: 1, set: { ...done, ...set } },
      ...writes,
    ],
    inserts: [...inserts, { table: 'settlements', row: { command_id: id } }],
  };
}
