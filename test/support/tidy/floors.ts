// The house as tables: which room stands on which floor, and which room may use which package.
// Deny by default: a room, file or package that no table names is a violation, so a new one is a decision made here.

/** From the ground up. A room imports only from floors below its own. */
export const floors: readonly (readonly string[])[] = [
  ['kernel'],
  ['database'],
  ['link', 'http'],
  ['ledger', 'callbacks', 'access'],
  ['cards', 'invoices', 'fiscal', 'money', 'devices', 'removal'],
  ['cabinet'],
  ['playground', 'conformance'],
];

/** Besides the floors: neighbours that may know each other, with the reason. */
export const doors: readonly { from: string; to: string; why: string }[] = [
  {
    from: 'ledger',
    to: 'access',
    why: 'what was done is found first, and only then the device of the merchant [D60]: one order, in one place',
  },
  { from: 'playground', to: 'virtual', why: 'it shows the sandbox’s devices and stands in front of them [D88]' },
  {
    from: 'cards',
    to: 'invoices',
    why: 'a Pay may be for an invoice, and an abort or void cancels the unpaid one it belongs to [D19, D142]',
  },
  ...['cards', 'fiscal', 'invoices'].map((to) => ({
    from: 'money',
    to,
    why: 'until the switch, the new core stands in the place of the old rooms and takes over their requests and checks [D300]',
  })),
  { from: 'removal', to: 'invoices', why: 'whether an invoice took a refused payment after all is one condition for all who ask [D22]' },
];

/** The other end of the wire: written from the published protocol, so it sees no more of the gateway than that. */
export const virtualMayImport: readonly string[] = ['src/kernel/', 'src/link/protocol.ts'];
/** Of these the types alone, which vanish at run time: a device needs no TypeBox. */
export const virtualMayImportTypes: readonly string[] = ['src/link/wire-schemas.ts'];

/** Folders inside a room, from the ground up; `.` is the room's own files but those named here. A room without an entry has no inner order. */
export const innerFloors: Readonly<Record<string, readonly (readonly string[])[]>> = {
  cabinet: [['views'], ['.'], ['events', 'overview', 'people', 'playground', 'sales', 'setup', 'steps'], ['routes.ts']],
  conformance: [['.'], ['checks'], ['run.ts'], ['report.ts']],
  playground: [['.'], ['erp'], ['books.ts', 'stories'], ['playground.ts']],
  access: [['.'], ['people']],
  database: [['.'], ['sqlite', 'postgres'], ['open.ts', 'backup.ts'], ['inspection.ts']],
  link: [['.'], ['channels', 'carrying', 'brokers'], ['link.ts']],
  ledger: [['.'], ['settling'], ['calls'], ['ledger.ts'], ['run-on-device.ts', 'operation-status.ts'], ['routes.ts']],
  money: [['case.ts'], ['event.ts'], ['rules'], ['.']],
  virtual: [['client'], ['wire', 'mishaps', 'books'], ['paper'], ['devices'], ['.']],
};

/** Folders without a clock, a database or a connection: they import only these places and files of their own, and no package [D300]. */
export const pureFolders: Readonly<Record<string, readonly string[]>> = {
  'src/money/rules/': ['src/kernel/', 'src/money/case.ts', 'src/money/event.ts'],
};

/** Refusals about money are made by the rules alone. Files of the room beside them that know error codes, with the reason. */
export const mayKnowErrorCodes: readonly { path: string; why: string }[] = [
  { path: 'src/money/event.ts', why: 'the type of the code in an answer' },
  { path: 'src/money/device-calls.ts', why: 'a field of a request that no rule reads: the currency' },
  { path: 'src/money/replies.ts', why: 'answers become those of the routes; a caller that is gone, too many callers that wait' },
];

