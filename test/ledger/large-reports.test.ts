// A device sends texts of a mebibyte in every field of a report: all that is stored of it is bounded, and no list carries it.
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { doubtApproval } from '../../src/cards/rules.ts';
import { type Command, isOpen } from '../../src/ledger/command.ts';
import type { Finding } from '../../src/ledger/rules.ts';
import { createSettleGroup } from '../../src/ledger/settle-batch.ts';
import { createSettlements, type Settlements } from '../../src/ledger/settling/settlement.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { createTimeline, type Timeline } from '../../src/ledger/timeline.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const long = 'x'.repeat(900_000);
const says = (outcome: Finding['outcome'], report?: Finding['report']): Finding => ({
  ...{ outcome, report, reason: undefined, journalId: 'j', wasAccepted: false },
});
const approval = { operationId: '000147', rrn: '407312908813', amount: 10 };

describe.each(engines)('what a device says is stored with a bound on %s', (engine) => {
  let database: TestDatabase;
  let settlements: Settlements;
  let timeline: Timeline;

  beforeEach(async () => {
    const clock = createVirtualClock(1_000_000);
    database = await openQuickDatabase(engine);
    timeline = createTimeline({ database, clock, logger: quietLogger });
    const kinds = {
      Pay: { doubt: doubtApproval, extract: () => ({ operationId: approval.operationId, rrn: approval.rrn }) },
    };
    const unmatched = { keepAnswer: async () => {} };
    const settleGroup = createSettleGroup(database);
    settlements = createSettlements({ database, clock, logger: quietLogger, timeline, kinds, unmatched, settleGroup });
  });
  afterEach(async () => {
    await database.close();
  });

  async function open(): Promise<Command> {
    const merchantId = (await seedMerchant(database.queries)).id;
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const { id } = await seedCommand(database.queries, merchantId, deviceId, { journal_id: 'j', amount_bani: 1_000 });
    return (await findCommand(database.queries, id)) as Command;
  }

  /** Of every text of the row, and of every step. */
  async function longest() {
    await timeline.flush();
    const texts = async (table: string) => {
      const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(database.queries);
      return rows.map((row) => Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? value.length : 0] as const));
    };
    const [row = []] = await texts('commands');
    const { report = 0, ...others } = Object.fromEntries(row);
    const steps = (await texts('command_events')).flat().map(([, length]) => length);
    return { report, others: Math.max(...Object.values(others)), steps: Math.max(0, ...steps) };
  }

  it.each([
    ['amount', { ...approval, amount: long }],
    ['rrn', { ...approval, rrn: long }],
    ['operationId', { ...approval, operationId: long }],
    ['unknown field', { slip: long, amount: 1 }],
  ])('with a doubted report: %s', async (_name, report) => {
    const command = await settlements.apply(await open(), says('done', report), 'answer');
    expect(isOpen(command)).toBe(true);
    expect(command.reviewReason).toMatch(/^The terminal reported an approval/);
    expect(await longest()).toMatchObject({ report: 0 });
    const { others, steps } = await longest();
    expect(others).toBeLessThan(1_000);
    expect(steps).toBeLessThan(4_000);
  });

  it('settles with a large report whose numbers are right, and keeps the numbers', async () => {
    const rows = Array.from({ length: 15_000 }, () => 'a row');
    const command = await settlements.apply(await open(), says('done', { rows, slip: long, ...approval }), 'answer');
    expect(command).toMatchObject({ state: 'done', operationId: approval.operationId });
    expect(JSON.parse(command.report ?? '')).toEqual({ ...approval, slip: `${'x'.repeat(1_000)}…` });
  });

  it('with a contradicting report', async () => {
    const refused = await settlements.apply(await open(), says('refused', { why: long }), 'answer');
    const report = { operationId: `1${long}`, receiptId: long, number: long, rrn: long, amount: 10 };
    await settlements.apply(refused, says('done', report), 'answer');
    const { report: stored, others, steps } = await longest();
    expect(stored).toBeLessThanOrEqual(64 * 1024);
    expect(others).toBeLessThan(3_000);
    expect(steps).toBeLessThan(4_000);
  });

  it('with a second operation', async () => {
    const done = await settlements.apply(await open(), says('done', approval), 'answer');
    const again = await settlements.apply(done, says('done', { ...approval, operationId: long }), 'answer');
    expect(again.reviewReason).toContain('second operation');
    const { others, steps } = await longest();
    expect(others).toBeLessThan(1_000);
    expect(steps).toBeLessThan(4_000);
  });
});
