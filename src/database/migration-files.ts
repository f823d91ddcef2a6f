// Migration files: `0001_name.sql`, numbered without gaps, the same text for both engines with two tokens: int8 is a 64-bit integer,
// identity8 an auto-incremented integer primary key. On SQLite every table is strict.
// A line `-- runs under programs that know 8 migrations` promises compatibility with older programs [D109]; without it, they stop.
// The part below a line `-- on PostgreSQL only` is for that engine; it must not make the engines behave differently.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from './dialect.ts';

export interface Migration {
  version: number;
  name: string;
  text: string;
  checksum: string;
  /** The minimum number of migrations that a program must know to run on a database with this one. */
  oldestProgram: number;
}

export const migrationsDir: string = join(import.meta.dirname, '../../migrations');

const promisePattern = /^-- runs under programs that know (\d+) migrations$/m;
const postgresOnlyPattern = /^-- on PostgreSQL only$/m;
const fileNamePattern = /^(\d{4})_([a-z0-9_-]+)\.sql$/;

export function readMigrations(dir: string): Migration[] {
  const names = readdirSync(dir)
    .filter((name) => name.endsWith('.sql'))
    .sort();
  return names.map((fileName, index) => {
    const match = fileNamePattern.exec(fileName);
    const version = Number(match?.[1]);
    if (!match?.[2] || version !== index + 1)
      throw new Error(`The migration ${fileName} breaks the numbering: expected number ${index + 1}.`);
    const text = readFileSync(join(dir, fileName), 'utf8').replaceAll('\r\n', '\n');
    const oldestProgram = Number(promisePattern.exec(text)?.[1] ?? version);
    return { version, name: match[2], text, checksum: createHash('sha256').update(text).digest('hex'), oldestProgram };
  });
}

const tokens: Record<Engine, Record<string, string>> = {
  sqlite: { int8: 'integer', identity8: 'integer primary key autoincrement' },
  postgres: { int8: 'bigint', identity8: 'bigint generated always as identity primary key' },
};

/** The statements of a migration in the engine's dialect, without comments. */
export function statementsFor(engine: Engine, text: string): string[] {
  const [forBoth = ''] = text.split(postgresOnlyPattern);
  return splitStatements(engine === 'sqlite' ? forBoth : text, (code) =>
    code.replace(/\b(?:int8|identity8)\b/g, (token) => tokens[engine][token] ?? token),
  ).map((statement) => (engine === 'sqlite' && /^create\s+table\b/i.test(statement) ? `${statement} strict` : statement));
}

// In order: line comment, block comment, quoted text or name (a doubled quote stays inside), dollar-quoted text, end of statement.
const lexeme = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|;/g;

/** Splits at semicolons outside quotes and comments; `translate` gets only the text outside them. */
export function splitStatements(text: string, translate: (code: string) => string = (code) => code): string[] {
  const statements: string[] = [];
  let current = '';
  let at = 0;
  for (const match of text.matchAll(lexeme)) {
    current += translate(text.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[0] === ';') {
      statements.push(current);
      current = '';
    } else {
      current += match[0].startsWith('--') || match[0].startsWith('/*') ? ' ' : match[0];
    }
  }
  statements.push(current + translate(text.slice(at)));
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '');
}
