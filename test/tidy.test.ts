// The house rules of docs/architecture.md, held by a test that also proves that it can fail.
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { findCycles } from './support/tidy/cycles.ts';
import { doors, floors, outsideSources, packageRules, topFiles } from './support/tidy/floors.ts';
import { findLongFiles, findLongFunctions, findViolations } from './support/tidy/rules.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

function readFiles(...patterns: string[]): Map<string, string> {
  const paths = globSync(patterns, { cwd: root, exclude: ['**/node_modules', '**/dist'] });
  return new Map(paths.sort().map((path) => [path, readFileSync(`${root}${path}`, 'utf8')]));
}

const source = readFiles('src/**/*.ts');

describe('the house', () => {
  it('keeps its floors, packages and file rules', () => {
    expect(source.size).toBeGreaterThan(20);
    expect(findViolations(source)).toEqual([]);
  });

  it('has no import cycle, not even of types', () => {
    expect(findCycles(readFiles('{src,simulation,exploration,scripts,bench}/**/*.ts'))).toEqual([]);
    expect(findCycles(readFiles('web/src/**/*.{ts,tsx}'))).toEqual([]);
  });

  it('keeps scripts independent of the bench', () => {
    const importers = [...readFiles('scripts/**/*.ts')].filter(([, text]) => /from '(?:\.\.\/)+bench\//.test(text));
    expect(importers.map(([path]) => path)).toEqual([]);
  });

  it('keeps every file short enough for one sitting', () => {
    expect(findLongFiles(readFiles('{src,test,scripts,simulation,exploration,bench,web,clients}/**/*.{ts,tsx,mjs,py}'))).toEqual([]);
  });

  it('keeps every function short enough for one look', () => {
    expect(findLongFunctions(readFiles('{src,simulation,exploration,bench,web/src,scripts}/**/*.{ts,tsx}'))).toEqual([]);
  });

  it('has tables that name only rooms', () => {
    const places = new Set([...floors.flat(), 'virtual', ...Object.values(topFiles)]);
    const named = [
      ...doors.flatMap(({ from, to }) => [from, to]),
      ...outsideSources.map(({ place }) => place),
      ...packageRules.flatMap((rule) => [...rule.places, ...(rule.typesIn ?? [])]),
    ];
    expect(named.filter((place) => !places.has(place))).toEqual([]);
  });
});

// A small house in which all is well; each case below plants one thing.
const soundHouse: Record<string, string> = {
  'src/kernel/money.ts': '// Money.\nexport const one = 1;\n',
  'src/database/open.ts': "// Opens.\nimport pg from 'pg';\nimport { one } from '../kernel/money.ts';\nexport const two = [pg, one];\n",
  'src/database/postgres/client.ts': '// A connection.\nexport const client = 1;\n',
  'src/link/protocol.ts': '// Protocol.\nexport const v = 1;\n',
  'src/link/wire-schemas.ts': "// Messages.\nimport type { TSchema } from 'typebox';\nexport const answer: TSchema = {};\n",
  'src/link/channels/mqtt.ts': "// MQTT.\nimport mqtt from 'mqtt';\nexport const client = mqtt;\n",
  'src/http/server.ts': "// Server.\nimport fastify from 'fastify';\nexport const app = fastify;\n",
  'src/ledger/run.ts': "// Runs.\nimport { v } from '../link/protocol.ts';\nexport const run = v;\n",
  'src/callbacks/outbox.ts': '// Outbox.\nexport const outbox = 1;\n',
  'src/invoices/rules.ts': '// Rules.\nexport const rules = 1;\n',
  'src/cards/pay.ts': "// Pay.\nimport { rules } from '../invoices/rules.ts';\nexport const pay = rules;\n",
  'src/virtual/devices/terminal.ts':
    "// Terminal.\nimport mqtt from 'mqtt';\nimport { v } from '../../link/protocol.ts';\nimport type { answer } from '../../link/wire-schemas.ts';\nexport const t: [unknown, number, typeof answer?] = [mqtt, v];\n",
  'src/kernel/error-codes.ts': '// Codes.\nexport const codes = 1;\n',
  'src/money/case.ts': '// Facts.\nexport interface Case {\n  now: number;\n}\n',
  'src/money/rules/decide.ts': "// Decides.\nimport type { Case } from '../case.ts';\nexport const decide = (c: Case) => c.now;\n",
  'src/config.ts': '// Settings.\nexport const port = process.env.PORT;\n',
  'src/cli/main.ts':
    "#!/usr/bin/env node\n// Command line.\nimport { port } from '../config.ts';\nimport { t } from '../virtual/devices/terminal.ts';\nconsole.log(port, t);\n",
};

describe('the check itself', () => {
  it('finds nothing in a sound house', () => {
    expect(findViolations(new Map(Object.entries(soundHouse)))).toEqual([]);
  });

  const at = (path: string, text: string) => ({ path, text: `// Planted.\n${text}\n` });

  it.each([
    ['an upward import', at('src/kernel/x.ts', "import '../database/open.ts';"), 'kernel, which may not import src/database/open.ts'],
    [
      'an upward type import',
      at('src/link/x.ts', "import type { run } from '../ledger/run.ts';"),
      'link, which may not import src/ledger/run.ts',
    ],
    ['a neighbour', at('src/ledger/x.ts', "import '../callbacks/outbox.ts';"), 'ledger, which may not import src/callbacks/outbox.ts'],
    ['a door used backwards', at('src/invoices/x.ts', "import '../cards/pay.ts';"), 'invoices, which may not import src/cards/pay.ts'],
    ['a re-export', at('src/kernel/x.ts', "export * from '../http/server.ts';"), 'kernel, which may not import'],
    ['a named re-export', at('src/kernel/x.ts', "export { app } from '../http/server.ts';"), 'kernel, which may not import'],
    ['a dynamic import', at('src/kernel/x.ts', "export const x = import('../http/server.ts');"), 'kernel, which may not import'],
    [
      'a dynamic import by template',
      at('src/kernel/x.ts', 'export const x = import(`../http/server.ts`);'),
      'kernel, which may not import',
    ],
    ['an import type', at('src/kernel/x.ts', "export type X = import('../http/server.ts').app;"), 'kernel, which may not import'],
    ['a computed import', at('src/ledger/x.ts', 'export const x = (name: string) => import(name);'), 'cannot be judged'],
    [
      'a worker',
      at('src/kernel/x.ts', "export const x = new Worker(new URL('../database/open.ts', import.meta.url));"),
      'kernel, which may not import',
    ],
    ['a worker by name', at('src/database/x.ts', 'export const x = (name: string) => new Worker(name);'), 'cannot be judged'],
    ['a require', at('src/ledger/x.ts', "export const x = require('pg');"), 'ledger, which may not import pg'],
    ['a room reading wiring', at('src/http/x.ts', "import '../cli/main.ts';"), 'http, which may not import src/cli/main.ts'],
    ['a room reading the settings', at('src/http/x.ts', "import '../config.ts';"), 'http, which may not import src/config.ts'],
    ['settings reading a room', at('src/config.ts', "import './http/server.ts';"), 'settings, which may not import'],
    [
      'virtual devices knowing the gateway',
      at('src/virtual/x.ts', "import '../link/channels/mqtt.ts';"),
      'virtual, which may not import src/link/channels/mqtt.ts',
    ],
    [
      'virtual devices running the schemas',
      at('src/virtual/x.ts', "import { answer } from '../link/wire-schemas.ts';\nexport const x = answer;"),
      'virtual, which may not import src/link/wire-schemas.ts',
    ],
    ['a room knowing virtual devices', at('src/cards/x.ts', "import '../virtual/devices/terminal.ts';"), 'cards, which may not import'],
    [
      'an arrow back inside a room',
      at('src/virtual/client/x.ts', "import '../devices/terminal.ts';"),
      'virtual, which may not import src/virtual/devices/terminal.ts',
    ],
    [
      'one engine knowing the other',
      at('src/database/sqlite/x.ts', "import '../postgres/client.ts';"),
      'database, which may not import src/database/postgres/client.ts',
    ],
    [
      'the room below knowing its folders',
      at('src/link/x.ts', "import './channels/mqtt.ts';"),
      'link, which may not import src/link/channels/mqtt.ts',
    ],
    [
      'a rule about money that reads the database',
      at('src/money/rules/x.ts', "import type { two } from '../../database/open.ts';"),
      'pure and may not import src/database/open.ts',
    ],
    ['a rule about money with a package', at('src/money/rules/x.ts', "import 'node:crypto';"), 'pure and may not import node:crypto'],
    [
      'a refusal beside the rules',
      at('src/money/x.ts', "import { codes } from '../kernel/error-codes.ts';\nexport const x = codes;"),
      'error about money beside the rules',
    ],
    ['a folder that no table names', at('src/http/attic/x.ts', 'export const x = 1;'), 'in no room'],
    ['a missing file', at('src/http/x.ts', "import './nothing.ts';"), 'not a source file'],
    ['a way out of src', at('src/http/x.ts', "import '../../test/support/x.ts';"), 'not a source file'],
    [
      'a driver in another room',
      at('src/invoices/x.ts', "import pg from 'pg';\nexport const x = pg;"),
      'invoices, which may not import pg',
    ],
    ['SQLite in another room', at('src/ledger/x.ts', "import 'node:sqlite';"), 'ledger, which may not import node:sqlite'],
    ['a driver subpath', at('src/http/x.ts', "import 'mqtt/dist/x.js';"), 'http, which may not import mqtt'],
    ['the embedded broker in virtual', at('src/virtual/x.ts', "import 'aedes';"), 'virtual, which may not import aedes'],
    [
      'a driver by import.meta.resolve',
      at('src/cards/x.ts', "export const x = import.meta.resolve('pg');"),
      'cards, which may not import pg',
    ],
    ['fastify as a value', at('src/cards/x.ts', "import fastify from 'fastify';\nexport const x = fastify;"), 'only types from fastify'],
    [
      'fastify as a half value',
      at('src/cards/x.ts', "import { type X, y } from 'fastify';\nexport const x = y;"),
      'only types from fastify',
    ],
    ['files in the kernel', at('src/kernel/x.ts', "import 'node:fs';"), 'kernel, which may not import node:fs'],
    ['an unlisted package', at('src/http/x.ts', "import 'left-pad';"), 'left-pad, which no table'],
    ['an unlisted scope', at('src/http/x.ts', "import '@fastify/cors/x.js';"), '@fastify/cors, which no table'],
    ['an unlisted Node module', at('src/http/x.ts', "import 'node:cluster';"), 'node:cluster, which no table'],
    ['Node without its prefix', at('src/http/x.ts', "import 'fs';"), 'fs, which no table'],
    ['an unknown room', at('src/attic/x.ts', 'export const x = 1;'), 'in no room'],
    ['an unknown file beside the rooms', at('src/extra.ts', 'export const x = 1;'), 'in no room'],
    ['a default export', at('src/http/x.ts', 'export default 1;'), 'default export'],
    ['a default export by name', at('src/http/x.ts', 'const x = 1;\nexport { x as default };'), 'default export'],
    ['a barrel', at('src/http/index.ts', "export * from './server.ts';"), 'tells no subject'],
    ['a drawer', at('src/http/utils.ts', 'export const x = 1;'), 'tells no subject'],
    ['the environment', at('src/http/x.ts', 'export const x = process.env.HOME;'), 'reads process.env'],
    ['the environment by text', at('src/http/x.ts', "export const x = process['env'];"), 'reads process.env'],
    ['the environment unpacked', at('src/http/x.ts', 'export const { env } = process;'), 'reads process.env'],
    [
      'the environment imported',
      at('src/http/x.ts', "import { env } from 'node:process';\nexport const x = env;"),
      'node:process, which no table',
    ],
    ['a missing header', { path: 'src/http/x.ts', text: 'export const x = 1;\n// Too late.\n' }, 'no header'],
    ['broken syntax', at('src/http/x.ts', 'export const = ;'), 'cannot be parsed'],
  ])('finds %s', (_name, planted, expected) => {
    const violations = findViolations(new Map(Object.entries({ ...soundHouse, [planted.path]: planted.text })));
    expect(violations.join('\n')).toContain(expected);
    // ...and blames the planted file alone.
    expect(violations.filter((violation) => !violation.startsWith(planted.path))).toEqual([]);
  });

  it('finds an import cycle by its shortest way', () => {
    const files = new Map([
      ['a.ts', "import { b } from './b.ts';\nimport { c } from './x/c.ts';\nexport const a = [b, c];\n"],
      ['b.ts', "import { c } from './x/c.ts';\nexport const b = c;\n"],
      ['x/c.ts', "import type { a } from '../a.ts';\nexport const c: typeof a | 1 = 1;\n"],
    ]);
    expect(findCycles(files)).toEqual(['x/c.ts -> a.ts -> x/c.ts', 'b.ts -> x/c.ts -> a.ts -> b.ts']);
    expect(findCycles(new Map([...files].filter(([path]) => path !== 'a.ts')))).toEqual([]);
  });

  it('finds a long file', () => {
    const lines = (count: number) => 'x\n'.repeat(count);
    expect(
      findLongFiles(
        new Map([
          ['a.ts', lines(401)],
          ['b.ts', lines(400)],
          ['made.ts', `// Made by scripts/x.ts\n${lines(401)}`],
        ]),
      ),
    ).toEqual(['a.ts has 401 lines, more than 400']);
  });

  it('finds a long function, and leaves tables of routes alone', () => {
    const body = 'x();\n'.repeat(99);
    const text = `function long() {\n${body}}\nfunction registerAll() {\n${body}}\nclass Some {\n  method() {\n${body}  }\n}\nfunction fits() {\n${body.slice(5)}}\n`;
    expect(findLongFunctions(new Map([['a.ts', text]]))).toEqual([
      'a.ts: long has 101 lines, more than 100',
      'a.ts: method has 101 lines, more than 100',
    ]);
  });
});
