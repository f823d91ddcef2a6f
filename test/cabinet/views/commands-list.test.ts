// Lists return each row once and in order, exactly the rows of the filter, and never a row of another merchant.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fillTerms } from '../../../src/cabinet/sales/search-keeper.ts';
import type { CommandFilter } from '../../../src/cabinet/views/lists/command-filter.ts';
import { type ListedCommand, listCommands } from '../../../src/cabinet/views/lists/commands-list.ts';
import { totalOfCommands } from '../../../src/cabinet/views/lists/commands-total.ts';
import type { Place } from '../../../src/cabinet/views/lists/cursor.ts';
import { search } from '../../../src/cabinet/views/lists/search.ts';
import { shownStates } from '../../../src/cabinet/views/shown-state.ts';
import { operationOf } from '../../../src/kernel/operations.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../../support/engines.ts';
import { fillLedger, type MonthOfWork, startMs } from './ledger-of-a-month.ts';

const all = { merchantId: undefined };
const stateOf = ({ shownState }: ListedCommand) => shownState;

const goesOut = new Set<string>(['Refund', 'CancelTransaction', 'MoneyOut']);

describe.each(engines)('the list of commands on %s', (engine) => {
  let database: TestDatabase;
  let work: MonthOfWork;
  let everything: ListedCommand[];
  beforeAll(async () => {
    database = await openQuickDatabase(engine);
    work = await fillLedger(database.queries);
    await fillTerms(database, 'command');
    everything = await read({}, 200);
  });
  afterAll(() => database.close());

  /** All pages in order. */
  async function read(filter: CommandFilter, limit: number, scope: { merchantId: string | undefined } = all): Promise<ListedCommand[]> {
    const rows: ListedCommand[] = [];
    let after: Place | undefined;
    for (let pages = 0; pages < 1_000; pages += 1) {
      const page = await listCommands(database.queries, scope, filter, { limit, after });
      expect(page.commands.length).toBeLessThanOrEqual(limit);
      rows.push(...page.commands);
      if (page.next === undefined) return rows;
      after = page.next;
    }
    throw new Error('The pages do not end.');
  }
  const ids = (rows: ListedCommand[]) => rows.map(({ id }) => id);

  it('returns every command once, newest first, even if many share a millisecond', async () => {
    expect(everything).toHaveLength(work.count);
    const sorted = [...everything].sort((a, b) => b.issuedAtMs - a.issuedAtMs || (a.id < b.id ? 1 : -1));
    expect(ids(everything)).toEqual(ids(sorted));
    for (const limit of [1, 7, 50]) expect(ids(await read({}, limit))).toEqual(ids(everything));
  });

  it.each(shownStates)('returns exactly the commands in state %s', async (state) => {
    const expected = everything.filter((command) => stateOf(command) === state);
    expect(expected.length, 'the ledger has some').toBeGreaterThan(0);
    expect(ids(await read({ states: [state] }, 5))).toEqual(ids(expected));
  });

  it('returns exactly the commands of the other filters, also combined', async () => {
    const [first = ''] = work.terminals;
    const fromMs = startMs + 20 * 60_000;
    const toMs = startMs + 50 * 60_000;
    const inSpan = (command: ListedCommand) => command.issuedAtMs >= fromMs && command.issuedAtMs < toMs;
    const cases: [CommandFilter, (command: ListedCommand) => boolean][] = [
      [{ mode: 'cards' }, ({ name }) => operationOf(name).mode === 'POS'],
      [{ mode: 'fiscal' }, ({ name }) => operationOf(name).mode === 'Fiscal'],
      [{ name: 'Refund' }, ({ name }) => name === 'Refund'],
      [{ deviceId: first }, ({ deviceId }) => deviceId === first],
      [{ bank: 'bank1' }, ({ bank }) => bank === 'bank1'],
      [{ shop: 'CHI-01' }, ({ shop }) => shop === 'CHI-01'],
      [{ bank: 'none' }, () => false],
      [{ fromMs, toMs }, inSpan],
      [{ minBani: 110, maxBani: 120 }, ({ amountBani }) => amountBani !== null && amountBani >= 110 && amountBani <= 120],
      [{ shop: 'CHI-01', minBani: 110, fromMs, toMs }, (c) => c.shop === 'CHI-01' && (c.amountBani ?? 0) >= 110 && inSpan(c)],
      [{ states: ['declined', 'notClosed', 'refunded'] }, (c) => ['declined', 'notClosed', 'refunded'].includes(stateOf(c))],
      [{ mode: 'cards', states: ['paid'], bank: 'bank0' }, (c) => c.bank === 'bank0' && stateOf(c) === 'paid'],
    ];
    for (const [filter, matches] of cases) {
      const expected = everything.filter(matches);
      expect(ids(await read(filter, 3)), JSON.stringify(filter)).toEqual(ids(expected));
      const done = expected.filter(({ state, documentState }) => state === 'done' && documentState !== 'voided');
      expect(await totalOfCommands(database.queries, all, filter)).toEqual({
        count: expected.length,
        doneCount: done.length,
        // As in the rows: refunds and withdrawals are negative.
        doneBani: done.reduce((sum, { amountBani, name }) => sum + (goesOut.has(name) ? -1 : 1) * (amountBani ?? 0), 0),
        isCut: false,
      });
    }
  });

  it('finds commands by every number on a receipt', async () => {
    const paid = everything.find((command) => stateOf(command) === 'paid');
    const print = everything.find((command) => command.receiptId !== null);
    if (!paid || !print) throw new Error('The ledger lacks something.');
    const found = async (q: string) => ids(await read({ q }, 2));
    expect(await found(paid.documentNr ?? '')).toEqual([paid.id]);
    expect(await found(paid.rrn ?? '')).toEqual([paid.id]);
    expect(await found(paid.id)).toEqual([paid.id]);
    expect(await found(paid.id.slice(0, 8).toUpperCase())).toEqual([paid.id]);
    expect(await found(print.receiptUid ?? '')).toEqual([print.id]);
    expect(await found(print.receiptId ?? '')).toEqual([print.id]);
    const ofOperation = everything.filter(({ operationId, name }) => operationId === paid.operationId && name === 'Pay');
    expect(await found(paid.operationId ?? '')).toEqual(ids(ofOperation));
    const ofAmount = everything.filter(({ amountBani }) => amountBani === 112);
    expect(await found('1,12 MDL')).toEqual(ids(ofAmount));
    expect(ofAmount.length).toBeGreaterThan(2);
    expect(await found('nothing of the kind')).toEqual([]);
  });

  it('shows a merchant nothing of another, by list, search or id', async () => {
    const [one, other] = work.merchants;
    const own = everything.filter(({ merchantId }) => merchantId === other);
    expect(ids(await read({}, 9, { merchantId: other }))).toEqual(ids(own));
    // Not even by the length of a page or the start of the next one.
    const first = await listCommands(database.queries, { merchantId: other }, {}, { limit: 9 });
    expect(ids(first.commands)).toEqual(ids(own).slice(0, 9));
    expect(first.next?.id).toBe(own[8]?.id);
    const foreign = everything.find((command) => command.merchantId === one && stateOf(command) === 'paid');
    for (const q of [foreign?.id, foreign?.rrn, foreign?.documentNr, foreign?.deviceName]) {
      const scope = { merchantId: other };
      expect(await read({ q: q ?? '' }, 9, scope)).toEqual([]);
      expect(await search(database.queries, scope, q ?? '')).toEqual([]);
      expect(await search(database.queries, all, q ?? '')).not.toEqual([]);
    }
    for (const state of shownStates) {
      for (const row of await read({ states: [state] }, 9, { merchantId: other })) expect(row.merchantId).toBe(other);
    }
    expect(await read({ deviceId: foreign?.deviceId, bank: 'bank0' }, 9, { merchantId: other })).toEqual([]);
    const foreignRows = await read({}, 50, { merchantId: other });
    expect((await totalOfCommands(database.queries, { merchantId: other }, {})).count).toBe(foreignRows.length);
  });
});
