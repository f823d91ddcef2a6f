// docs/core-table.md lists every column of the tables that the money core writes, and every other table by its name: compared with the
// migrated schema. test/database/schema.test.ts holds that the schema is the same on both engines.
import { existsSync, readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system.ts';
import { memoryDatabase } from '../support/engines.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const sections = read('docs/core-table.md').split(/^## /m).slice(1);
const namesIn = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
/** Without their conditions. */
const eventsIn = (cell: string) => cell.replace(/ \([^)]*\)/g, '').split(', ');
/** The cells of each row below the first one. */
const rowsOf = (section: string) =>
  [...section.matchAll(/^\| (.+) \|$/gm)].slice(1).map(([, row = '']) => row.split(' | ').map((cell) => cell.trim()));

const listed = sections.flatMap((section) => {
  const table = /^`(\w+)`/.exec(section)?.[1];
  return table === undefined ? [] : [{ table, rows: rowsOf(section) }];
});
const fields = listed.flatMap(({ table, rows }) =>
  rows.map(([columns = '', events = '', readers = '', future = '']) => ({ table, columns: namesIn(columns), events, readers, future })),
);
const sectionNamed = (title: string) => rowsOf(sections.find((section) => section.startsWith(title)) ?? '');
const events = sectionNamed('Events').map(([name = '', , files = '']) => ({ name, files: namesIn(files) }));
const otherTables = sectionNamed('Tables that it does not write').flatMap(([tables = '']) => namesIn(tables));

/** The spellings of a column in the code. */
function spellings(column: string): string[] {
  const camel = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return [column, camel, `${camel}Ms`];
}

function mentions(file: string, column: string): boolean {
  return new RegExp(`\\b(?:${spellings(column).join('|')})\\b`).test(read(`src/${file}`));
}

describe('docs/core-table.md', () => {
  const schema = new Map<string, string[]>();
  beforeAll(async () => {
    const database = await memoryDatabase(systemClock);
    const { rows } = await sql<{ table: string; column: string }>`select m.name as "table", c.name as "column"
      from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' and m.name not like 'sqlite_%'`.execute(database.queries);
    for (const { table, column } of rows) schema.set(table, [...(schema.get(table) ?? []), column]);
    await database.close();
  });

  it('has every table of the schema once, with its columns or by its name', () => {
    expect([...listed.map(({ table }) => table), ...otherTables].sort()).toEqual([...schema.keys()].sort());
  });

  it.each(listed)('has the columns of $table, each once', ({ table, rows }) => {
    expect(rows.flatMap(([columns = '']) => namesIn(columns)).sort()).toEqual(schema.get(table)?.toSorted());
  });

  it('names for each column only events of its list, and what becomes of it', () => {
    const known = events.map(({ name }) => name);
    for (const { table, columns, events: named, future } of fields) {
      const unknown = eventsIn(named).filter((event) => !known.includes(event));
      expect({ table, columns, unknown }).toEqual({ table, columns, unknown: [] });
      expect(`${table} ${columns}: ${future}`).toMatch(/: (?:stays|becomes|goes)\b/);
    }
  });

  it('uses every event of its list, and names files that exist', () => {
    expect(events.length).toBeGreaterThan(30);
    const used = fields.flatMap(({ events: named }) => eventsIn(named));
    expect(events.map(({ name }) => name).filter((name) => !used.includes(name))).toEqual([]);
    const files = events.flatMap((event) => event.files);
    expect(files.filter((file) => !existsSync(new URL(`../../src/${file}`, import.meta.url)))).toEqual([]);
  });

  it('names as readers of a column only files that have it', () => {
    const wrong = fields.flatMap(({ table, columns, readers }) =>
      namesIn(readers).flatMap((file) =>
        columns.filter((column) => !mentions(file, column)).map((column) => `${table}.${column}: ${file}`),
      ),
    );
    expect(wrong).toEqual([]);
  });
});
