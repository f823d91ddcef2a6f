// What a scrape says: what waits for a person, on both engines; and of a database that hangs nothing, soon, after one question.
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { CallbackStats } from '../../src/callbacks/callbacks.ts';
import type { Database } from '../../src/database/database.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { addGauges } from '../../src/wiring/gauges.ts';
import { engines, memoryDatabase, openTestDatabase } from '../support/engines.ts';
import { seedCallback, seedCommand, seedDevice, seedInvoice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const fewCallbacks: CallbackStats = { pending: 2, dead: 1, oldestPendingAgeMs: 5_000 };

function gaugesOf(database: Database, clock: Clock, stats: () => Promise<CallbackStats>, certificate?: { expiresAtMs: number }) {
  const metrics = createMetrics();
  let contradictions = 0;
  addGauges(metrics, {
    clock,
    database,
    callbacks: { stats, counts: () => ({ inFlight: 0, delivered: 3, failedAttempts: 1, died: 0 }) },
    link: { stats: () => ({ waitingCalls: 0, liveDevices: 4, connected: { mqtt: true, queue: false }, dropped: { 'over-budget': 7 } }) },
    ledger: { stats: () => ({ inFlight: 0, contradictions }) },
    certificate,
  });
  return {
    lines: async () => (await metrics.text()).split('\n'),
    contradict() {
      contradictions += 1;
    },
  };
}

it.each(engines)('counts what waits for a person, without what was decided or noted (%s)', async (engine) => {
  const database = await openTestDatabase(engine);
  const { queries } = database;
  const { id: merchantId } = await seedMerchant(queries);
  const { id: deviceId } = await seedDevice(queries, merchantId);
  const review = { state: 'unknown', review_since: 5, review_reason: 'nobody knows' } as const;
  await seedCommand(queries, merchantId, deviceId, review);
  await seedCommand(queries, merchantId, (await seedDevice(queries, merchantId)).id, { ...review, reviewed_at: 6 });
  const contradicted = { settled_at: 5, settled_by: 'answer', review_since: 5, review_reason: 'It says done.' } as const;
  await seedCommand(queries, merchantId, (await seedDevice(queries, merchantId)).id, { state: 'refused', ...contradicted });
  await seedCommand(queries, merchantId, (await seedDevice(queries, merchantId)).id, { state: 'refused', ...contradicted, reviewed_at: 6 });
  const { oid } = await seedInvoice(queries, merchantId);
  const orphan = { merchant_id: merchantId, oid, device_id: deviceId, reason: 'Too late.', at: 5 };
  const orphans = await queries
    .insertInto('orphan_payments')
    .values(['R1', 'R2', 'R3'].map((receipt) => ({ ...orphan, receipt_id: receipt })))
    .returning('id')
    .execute();
  const noted = {
    merchant_id: merchantId,
    kind: 'paydRefused',
    subject_id: String(orphans[0]?.id),
    at: 6,
    actor: 'a',
    reason: 'Given back.',
  };
  const reported = {
    merchant_id: merchantId,
    device_id: deviceId,
    subject_kind: 'command',
    outcome: 'done',
    receipt_id: '',
    at: 5,
  } as const;
  const [seen] = await queries
    .insertInto('unmatched_reports')
    .values(['C1', 'C2', 'C3'].map((subject_id) => ({ ...reported, subject_id })))
    .returning('id')
    .execute();
  const dead = { state: 'dead', ended_at: 6, next_attempt_at: null } as const;
  const callbacks = [await seedCallback(queries, merchantId, dead), await seedCallback(queries, merchantId, dead)];
  // This one died, and a later one about the same thing arrived.
  const told = { subject_id: oid, ended_at: 7, next_attempt_at: null };
  await seedCallback(queries, merchantId, { ...told, sequence: 1, state: 'dead' });
  await seedCallback(queries, merchantId, { ...told, sequence: 2, state: 'delivered' });
  const given = { ...noted, kind: 'erpNotNotified', subject_id: callbacks[0]?.id ?? '' };
  await queries
    .insertInto('notes')
    .values([noted, given, { ...noted, kind: 'unmatched', subject_id: String(seen?.id) }])
    .execute();

  const lines = await gaugesOf(database, systemClock, async () => fewCallbacks).lines();
  await database.close();
  expect(lines).toEqual(
    expect.arrayContaining([
      'tillgate_database_up 1',
      'tillgate_review_waiting 2',
      'tillgate_contradictions_waiting 1',
      'tillgate_orphans_waiting 2',
      'tillgate_unmatched_reports_waiting 2',
      'tillgate_dead_callbacks_waiting 1',
    ]),
  );
  expect(lines).toEqual(expect.arrayContaining(['tillgate_callbacks{state="dead"} 1', 'tillgate_callbacks_oldest_pending_seconds 5']));
});

it.each(engines)('tells how long the oldest operation has been open, by what its caller knows (%s)', async (engine) => {
  const database = await openTestDatabase(engine);
  const { queries } = database;
  const { rows } = await sql<{ now: number }>`select now_ms() as now`.execute(queries);
  const ago = (seconds: number) => Number(rows[0]?.now) - seconds * 1000;
  const { id: merchantId } = await seedMerchant(queries);
  const ages = async () => {
    const lines = await gaugesOf(database, systemClock, async () => fewCallbacks).lines();
    const found = lines.filter((line) => line.startsWith('tillgate_oldest_open_command_seconds{'));
    return found.map((line) => [/"(.*)"/.exec(line)?.[1], Math.floor(Number(line.split(' ')[1]) / 10) * 10]);
  };
  expect(await ages()).toEqual([
    ['waiting', 0],
    ['without-answer', 0],
  ]);
  const open = async (row: Parameters<typeof seedCommand>[3]) =>
    seedCommand(queries, merchantId, (await seedDevice(queries, merchantId)).id, row);
  await open({ state: 'done', settled_at: ago(900), settled_by: 'answer', issued_at: ago(990), document_state: 'closed' });
  await open({ state: 'sent', issued_at: ago(150) });
  await open({ state: 'sent', issued_at: ago(500), outcome_missed_at: ago(70) });
  await open({ state: 'unknown', issued_at: ago(500), outcome_missed_at: ago(90) });
  expect(await ages()).toEqual([
    ['waiting', 150],
    ['without-answer', 90],
  ]);
  await database.close();
});

it('waits three seconds for a database that hangs, asks it once, and claims nothing', async () => {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const database = await memoryDatabase(systemClock);
  let asked = 0;
  let answer: (stats: CallbackStats) => void = () => {};
  const { lines } = gaugesOf(database, clock, () => {
    asked += 1;
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  for (const scrape of ['the first', 'the second']) {
    const scraped = lines();
    await clock.advance(3_000);
    const said = await scraped;
    expect(said, scrape).toEqual(expect.arrayContaining(['tillgate_database_up 0', 'tillgate_devices_live 4']));
    expect(
      said.filter((line) =>
        /^tillgate_(review_waiting|contradictions_waiting|oldest_open_command_seconds|orphans_waiting|unmatched_reports_waiting|dead_callbacks_waiting|callbacks(_oldest_pending_seconds)?)\b/.test(
          line,
        ),
      ),
    ).toEqual([]);
  }
  expect([asked, clock.pending]).toEqual([1, 0]);

  answer(fewCallbacks);
  await clock.settle();
  const again = lines();
  await clock.settle();
  answer(fewCallbacks);
  expect(await again).toEqual(expect.arrayContaining(['tillgate_database_up 1', 'tillgate_callbacks{state="pending"} 2']));
  await database.close();
});

it('counts on from scrape to scrape in counters', async () => {
  const database = await memoryDatabase(systemClock);
  const gauges = gaugesOf(database, systemClock, async () => fewCallbacks);
  for (const count of [0, 1, 2]) {
    const lines = await gauges.lines();
    expect(lines).toEqual(
      expect.arrayContaining([
        '# TYPE tillgate_ledger_contradictions_total counter',
        `tillgate_ledger_contradictions_total ${count}`,
        '# TYPE tillgate_link_dropped_messages_total counter',
        'tillgate_link_dropped_messages_total{reason="over-budget"} 7',
        'tillgate_callback_attempts_total{outcome="delivered"} 3',
      ]),
    );
    gauges.contradict();
  }
  await database.close();
});

it('says when the certificate expires, of the one in use, and nothing where there is none', async () => {
  const database = await memoryDatabase(systemClock);
  const name = 'tillgate_certificate_expiry_timestamp_seconds';
  const linesOf = (lines: string[]) => lines.filter((line) => line.startsWith(name));
  const certificate = { expiresAtMs: 1_800_000_000_000 };
  const shown = gaugesOf(database, systemClock, async () => fewCallbacks, certificate);
  expect(linesOf(await shown.lines())).toEqual([`${name} 1800000000`]);
  certificate.expiresAtMs = 1_900_000_000_000;
  expect(linesOf(await shown.lines())).toEqual([`${name} 1900000000`]);
  expect(linesOf(await gaugesOf(database, systemClock, async () => fewCallbacks).lines())).toEqual([]);
  await database.close();
});
