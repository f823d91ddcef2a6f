// The views are the only code that reads tables of several rooms [D94], and they only read: this table says which tables, and which
// exceptions are written. A view that reads or writes another table fails.
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../../src/cabinet/views/', import.meta.url));
const schema = readFileSync(new URL('../../../src/database/schema.ts', import.meta.url), 'utf8');
const tables = [...(schema.match(/export interface Schema \{([\s\S]*?)\n\}/)?.[1] ?? '').matchAll(/^ {2}(\w+):/gm)].map(
  ([, name = '']) => name,
);

/** No view reads secrets, sessions and users. */
const readable = [
  'merchants',
  'devices',
  'commands',
  'command_events',
  'invoices',
  'invoice_events',
  'orphan_payments',
  'unmatched_reports',
  'callbacks',
  'callback_attempts',
  'notes',
  'hour_sums',
  'search_terms',
  'settlements',
  'bank_operations',
  'receipt_payments',
  'printed_payments',
  'device_locks',
  'money_corrections',
  'decisions',
];
/** The cabinet's own tables: notes of people, and sums that can be recomputed. */
const writers: Record<string, string> = { 'figures/notes.ts': 'notes', 'figures/hour-sums.ts': 'hour_sums' };

function lookInto(text: string): { reads: string[]; writes: string[] } {
  const reads = [...text.matchAll(/(?:selectFrom\(|[jJ]oin\()\s*'(\w+)|\b(?:from|join)\s+(\w+)(?=[\s)`])/g)].map(
    ([, quoted, raw]) => quoted ?? raw ?? '',
  );
  const writes = [
    ...text.matchAll(/(?:insertInto|updateTable|deleteFrom|mergeInto)\(\s*'(\w+)|\b(?:insert into|update|delete from)\s+(\w+)\b/g),
  ];
  return {
    reads: reads.filter((name) => tables.includes(name)),
    writes: writes.map(([, quoted, raw]) => quoted ?? raw ?? '').filter((name) => tables.includes(name)),
  };
}

describe('the views', () => {
  const files = globSync('**/*.ts', { cwd: folder }).map((name) => ({ name, ...lookInto(readFileSync(`${folder}${name}`, 'utf8')) }));

  it('are parsed completely', () => {
    expect(tables.length).toBeGreaterThan(20);
    expect(files.flatMap(({ reads }) => reads).length).toBeGreaterThan(20);
    expect(lookInto("queries.selectFrom('users').innerJoin('devices as d')")).toEqual({ reads: ['users', 'devices'], writes: [] });
    expect(lookInto('sql`select 1 from sessions s join users u`').reads).toEqual(['sessions', 'users']);
    expect(lookInto("queries.updateTable('commands')").writes).toEqual(['commands']);
    expect(lookInto('sql`delete from commands where true`').writes).toEqual(['commands']);
  });

  it('read only the permitted tables', () => {
    const others = files.flatMap(({ name, reads }) =>
      reads.filter((table) => !readable.includes(table)).map((table) => `${name}: ${table}`),
    );
    expect(others).toEqual([]);
  });

  it('write only the cabinet’s own tables', () => {
    const others = files.flatMap(({ name, writes }) =>
      writes.filter((table) => writers[name] !== table).map((table) => `${name}: ${table}`),
    );
    expect(others).toEqual([]);
    expect(
      files
        .filter(({ writes }) => writes.length > 0)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(Object.keys(writers).sort());
  });
});
