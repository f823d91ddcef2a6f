// A device's report of money about a command that the ledger does not have: kept once, for its device's merchant, bounded.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { createLateAnswers } from '../../src/ledger/settling/late-answers.ts';
import { createUnmatchedReports, maxUnmatchedPerDevice } from '../../src/ledger/unmatched.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { engines, openQuickDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { recordingLogger } from '../support/quiet-logger.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const rowsOf = (database: Pick<Database, 'queries'>) =>
  database.queries
    .selectFrom('unmatched_reports')
    .select(['merchant_id', 'device_id', 'subject_kind', 'subject_id', 'outcome', 'rrn', 'operation_id', 'amount_bani'])
    .orderBy('id')
    .execute();

describe.each(engines)('an answer about a command that the ledger does not have, on %s', (engine) => {
  async function begin() {
    const random = seededRandom(1);
    const clock = createVirtualClock();
    const logger = recordingLogger();
    const database = await openQuickDatabase(engine);
    const { id: merchantId } = await seedMerchant(database.queries);
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const unmatched = createUnmatchedReports({ database, clock, logger });
    const lateAnswers = createLateAnswers({ clock, logger, database, settlements: {} as never, unmatched });
    const say = (answer: Partial<AnswerMessage>, device = deviceId) =>
      lateAnswers.settle(device, { v: 1, id: random.uuid(), device, clock: '', outcome: 'done', ...answer });
    return { random, logger, database, merchantId, deviceId, say };
  }
  const paid = { rrn: '407312908813', operationId: '147', amount: 150.5 };

  it('is kept with its numbers, once, and logged', async () => {
    const { database, merchantId, deviceId, say, random, logger } = await begin();
    const id = random.uuid();
    for (let times = 0; times < 3; times += 1) await say({ id, report: paid });
    expect(await rowsOf(database)).toEqual([
      {
        merchant_id: merchantId,
        device_id: deviceId,
        subject_kind: 'command',
        subject_id: id,
        outcome: 'done',
        rrn: '407312908813',
        operation_id: '147',
        amount_bani: 15_050,
      },
    ]);
    const message = 'a device reported money that no record has; Attention lists it';
    expect(logger.lines).toEqual([
      {
        level: 'error',
        message,
        fields: { deviceId, kind: 'command', id, outcome: 'done', rrn: '407312908813', operationId: '147', amountBani: 15_050 },
      },
    ]);
    await database.close();
  });

  it('is kept when its outcome is unknown, and replaced when it turns out to be done', async () => {
    const { database, merchantId, say, random } = await begin();
    const id = random.uuid();
    await say({ id, outcome: 'unknown', reason: 'power cut' });
    const [row] = await database.queries.selectFrom('unmatched_reports').select(['id', 'outcome']).execute();
    expect(row?.outcome).toBe('unknown');
    const note = { merchant_id: merchantId, kind: 'unmatched', subject_id: String(row?.id), at: 1, actor: 'Ana', reason: 'Nothing there.' };
    await database.queries.insertInto('notes').values(note).execute();
    await say({ id, report: paid });
    await say({ id, outcome: 'unknown' });
    expect(await rowsOf(database)).toMatchObject([{ outcome: 'done', rrn: '407312908813' }]);
    // The note was about another report.
    expect(await database.queries.selectFrom('notes').select('id').execute()).toEqual([]);
    await database.close();
  });

  it('is not kept when it moved no money, or answers a question', async () => {
    const { database, say } = await begin();
    for (const outcome of ['accepted', 'refused', 'busy', 'expired', 'never', 'unsupported'] as const) await say({ outcome, report: paid });
    await say({ report: { online: true, battery: 80, paper: 'OK', signal: 70 } });
    await say({ report: { state: 'final', outcome: 'done', report: paid } });
    await say({ report: { state: 'never' } });
    await say({ report: { state: 'approved', kind: 'Pay', commandId: 'x', ...paid } });
    await say({ report: { state: 'none' } });
    expect(await rowsOf(database)).toEqual([]);
    // Further fields are allowed in a report.
    await say({ report: { ...paid, state: 'approved' } });
    await say({ report: { receiptId: 'R-1', total: 20 } });
    await say({});
    expect(await rowsOf(database)).toMatchObject([
      { rrn: '407312908813' },
      { operation_id: 'R-1', amount_bani: 2_000 },
      { rrn: null, amount_bani: null },
    ]);
    await database.close();
  });

  it('belongs to the merchant of the device that sent it, also if the command is another device’s', async () => {
    const { database, deviceId, merchantId, say } = await begin();
    const { id: otherMerchant } = await seedMerchant(database.queries);
    const { id: otherDevice } = await seedDevice(database.queries, otherMerchant);
    const { id } = await seedCommand(database.queries, merchantId, deviceId);
    await say({ id, report: paid }, otherDevice);
    await say({ report: paid }, 'f9a1c6de-0000-4000-8000-000000000000');
    expect(await rowsOf(database)).toMatchObject([{ merchant_id: otherMerchant, device_id: otherDevice, subject_id: id }]);
    expect(await database.queries.selectFrom('commands').select('state').execute()).toEqual([{ state: 'sent' }]);
    await database.close();
  });

  it('is bounded in number and in length, and a note makes room', async () => {
    const { database, say, merchantId, deviceId, logger } = await begin();
    for (let at = 0; at < maxUnmatchedPerDevice + 30; at += 1) await say({ report: { ...paid, rrn: 'r'.repeat(900_000) } });
    const rows = await rowsOf(database);
    expect([rows.length, rows[0]?.rrn?.length]).toEqual([maxUnmatchedPerDevice, 128]);
    // The log has the numbers, and is bounded, too.
    const full = logger.lines.filter(({ message }) => message.includes('has no room'));
    expect(full).toHaveLength(20);
    expect(full[0]).toMatchObject({ level: 'error', fields: { deviceId, amountBani: 15_050 } });
    const [first] = await database.queries.selectFrom('unmatched_reports').select('id').orderBy('id').limit(1).execute();
    const note = { merchant_id: merchantId, kind: 'unmatched', subject_id: String(first?.id), at: 1, actor: 'Ana', reason: 'A test.' };
    await database.queries.insertInto('notes').values(note).execute();
    await say({ report: paid });
    expect((await rowsOf(database)).length).toBe(maxUnmatchedPerDevice + 1);
    await database.close();
  });

  it('never holds text that a database cannot store', async () => {
    const { database, say } = await begin();
    await say({ report: { rrn: 'a\u0000b', operationId: 147, amount: 'x' } });
    expect(await rowsOf(database)).toMatchObject([{ rrn: null, operation_id: '147', amount_bani: null }]);
    await database.close();
  });
});

