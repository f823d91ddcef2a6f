// Clients that generators of the trade make of openapi/v1.json, compiled and run: every call of an ERP against a gateway that asks for the
// key everywhere, with the authentication that the document names.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSandboxShop, type SandboxShop } from '../e2e/sandbox-shop.ts';
import { patienceMs } from '../support/gateway-process.ts';
import { compile, generate } from '../support/generated-client.ts';

const slow = { timeout: 4 * patienceMs };

interface Answer {
  errorCode: number;
  errorMessage: string;
  [field: string]: unknown;
}
type Calls = Record<string, (given: object) => Promise<{ data?: Answer; error?: Answer }>>;
type Connect = (place: { baseUrl: string; apiKey: string }) => Calls;

let shop: SandboxShop;
beforeAll(async () => {
  shop = await openSandboxShop({ TILLGATE_INVOICE_AUTH: 'all' });
}, 2 * patienceMs);
afterAll(() => shop?.close());

interface Generator {
  name: string;
  program: string;
  args: (baseUrl: string) => string[];
  use: string;
  files?: (baseUrl: string) => Record<string, string>;
}

const orvalConfig = (baseUrl: string) =>
  `export default { tillgate: { input: './v1.json', output: { target: './orval.ts', client: 'fetch', baseUrl: '${baseUrl}' } } };\n`;

const generators: Generator[] = [
  { name: 'openapi-typescript', program: 'openapi-typescript/bin/cli.js', args: () => ['v1.json', '-o', 'api.ts'], use: 'run-fetch.ts' },
  { name: 'hey-api', program: '@hey-api/openapi-ts/bin/index.cjs', args: () => ['-i', 'v1.json', '-o', 'heyapi'], use: 'run-heyapi.ts' },
  {
    name: 'orval',
    program: 'orval/dist/bin/orval.mjs',
    args: () => ['--config', 'orval.config.mjs'],
    use: 'run-orval.ts',
    files: (baseUrl) => ({ 'orval.config.mjs': orvalConfig(baseUrl) }),
  },
];

async function bundle(place: string, use: string): Promise<Connect> {
  const build = await rolldown({ input: join(place, use), platform: 'node', logLevel: 'silent' });
  const file = join(place, 'bundle.mjs');
  await build.write({ file, format: 'esm' });
  return ((await import(pathToFileURL(file).href)) as { connect: Connect }).connect;
}

/** A day of an ERP; each call must succeed. */
async function playDay(calls: Calls, DeviceID: string, registerId: string): Promise<string[]> {
  const asked: string[] = [];
  const ask = async (name: string, given: object): Promise<Answer> => {
    asked.push(name);
    const { data, error } = (await calls[name]?.(given)) ?? {};
    expect(data, `${name}: ${JSON.stringify(error)}`).toMatchObject({ errorCode: 0 });
    return data as Answer;
  };
  const reportOf = ({ report }: Answer) => JSON.parse(String(report)) as Record<string, string>;
  await ask('deviceStatus', { DeviceID });
  const sale = { DeviceID, documentNr: randomUUID() };
  const paid = await ask('pay', { ...sale, amount: 50 });
  const { operationId = '', rrn = '' } = reportOf(paid);
  await ask('closeDoc', { ...sale, operationId });
  expect(reportOf(await ask('lastTransaction', { DeviceID }))).toMatchObject({ kind: 'Pay', rrn });
  await ask('operationStatus', { OID: paid['OID'] });
  await ask('refund', { ...sale, operationId, rrn, amount: '20.00' });
  const second = { DeviceID, documentNr: randomUUID() };
  const { token = '', ...voided } = reportOf(
    (await calls['pay']?.({ ...second, amount: 10 }).then(({ data }) => data as Answer)) as Answer,
  );
  await ask('cancelTransaction', { ...second, operationId: voided['operationId'], token, amount: 10 });
  const items = [{ Name: 'Coffee', Quantity: 1, Price: 30 }];
  await ask('cashIn', { DeviceID: registerId, Amount: 100 });
  await ask('cashOut', { DeviceID: registerId, Amount: '50.00', Reason: 'bank' });
  const Payments = [{ PaymentCode: 1, documentNr: sale.documentNr }];
  await ask('printReceipt', { DeviceID: registerId, Receipt: { Uid: sale.documentNr, Items: items, Payments } });
  const { QR } = await ask('createInvoice', { Receipt: { Items: items }, ValidTo: null });
  expect(await ask('invoiceStatus', { QR })).toMatchObject({ Status: 0 });
  expect(await ask('getInvoice', { QR })).toMatchObject({ Status: 1, Receipt: { Items: items } });
  await ask('payInvoice', { QR, ReceiptID: 'F-1', DeviceID: registerId });
  await ask('closeDay', { DeviceID });
  await ask('createReport', { DeviceID: registerId, Fiscal: true });
  return asked;
}

describe('a generated client', () => {
  it.each(generators)('of $name makes every call with the key in its place', slow, async ({ program, args, use, files }) => {
    const { baseUrl, apiKey } = shop.sandbox.file;
    const place = await generate(program, args(baseUrl), use, files?.(baseUrl));
    expect(await compile(place, use)).toBe('');
    const connect = await bundle(place, use);
    const calls = connect({ baseUrl, apiKey });
    const index = generators.findIndex((one) => one.use === use);
    const asked = await playDay(calls, shop.terminals[index] ?? '', shop.registers[0] ?? '');
    expect(asked.sort()).toEqual(Object.keys(calls).sort());
    expect(asked).toHaveLength(16);
    const wrong = connect({ baseUrl, apiKey: randomUUID() });
    const { data } = (await wrong['invoiceStatus']?.({ QR: 'x' })) ?? {};
    expect(data).toMatchObject({ errorCode: 10 });
  });
});
