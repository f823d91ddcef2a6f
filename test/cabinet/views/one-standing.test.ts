// Every page shows the same state of an operation, because all derive it from its standing: for every state of a row, the state in
// a list matches its filter, and the page of every Attention item has an advice.
import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAttention } from '../../../src/cabinet/views/figures/attention.ts';
import { createMismatches } from '../../../src/cabinet/views/figures/mismatches.ts';
import { type ListedCommand, listCommands } from '../../../src/cabinet/views/lists/commands-list.ts';
import { readInvoicePage } from '../../../src/cabinet/views/sale/invoice-page.ts';
import { readSalePage } from '../../../src/cabinet/views/sale/sale-page.ts';
import { shownStates } from '../../../src/cabinet/views/shown-state.ts';
import { keepsMoney, standingOf, wasDone } from '../../../src/ledger/standing.ts';
import { contactLostSteps, deviceSpokeSteps, standingConditions } from '../../../src/ledger/standing-sql.ts';
import { listEvents } from '../../../src/ledger/timeline.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../../support/engines.ts';
import { seedCallback, seedCommand, seedDevice, seedInvoice, seedMerchant } from '../../support/fixtures.ts';

const nowMs = Date.UTC(2026, 0, 20, 12);
const all = { merchantId: undefined };
type Row = NonNullable<Parameters<typeof seedCommand>[3]>;

const english = JSON.parse(readFileSync(new URL('../../../web/src/i18n/en.json', import.meta.url), 'utf8')) as {
  advice: Record<string, string>;
};