/** Above the rooms. `wiring` (all of src/wiring and src/cli, too) sees every room; `settings` sees only the kernel and is seen only by wiring. */
export const topFiles: Readonly<Record<string, 'wiring' | 'settings'>> = {
  'src/gateway.ts': 'wiring',
  'src/config.ts': 'settings',
  'src/settings.ts': 'settings',
  'src/sample-secrets.ts': 'settings',
  'src/setting-dangers.ts': 'settings',
  'src/setting-parsers.ts': 'settings',
  'src/unknown-settings.ts': 'settings',
};

/** Paths outside src that a place may point at with `new URL(...)` or import. */
export const outsideSources: readonly { place: string; target: string }[] = [
  { place: 'database', target: 'migrations/' },
  { place: 'http', target: 'web/dist/' },
  { place: 'http', target: 'web/reference/' },
  { place: 'http', target: 'openapi/' },
  { place: 'wiring', target: 'simulation/' },
  { place: 'wiring', target: 'package.json' },
];

export interface PackageRule {
  packages: readonly string[];
  /** Places that may use them: rooms, `wiring`, `settings`. */
  places: readonly string[];
  /** Places that may import their types, which vanish at run time. */
  typesIn?: readonly string[];
}

const slices = ['cards', 'invoices', 'fiscal', 'devices', 'removal', 'cabinet', 'playground', 'conformance', 'money'];
const stores = ['ledger', 'callbacks', 'access', ...slices];
const allButKernel = ['database', 'link', 'http', ...stores, 'virtual', 'wiring', 'settings'];

/** By what they touch. */
export const packageRules: readonly PackageRule[] = [
  // The world outside: each in the room that is there for it, and at the wire's other end.
  { packages: ['pg', 'node:sqlite', 'node:worker_threads'], places: ['database'] },
  { packages: ['mqtt', 'mqtt-packet', 'amqplib', 'ws'], places: ['link', 'virtual'] },
  { packages: ['aedes'], places: ['link'] },
  { packages: ['fastify'], places: ['http'], typesIn: ['link', ...stores, 'wiring'] },
  { packages: ['@fastify/swagger', 'ajv', 'prom-client'], places: ['http'] },
  { packages: ['pino'], places: ['wiring'] },
  { packages: ['node:fs', 'node:fs/promises'], places: ['database', 'http', 'callbacks', 'virtual', 'wiring'] },
  // What Node keeps of compiled code.
  { packages: ['node:module'], places: ['database', 'wiring'] },
  { packages: ['node:os'], places: ['database', 'callbacks', 'wiring', 'settings'] },
  { packages: ['node:dns', 'node:dns/promises'], places: ['callbacks'] },
  { packages: ['node:http', 'node:net'], places: ['http', 'link', 'callbacks', 'virtual', 'playground', 'conformance', 'wiring'] },
  // The collection after the start.
  { packages: ['node:v8', 'node:vm'], places: ['wiring'] },
  // A hook that a person names on the command line.
  { packages: ['node:child_process'], places: ['wiring'] },
  { packages: ['node:https', 'node:tls'], places: ['http', 'link', 'callbacks', 'virtual', 'wiring'] },
  // Nothing outside.
  { packages: ['kysely'], places: ['database', ...stores] },
  { packages: ['typebox'], places: ['http', 'link', ...stores] },
  { packages: ['ipaddr.js'], places: ['kernel', 'callbacks', 'http', 'settings', 'wiring'] },
  { packages: ['qr'], places: ['invoices', 'devices', 'cabinet', 'virtual'] },
  { packages: ['node:crypto'], places: ['kernel', ...allButKernel] },
  {
    packages: ['node:async_hooks', 'node:events', 'node:path', 'node:stream', 'node:url', 'node:util', 'node:zlib'],
    places: allButKernel,
  },
];

/** A file named so has no subject. */
export const emptyNames: readonly string[] = ['index', 'util', 'utils', 'helper', 'helpers', 'common', 'misc', 'shared', 'types'];

export const maxFileLines = 400;
export const maxFunctionLines = 100;
