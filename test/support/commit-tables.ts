// A small ledger for the tests of the commit: the kinds of tables that the money core has.
import { type RawBuilder, sql } from 'kysely';
import type { CommitResult } from '../../src/database/commit.ts';
import { atCommit, type CommitTables, type Unit, type Values } from '../../src/database/commit-data.ts';
import type { Database } from '../../src/database/database.ts';

export const tables = {
  t_invoices: { key: ['oid'], columns: { oid: 'text', version: 'int8', state: 'text' }, version: 'version', settable: ['state'] },
  t_devices: {
    key: ['id'],
    columns: { id: 'text', sequence: 'int8', command_id: 'text', document_id: 'text' },
    version: 'sequence',
    settable: ['command_id', 'document_id'],
    guardable: ['command_id', 'document_id'],
  },
  t_commands: {
    key: ['id'],
    columns: {
      id: 'text',
      version: 'int8',
      device_id: 'text',
      state: 'text',
      settled_at: 'int8',
      report: 'text',
      accepted_at: 'int8',
      issued_at: 'int8',
      sequence: 'int8',
    },
    version: 'version',
    settable: ['state', 'settled_at', 'report', 'accepted_at'],
    guardable: ['state', 'accepted_at'],
    assigned: { issued_at: 'now_ms()', sequence: '(select "sequence" from "t_devices" where "t_devices"."id" = "new"."device_id")' },
  },
  t_names: {
    key: ['merchant_id', 'value'],
    columns: { merchant_id: 'text', value: 'text', version: 'int8', ops: 'text' },
    version: 'version',
    settable: ['ops'],
  },
  t_events: { key: ['command_id', 'step'], columns: { command_id: 'text', step: 'text' } },
  t_history: { key: ['oid'], columns: { oid: 'text', event: 'text', at: 'int8' }, assigned: { at: 'now_ms()' } },
} as const satisfies CommitTables;

export async function createTables({ queries }: Pick<Database, 'queries'>): Promise<void> {
  const text: RawBuilder<unknown>[] = [
    sql`create table t_invoices (oid text primary key, version bigint not null, state text not null)`,
    sql`create table t_devices (id text primary key, sequence bigint not null, command_id text, document_id text)`,
    sql`create table t_commands (id text primary key, version bigint not null, device_id text not null, state text not null, settled_at bigint,
      report text, accepted_at bigint, issued_at bigint not null, sequence bigint not null)`,
    sql`create table t_names (merchant_id text not null, value text not null, version bigint not null, ops text not null, primary key (merchant_id, value))`,
    sql`create table t_events (command_id text not null, step text not null)`,
    sql`create table t_history (oid text not null, event text not null, at bigint not null)`,
  ];
  for (const one of text) await one.execute(queries);
}

/** Nothing in any table but these devices, free. */
export async function refill({ queries }: Pick<Database, 'queries'>, devices: readonly string[]): Promise<void> {
  for (const table of Object.keys(tables)) await sql`delete from ${sql.table(table)}`.execute(queries);
  for (const id of devices) await sql`insert into t_devices (id, sequence) values (${id}, 0)`.execute(queries);
}

/** A Pay under a number, decided on assumed facts: the device is free, the number unused and no invoice's. */
export function begin(id: string, device: string, number = `number ${id}`): Unit {
  return {
    writes: [{ table: 't_devices', key: [device], guard: { command_id: null, document_id: null }, set: { command_id: id } }],
    inserts: [
      { table: 't_names', row: { merchant_id: 'm', value: number, version: 1, ops: id } },
      { table: 't_commands', row: { id, version: 1, device_id: device, state: 'open' } },
      { table: 't_events', row: { command_id: id, step: 'committed' } },
    ],
    absent: [{ table: 't_invoices', key: [number] }],
  };
}

export async function all(database: Database, table: keyof typeof tables): Promise<Values[]> {
  const { rows } = await sql<Values>`select * from ${sql.table(table)} order by ${sql.raw(tables[table].key.join(', '))}`.execute(
    database.queries,
  );
  return rows;
}

/** The end of such a Pay, by its device's answer. */
export const settle = (id: string, guard: number, device = 't1'): Unit => ({
  writes: [
    { table: 't_devices', key: [device], guard: { command_id: id }, set: { command_id: null, document_id: id } },
    { table: 't_commands', key: [id], guard, set: { state: 'done', settled_at: atCommit, report: 'paid' } },
  ],
  inserts: [{ table: 't_events', row: { command_id: id, step: 'settled' } }],
});

export const assigned = (result: CommitResult) => (typeof result === 'string' ? result : result.assigned);