describe('a settlement that finds no row of its command', () => {
  let world: SaleWorld;
  let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;

  beforeEach(async () => {
    world = await createSaleWorld();
    terminal = await world.terminal();
  });

  /** As after a fail-over to a standby that lacks the newest commits. */
  async function loseCommands() {
    for (const table of ['claims', 'commands', 'command_events'] as const) await world.database.queries.deleteFrom(table).execute();
    await world.database.queries.updateTable('device_locks').set({ command_id: null }).execute();
  }

  it('does not keep late answers to an Abort and a LastTransaction of an earlier process', async () => {
    const answers: AnswerMessage[] = [];
    terminal = await world.terminal({ timing: { customerMs: 5_000 } });
    world.onAnswer = (answer) => {
      answers.push(answer);
      return answer;
    };
    const paying = world.pay(terminal.id, 10, 'A-1');
    await world.clock.advance(500);
    const named = { documentNr: 'A-1', operationId: 'none', token: 'none', amountBani: 1_000 };
    const call = { merchantId: world.merchantId, deviceId: terminal.id };
    expect((await world.run(world.cards.cancelTransaction({ ...call, ...named }))).code).toBe(0);
    await paying.catch(() => undefined);
    await world.run(world.cards.lastTransaction(call));
    const { id } = await world.lastCommand();
    const questions = answers.filter((answer) => answer.id !== id && answer.outcome === 'done');
    expect(
      questions.map(({ report }) => report),
      'the Abort has no report',
    ).toContain(undefined);
    const unmatched = createUnmatchedReports(world);
    const lateAnswers = createLateAnswers({ ...world, settlements: {} as never, unmatched });
    for (const answer of questions) await lateAnswers.settle(terminal.id, answer);
    expect(await rowsOf(world.database)).toEqual([]);
    await lateAnswers.settle(terminal.id, { v: 1, id: world.random.uuid(), device: terminal.id, clock: '', outcome: 'done' });
    expect(await rowsOf(world.database)).toHaveLength(1);
  });

  it.each(['answer', 'recall'] as const)('keeps what the device said (%s), and the caller is answered 3', async (how) => {
    let id = '';
    world.onAnswer = (answer) => {
      if (answer.outcome === 'done' && answer.report?.['rrn'] !== undefined) {
        id = answer.id;
        void loseCommands();
        if (how === 'recall') return undefined;
      }
      return answer;
    };
    const answer = await world.run(world.pay(terminal.id, 10));
    await world.clock.advance(60_000);
    expect(answer.code).toBe(3);
    expect(await rowsOf(world.database)).toMatchObject([
      {
        merchant_id: world.merchantId,
        device_id: terminal.id,
        subject_id: id,
        outcome: 'done',
        rrn: expect.any(String),
        amount_bani: 1_000,
      },
    ]);
  });

  it('keeps an approval without usable numbers, too, with the amount that was asked for', async () => {
    world.onAnswer = (answer) => {
      if (answer.outcome !== 'done') return answer;
      void loseCommands();
      return { ...answer, report: {} };
    };
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    await world.clock.advance(60_000);
    expect(await rowsOf(world.database)).toMatchObject([{ outcome: 'done', rrn: null, amount_bani: 1_000 }]);
  });
});

it('an answer of another device while the call waits settles nothing, and is kept', async () => {
  const world = await createSaleWorld();
  const [terminal, other] = [await world.terminal(), await world.terminal({ merchantId: world.otherMerchantId })];
  world.onAnswer = (answer) => {
    if (answer.device === terminal.id && answer.outcome === 'accepted') {
      world.sayAs(other.id, { ...answer, device: other.id, outcome: 'done', report: { rrn: '1', operationId: '2', amount: 10 } });
    }
    return answer;
  };
  const { code, report } = await world.run(world.pay(terminal.id, 10));
  expect([code, report?.['rrn'] === '1']).toEqual([0, false]);
  expect(await rowsOf(world.database)).toMatchObject([{ merchant_id: world.otherMerchantId, device_id: other.id, rrn: '1' }]);
});
