// Each alert that can be caused in seconds is caused at a real gateway; promtool says which fire in an hour of what its scrapes say. The others
// have made-up series in alerts.test.yml; alert-hours.server.test.ts has the devices that are gone.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { seedCallback, seedCommand, seedDevice, seedInvoice, seedMerchant } from '../support/fixtures.ts';
import {
  type GatewayProcess,
  patienceMs,
  serveSettings,
  serveToken,
  startServeProcess,
  temporaryDirectory,
} from '../support/gateway-process.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { type PostgresServer, startPostgres } from '../support/servers/postgres.ts';
import { firingIn, hourOf, readScrape, type Scrape } from './alert-hours.ts';

const slowTest = { timeout: 4 * patienceMs };
let postgres: PostgresServer;
let database: Database;
let gateway: GatewayProcess;

beforeAll(async () => {
  postgres = await startPostgres();
  gateway = await startServeProcess(
    await serveSettings({
      TILLGATE_DATA_DIR: temporaryDirectory(),
      TILLGATE_DATABASE_URL: postgres.url,
      TILLGATE_DATABASE_CONNECTIONS: '2',
    }),
  );
  database = await openDatabase({ url: postgres.url, role: 'gateway', clock: systemClock, logger: quietLogger });
}, 4 * patienceMs);
afterAll(async () => {
  await gateway?.terminate();
  await database?.close();
  await postgres?.stop();
});

/** As Prometheus stores it when there is no answer. */
const unanswered: Scrape = new Map([['up{instance="a:8080",job="tillgate"}', 0]]);
async function scrape(): Promise<Scrape> {
  try {
    const response = await fetch(`${gateway.baseUrl}/metrics`, { headers: { authorization: `Bearer ${serveToken}` } });
    return readScrape(await response.text());
  } catch {
    return unanswered;
  }
}
/** A machine that other tests fill as well is slow by itself. */
const firing = (scrapes: Scrape[], spanS = 1) => firingIn(hourOf(scrapes, spanS)).filter((name) => name !== 'TillgateEventLoopSlow');
const call = () =>
  fetch(`${gateway.baseUrl}/Device/payment/Pay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': randomUUID() },
    body: JSON.stringify({ DeviceID: randomUUID(), amount: 1 }),
  }).then((response) => response.json() as Promise<{ errorCode: number }>);

describe('an alert of deploy/prometheus fires', () => {
  it('for each case that waits for a person or its device, also at the first scrape', slowTest, async () => {
    expect(firing([await scrape()])).toEqual([]);
    const { queries } = database;
    const { id: merchantId } = await seedMerchant(queries);
    const device = async () => (await seedDevice(queries, merchantId)).id;
    const nowMs = Date.now();
    const review = { review_since: nowMs, review_reason: 'It says done.' };
    await seedCommand(queries, merchantId, await device(), { state: 'refused', settled_at: nowMs, settled_by: 'answer', ...review });
    await seedCommand(queries, merchantId, await device(), {
      state: 'unknown',
      issued_at: nowMs - 100_000,
      outcome_missed_at: nowMs - 90_000,
    });
    const { oid } = await seedInvoice(queries, merchantId);
    const device_id = await device();
    const orphan = { merchant_id: merchantId, oid, receipt_id: 'R', device_id, reason: 'expired', at: nowMs };
    await queries.insertInto('orphan_payments').values(orphan).execute();
    const report = {
      merchant_id: merchantId,
      device_id,
      subject_kind: 'command',
      subject_id: 'x',
      receipt_id: '',
      outcome: 'done',
      at: nowMs,
    } as const;
    await queries.insertInto('unmatched_reports').values(report).execute();
    await seedCallback(queries, merchantId, { state: 'dead', next_attempt_at: null, ended_at: nowMs });
    await seedCallback(queries, merchantId, { created_at: nowMs - 2 * 3_600_000, next_attempt_at: nowMs + 3_600_000 });
    expect(firing([await scrape()])).toEqual([
      'TillgateContradiction',
      'TillgateUnmatchedReports',
      'TillgateReviewWaiting',
      'TillgateCommandOpen',
      'TillgateOrphansWaiting',
      'TillgateCallbacksDead',
      'TillgateCallbacksLate',
    ]);
  });

  it('when calls wait for a connection to the database', slowTest, async () => {
    const holder = new pg.Client({ connectionString: postgres.url });
    await holder.connect();
    await holder.query('begin');
    await holder.query('lock table api_keys in access exclusive mode');
    const calls = Array.from({ length: 8 }, call);
    await expect.poll(async () => firing([await scrape()]), { timeout: patienceMs }).toContain('TillgateDatabaseBusy');
    await holder.query('rollback');
    await holder.end();
    await Promise.allSettled(calls);
  });

  it('when the database is away and calls are answered 2, and when the gateway is away', slowTest, async () => {
    await postgres.kill9();
    const before = await scrape();
    expect(new Set((await Promise.all(Array.from({ length: 8 }, call))).map(({ errorCode }) => errorCode))).toEqual(new Set([2]));
    expect(firing([before, await scrape()])).toEqual(expect.arrayContaining(['TillgateDatabaseAway', 'TillgateErrors']));
    await gateway.terminate();
    expect(firing([await scrape()])).toEqual(['TillgateInstanceDown']);
    expect(firing([])).toEqual(['TillgateInstanceDown']);
  });
});