describe.each(engines)('every state of an operation on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;
  let rows: ListedCommand[];
  let minute = 60;

  const device = async (kind: 'terminal' | 'register') => (await seedDevice(database.queries, merchantId, { kind })).id;
  const at = () => {
    minute += 1;
    const atMs = nowMs - minute * 60_000;
    return { issued_at: atMs, answer_by: atMs };
  };
  const seed = async (row: Row): Promise<string> => {
    const kind = row.name === 'PrintReceipt' || row.name === 'MoneyIn' ? 'register' : 'terminal';
    return (await seedCommand(database.queries, merchantId, await device(kind), { amount_bani: 10_000, ...at(), ...row })).id;
  };
  const settled = () => ({ settled_at: nowMs - 50 * 60_000, settled_by: 'answer' as const });
  const disputed = { state: 'disputed', disputed_from: 'refused', review_since: nowMs - 1, review_reason: 'It says done.' } as const;
  const note = async (commandId: string, ...steps: string[]) => {
    for (const step of steps)
      await database.queries.insertInto('command_events').values({ command_id: commandId, at: nowMs, step }).execute();
  };

  /** Each state alone, with and without an open or closed review. */
  async function seedStates(name: string): Promise<void> {
    const documents = name === 'Pay' ? (['open', 'closed', 'voided'] as const) : ([null] as const);
    const reviews: Row[] = [
      {},
      { review_since: nowMs - 5, review_reason: 'Look.' },
      { review_since: nowMs - 5, review_reason: 'Look.', reviewed_at: nowMs },
    ];
    for (const review of reviews) {
      for (const state of ['sent', 'unknown'] as const) await seed({ name, state, ...review });
      for (const outcome of ['declined', 'busy', null]) {
        for (const state of ['refused', 'never'] as const) await seed({ name, state, outcome, ...settled(), ...review });
      }
      for (const document_state of documents) await seed({ name, state: 'done', document_state, ...settled(), ...review });
    }
    await seed({ name, ...disputed, ...settled() });
  }

  beforeAll(async () => {
    database = await openQuickDatabase(engine);
    merchantId = (await seedMerchant(database.queries)).id;
    for (const name of ['Pay', 'Refund', 'CancelTransaction', 'CloseDoc', 'PrintReceipt', 'MoneyIn']) await seedStates(name);
    // Payments with refunds, voids and closes, each in every possible state.
    for (const name of ['Refund', 'CancelTransaction', 'CloseDoc']) {
      for (const amount_bani of [4_000, 10_000]) {
        for (const document_state of ['open', 'closed'] as const) {
          for (const state of ['done', 'refused', 'never', 'unknown', 'disputed'] as const) {
            const target_id = await seed({ name: 'Pay', state: 'done', document_state, ...settled() });
            const ended = state === 'unknown' ? {} : settled();
            await seed({ name, amount_bani, target_id, ...(state === 'disputed' ? disputed : { state }), ...ended });
          }
        }
      }
    }
    // Contact with the device: lost, lost and restored, and lost once more.
    for (const lost of contactLostSteps) {
      await note(await seed({ name: 'Pay', state: 'sent' }), 'sent', lost);
      await note(await seed({ name: 'Pay', state: 'done', document_state: 'closed', ...settled() }), 'sent', lost);
      for (const spoke of deviceSpokeSteps) {
        await note(await seed({ name: 'Pay', state: 'sent' }), 'sent', lost, spoke);
        await note(await seed({ name: 'Pay', state: 'sent' }), 'sent', lost, spoke, lost);
      }
    }
    await seedListed();
    rows = await listAll();
  }, 120_000);
  afterAll(() => database.close());

  /** Attention items beyond the state: a missing receipt, invoice or callback. */
  async function seedListed(): Promise<void> {
    const done = { state: 'done' as const, ...settled() };
    const [paid, printed, oid, voided] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    await seed({ name: 'Pay', document_nr: paid, document_state: 'closed', ...done });
    await seed({ name: 'PrintReceipt', receipt_uid: paid, state: 'refused', ...settled() });
    await seed({ name: 'PrintReceipt', receipt_uid: printed, ...done });
    await seed({ name: 'Pay', document_nr: printed, state: 'refused', ...settled() });
    const print = await seed({ name: 'PrintReceipt', receipt_uid: voided, ...done });
    const payment = await seed({ name: 'Pay', document_nr: voided, document_state: 'voided', ...done });
    await database.queries
      .insertInto('receipt_payments')
      .values({ payment_id: payment, print_id: print, amount_bani: 10_000, voided_at: nowMs })
      .execute();
    const dead = { state: 'dead', next_attempt_at: null, ended_at: nowMs } as const;
    const untold = await seed({ name: 'Pay', document_state: 'closed', ...done });
    await seedCallback(database.queries, merchantId, { ...dead, subject_id: untold, subject_kind: 'operation' });
    await seedInvoice(database.queries, merchantId, { oid, state: 0, valid_to: 1, payment_begun_at: 1, amount_bani: 10_000 });
    await seed({ name: 'Pay', document_nr: oid, document_state: 'closed', ...done });
    const late = await seedInvoice(database.queries, merchantId, { state: 3, ended_at: nowMs, valid_to: 1, amount_bani: 10_000 });
    await database.queries
      .insertInto('orphan_payments')
      .values({
        merchant_id: merchantId,
        oid: late.oid,
        receipt_id: 'R-1',
        device_id: await device('terminal'),
        reason: 'expired',
        at: nowMs,
      })
      .execute();
  }

  async function listAll(filter: Parameters<typeof listCommands>[2] = {}): Promise<ListedCommand[]> {
    const { commands, next } = await listCommands(database.queries, all, filter, { limit: 1_000 });
    expect(next).toBeUndefined();
    return commands;
  }

  it('has one shown state, and the filter of each state finds exactly its rows', async () => {
    expect(new Set(rows.map(({ shownState }) => shownState))).toEqual(new Set(shownStates));
    for (const state of shownStates) {
      const found = await listAll({ states: [state] });
      const expected = rows.filter(({ shownState }) => shownState === state);
      expect(found.map(({ id }) => id).sort(), state).toEqual(expected.map(({ id }) => id).sort());
    }
  });

  it('is derived equally by SQL and by the ledger', async () => {
    const is = standingConditions('c');
    const bit = (condition: typeof is.done) => sql<number>`case when ${condition} then 1 else 0 end`;
    const judged = await database.queries
      .selectFrom('commands as c')
      .select(['c.id', bit(is.done).as('done'), bit(is.keepsMoney).as('kept'), bit(is.open).as('open'), bit(is.failed).as('failed')])
      .select([is.refundedBani.as('refunded'), bit(is.takenBackInDispute).as('backDisputed')])
      .execute();
    const followersOf = ({ id }: ListedCommand) => rows.filter(({ targetId }) => targetId === id);
    const byId = new Map(judged.map((row) => [row.id, row]));
    for (const row of rows) {
      const standing = standingOf(row);
      expect(byId.get(row.id), row.id).toMatchObject({
        done: Number(wasDone(row)),
        kept: Number(keepsMoney(row)),
        open: Number(standing === 'open'),
        failed: Number(standing === 'refused' || standing === 'never'),
        refunded: row.refundedBani,
        backDisputed: Number(wasDone(row) && standingOf(row, followersOf(row)) === 'disputed'),
      });
    }
  });

  it('never has "Nothing to do" on the page of an Attention item', async () => {
    const { items } = await readAttention(database.queries, all, nowMs, createMismatches());
    expect(new Set(items.map(({ kind }) => kind)).size, 'there is one of every kind').toBe(9);
    for (const item of items) {
      const page = await pageOf(item);
      const advice = english.advice[page?.advice.key.replace('advice.', '') ?? ''];
      expect(advice, `${item.kind}: ${page?.advice.key}`).toBeTypeOf('string');
      expect(advice, item.kind).not.toContain('Nothing to do');
    }
  });

  it('has the same reason in the timeline and in Attention', async () => {
    const { items } = await readAttention(database.queries, all, nowMs, createMismatches());
    const contradicted = items.filter(({ kind }) => kind === 'contradiction');
    expect(contradicted.length).toBeGreaterThan(2);
    for (const { commandId = '', known } of contradicted) {
      await note(commandId, 'review');
      const page = await readSalePage(database.queries, all, commandId, await listEvents(database.queries, commandId), nowMs);
      const step = page?.timeline.find(({ kind }) => kind === 'review');
      expect(step?.text.params['reason']).toBe(known.params['reason']);
      expect(page?.outcome.params['reason']).toBe(known.params['reason']);
    }
  });

  it('is unknown once contact with the device is lost, on the page as in the list', async () => {
    const lost = rows.filter(({ isOutOfContact, state }) => isOutOfContact && state === 'sent');
    expect(lost).toHaveLength(contactLostSteps.length * (1 + deviceSpokeSteps.length));
    for (const { id, shownState } of lost) {
      const page = await readSalePage(database.queries, all, id, await listEvents(database.queries, id), nowMs);
      expect([shownState, page?.outcome.key, page?.advice.key]).toEqual(['unknown', 'outcome.unknown', 'advice.doNotChargeAgain']);
      expect(page?.unclear.at(-1)).toEqual({ fromMs: expect.any(Number) });
    }
  });

  async function pageOf({ commandId, oid }: { commandId?: string | undefined; oid?: string | undefined }) {
    if (commandId === undefined) return readInvoicePage(database.queries, all, oid ?? '', nowMs);
    return readSalePage(database.queries, all, commandId, await listEvents(database.queries, commandId), nowMs);
  }
});

describe('the state columns', () => {
  const root = new URL('../../../', import.meta.url).pathname;
  /** Comparisons of `state` and `document_state` of commands; not those of callbacks, invoices and devices. */
  const reading =
    /\b(?:command|payment|each|follower|[cpox])\.(?:state|document_state|documentState)\s*(?:===?|!==?|<>|in\b)|state\s*(?:===?|!==?|in)\s*\(?'(?:sent|unknown|refused|never|disputed)'|document_?[sS]tate\s*(?:===?|!==?|<>)/;
  const own = /views\/(shown-state|sale\/old-core)\.ts$|^web\/src\/pages\/playground\//;

  it('are read by the ledger and by shown-state.ts only', () => {
    const files = [...globSync('src/cabinet/**/*.ts', { cwd: root }), ...globSync('web/src/**/*.{ts,tsx}', { cwd: root })];
    const found = files
      .filter((path) => !own.test(path))
      .flatMap((path) =>
        readFileSync(`${root}${path}`, 'utf8')
          .split('\n')
          .filter((line) => reading.test(line) && !line.trimStart().startsWith('//'))
          .map((line) => `${path}: ${line.trim()}`),
      );
    expect(found).toEqual([]);
  });
});
