// A shop for invoice tests: a merchant with two devices, another merchant beside it, and the invoices room on a database.

import type { KyselyPlugin } from 'kysely';
import { readMoneyOf } from '../../src/cabinet/views/money-sql.ts';
import type { Database } from '../../src/database/database.ts';
import { createInvoices, type Invoices, type InvoicesOptions } from '../../src/invoices/invoices.ts';
import type { Asker } from '../../src/invoices/move.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { errorCodes, GatewayError } from '../../src/kernel/error-codes.ts';
import { systemClock } from '../../src/kernel/system.ts';
import type { Link } from '../../src/link/link.ts';
import { createMoneyCore } from '../../src/money/money.ts';
import { createQr, type Qr } from '../../src/money/qr.ts';
import { core } from '../support/core.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedDevice, seedMerchant } from '../support/fixtures.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

export const receipt = { Number: 'A-17', Uid: 'u-17', Items: [{ Name: 'Pâine', Quantity: 2, Price: 12.5 }], Extra: { b: 1, a: [2] } };
export const template = 'http://erp.example/told?oid=#OID#&state=#State#&receipt=#ReceiptID#&device=#DeviceID#';
export const anybody: Asker = { merchantId: undefined, name: 'caller without a key' };

export interface Shop {
  invoices: Qr;
  merchantId: string;
  otherMerchantId: string;
  deviceId: string;
  secondDeviceId: string;
  foreignDeviceId: string;
  logger: RecordingLogger;
  wakes(): number;
  /** The hosts that callbacks were written for, as the worker was told. */
  woken(): string[];
  /** The number of callbacks of each wake. */
  wokenTogether(): number[];
  /** As the cabinet does it. */
  cancel(oid: string, merchantId?: string): Promise<boolean>;
}

/** On SQLite in memory, in virtual time; it knows its secrets and sweeps nothing by itself. */
export async function openQuietShop(): Promise<{ clock: VirtualClock; database: Database; shop: Shop }> {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const database = await memoryDatabase(clock);
  const shop = await openShop(database, { clock });
  await shop.invoices.start();
  await shop.invoices.stop();
  return { clock, database, shop };
}

export async function openShop(
  database: Database,
  options: { clock?: Clock; scanGraceS?: number; seed?: number; sweepPeriodMs?: number; core?: 'old' | 'new' } = {},
): Promise<Shop> {
  readMoneyOf(options.core ?? core);
  const merchantId = (await seedMerchant(database.queries)).id;
  const otherMerchantId = (await seedMerchant(database.queries)).id;
  const logger = recordingLogger();
  const wakes: string[][] = [];
  const invoices = ((options.core ?? core) === 'new' ? newRoom : createInvoices)({
    database,
    callbacks: {
      wake(written) {
        wakes.push(written.map(({ host }) => host));
      },
    },
    clock: options.clock ?? systemClock,
    random: seededRandom(options.seed ?? 1),
    logger,
    scanGraceS: options.scanGraceS ?? 0,
    timeZone: 'Europe/Chisinau',
    ...(options.sweepPeriodMs === undefined ? {} : { sweepPeriodMs: options.sweepPeriodMs }),
  });
  return {
    invoices,
    merchantId,
    otherMerchantId,
    deviceId: (await seedDevice(database.queries, merchantId)).id,
    secondDeviceId: (await seedDevice(database.queries, merchantId, { kind: 'register' })).id,
    foreignDeviceId: (await seedDevice(database.queries, otherMerchantId)).id,
    logger,
    wakes: () => wakes.length,
    woken: () => wakes.flat(),
    wokenTogether: () => wakes.map(({ length }) => length),
    async cancel(oid, within = merchantId) {
      const code = await codeOf(invoices.cancelInvoice({ oid, merchantId: within, reason: 'customer left', actor: 'ana' }));
      return code === 0;
    },
  };
}

/** Steps of a transaction, which the new core does not have. */
export const ofOldCore = ({ invoices }: Shop): Invoices => invoices as Invoices;

/** No device is connected. */
const emptyLink = { presence: { isLiveAnywhere: () => false, journalOf: () => undefined, of: () => undefined } } as unknown as Link;

function newRoom(options: InvoicesOptions): Qr {
  return createQr({ ...options, ...createMoneyCore({ ...options, link: emptyLink, instanceId: 'test-instance' }) });
}

/** 0, or the errorCode that the call ends with; anything else it throws is thrown on. */
export async function codeOf(call: Promise<unknown>): Promise<number> {
  try {
    await call;
    return 0;
  } catch (error) {
    if (error instanceof GatewayError) return errorCodes[error.errorName].code;
    throw error;
  }
}

export async function callbackRows(database: Database, oid: string) {
  return await database.queries
    .selectFrom('callbacks')
    .select(['merchant_id', 'subject_kind', 'sequence', 'url', 'state', 'attempts'])
    .where('subject_id', '=', oid)
    .orderBy('sequence')
    .execute();
}

export async function eventRows(database: Database, oid: string) {
  const rows = await database.queries
    .selectFrom('invoice_events')
    .select(['event', 'detail'])
    .where('oid', '=', oid)
    .orderBy('id')
    .execute();
  return rows.map(({ event, detail }) => ({ event, detail: JSON.parse(detail) as Record<string, unknown> }));
}

export async function orphanRows(database: Database, oid: string) {
  return await database.queries
    .selectFrom('orphan_payments')
    .select(['merchant_id', 'receipt_id', 'device_id', 'reason'])
    .where('oid', '=', oid)
    .orderBy('id')
    .execute();
}

export function toldUrl(oid: string, state: string, receiptId = '', deviceId = ''): string {
  return `http://erp.example/told?oid=${oid}&state=${state}&receipt=${encodeURIComponent(receiptId)}&device=${deviceId}`;
}

/** The same database, with a count of the trips to it: statements, and what goes in one go. */
export function countStatements(database: Database): { watched: Database; count: () => number } {
  let count = 0;
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      count += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const { inOneGo, snapshot } = database;
  const watched: Database = {
    ...database,
    queries: database.queries.withPlugin(plugin),
    transaction: (work) => database.transaction((queries) => work(queries.withPlugin(plugin))),
    inOneGo(statements) {
      // Each was counted when its text was written.
      count += 1 - statements.length;
      return inOneGo(statements);
    },
    snapshot: (work) =>
      snapshot((read) =>
        work((statements) => {
          count += 1 - statements.length;
          return read(statements);
        }),
      ),
  };
  return { watched, count: () => count };
}
