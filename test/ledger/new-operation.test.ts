// A new operation needs its entry in the catalogue and its slice: ledger, link, virtual terminal, search and cabinet follow from the entry.
// PreAuth is a payment; Reserve, which moves no money, needs no slice but its route.
// The modules are loaded anew around it, because they read the catalogue when they are loaded and test files share them.
import { afterAll, expect, it, vi } from 'vitest';
import { isNewCore } from '../support/core.ts';
import type { SaleWorld } from '../support/sale-world.ts';

/** To the compiler it is a Pay. */
const preAuthName = 'PreAuth' as 'Pay';
/** To the compiler it is a CloseDay. */
const reserveName = 'Reserve' as 'CloseDay';

async function loadWithPreAuth() {
  vi.resetModules();
  const { operationNames, operations } = await import('../../src/kernel/operations.ts');
  Object.assign(operations, { PreAuth: { ...operations.Pay, answerWithinMs: 90_000 } });
  Object.assign(operations, { Reserve: { ...operations.Pay, isPayment: false } });
  (operationNames as string[]).push('PreAuth', 'Reserve');
  return {
    ...(await import('../../src/cabinet/sales/search-keeper.ts')),
    ...(await import('../../src/cabinet/views/figures/hour-figures.ts')),
    ...(await import('../../src/cabinet/views/lists/commands-list.ts')),
    ...(await import('../../src/cabinet/views/sale/sale-page.ts')),
    ...(await import('../../src/kernel/money.ts')),
    ...(await import('../../src/ledger/run-on-device.ts')),
    ...(await import('../support/sale-world.ts')),
  };
}

type Rooms = Awaited<ReturnType<typeof loadWithPreAuth>>;

afterAll(() => vi.resetModules());

/**
 * The slice of an operation that reserves an amount on a card. On the new core one that takes a number needs a rule of its own; without a
 * number the rule of plain operations suffices.
 */
function preAuthorise({ baniToLei, runOnDevice }: Rooms, world: SaleWorld, deviceId: string, amountBani: number, documentNr: string) {
  if (isNewCore) return world.cards.plainOperation({ merchantId: world.merchantId, deviceId, name: preAuthName as 'CloseDay', amountBani });
  const { database, ledger, merchantId } = world;
  return runOnDevice(
    { database, ledger },
    'terminal',
    { merchantId, deviceId },
    {
      isKnownByContent: false,
      insertRejectsDuplicates: true,
      plan: () => ({
        name: preAuthName,
        args: { amount: baniToLei(amountBani), currency: 'MDL', documentNr },
        amountBani,
        documentNr,
        claims: { document: documentNr },
      }),
    },
  );
}

it('an operation that exists only in the catalogue is sent, settled, closed, found and counted', async () => {
  const rooms = await loadWithPreAuth();
  const { createSaleWorld, fillTerms, listCommands, readFigures, readSalePage } = rooms;
  const world = await createSaleWorld();
  const terminal = await world.terminal();
  if (!isNewCore)
    world.ledger.define({
      [preAuthName]: {
        extract: (report: Record<string, unknown>) => ({ operationId: String(report['operationId']), rrn: String(report['rrn']) }),
      },
    });
  const { queries } = world.database;
  const scope = { merchantId: world.merchantId };
  const document = world.random.uuid();

  const paid = await world.run(preAuthorise(rooms, world, terminal.id, 15_050, document));
  expect(paid).toMatchObject({ code: 0, state: 'Done' });
  const row = await queries
    .selectFrom('commands')
    .selectAll()
    .where('id', '=', paid.oid ?? '')
    .executeTakeFirstOrThrow();
  expect(row).toMatchObject({ name: 'PreAuth', mode: 'POS', is_payment: 1, closes_day: 0, state: 'done', document_state: 'open' });
  expect(row.answer_by - row.issued_at).toBe(90_000);
  expect(terminal.bank.find(row.id)).toMatchObject([{ kind: 'charge', amountBani: 15_050 }]);
  // Its document locks the terminal, and its number is taken, also for a Pay.
  expect((await world.run(preAuthorise(rooms, world, terminal.id, 100, world.random.uuid()))).code).toBe(31);
  if (!isNewCore) await world.run(world.pay(terminal.id, 150.5, document));
  expect((await world.commands()).filter(({ state }) => state === 'done')).toHaveLength(1);

  const { operationId, rrn } = paid.report as { operationId: string; rrn: string };
  const closing = world.cards.closeDoc({ merchantId: world.merchantId, deviceId: terminal.id, operationId, documentNr: document });
  expect((await world.run(closing)).code).toBe(0);
  await world.clock.advance(10_000);

  await fillTerms(world.database, 'command');
  for (const q of isNewCore ? [rrn, operationId] : [rrn, document, operationId])
    expect((await listCommands(queries, scope, { q }, { limit: 5 })).commands.map(({ id }) => id)).toContain(row.id);
  const listed = await listCommands(queries, scope, { mode: 'cards', states: ['paid'] }, { limit: 5 });
  expect(listed.commands.map(({ name }) => name)).toEqual(['PreAuth']);
  const figures = await readFigures(queries, scope, row.issued_at - 1, world.clock.now());
  expect(figures.get(world.merchantId)?.cards).toMatchObject([{ state: 'done', count: 1, bani: 15_050 }]);
  expect(await readSalePage(world.database.queries, scope, row.id, [], world.clock.now())).toMatchObject({
    outcome: { key: 'outcome.charged', params: { amount: 150.5 } },
  });
});

it('an operation that moves no money asks for a card, locks nothing afterwards, and is judged by its amount', async () => {
  const rooms = await loadWithPreAuth();
  const world = await rooms.createSaleWorld();
  const terminal = await world.terminal();
  const reserve = (amountBani: number) => {
    const call = world.cards.plainOperation({ merchantId: world.merchantId, deviceId: terminal.id, name: reserveName, amountBani });
    return world.run(call);
  };
  expect(await reserve(15_050)).toMatchObject({ code: 0, state: 'Done', report: { amount: 150.5 } });
  expect(await reserve(20_000)).toMatchObject({ code: 0 });
  expect(terminal.bank.entries().map(({ kind }) => kind)).toEqual(['approval', 'approval']);
  expect(terminal.bank.netBani()).toBe(0);
  const rows = await world.database.queries.selectFrom('commands').select(['name', 'is_payment', 'document_state']).execute();
  expect(rows).toEqual([0, 1].map(() => ({ name: 'Reserve', is_payment: 0, document_state: null })));
  // Pressed Cancel before the bank was asked.
  expect(await reserve(10_063)).toMatchObject({ code: 50, message: expect.stringContaining('Cancel') });
  world.onAnswer = (answer) => (answer.outcome === 'done' ? { ...answer, report: { ...answer.report, amount: 1 } } : answer);
  expect(await reserve(300)).toMatchObject({ code: 3 });
});
