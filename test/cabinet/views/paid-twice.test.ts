// An invoice that was paid by its QR and by card at another device: whoever counts or lists what needs a person has it for as long as the shop
// has both payments, whatever came first.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listOrphans } from '../../../src/cabinet/sales/orphans.ts';
import { readAttention } from '../../../src/cabinet/views/figures/attention.ts';
import { createMismatches } from '../../../src/cabinet/views/figures/mismatches.ts';
import { writeNote } from '../../../src/cabinet/views/figures/notes.ts';
import { countWaiting } from '../../../src/cabinet/views/figures/waiting-figures.ts';
import { createSaleWorld } from '../../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
let devices: { terminal: Awaited<ReturnType<typeof world.terminal>>; till: { id: string } };
beforeEach(async () => {
  world = await createSaleWorld();
  devices = { terminal: await world.terminal(), till: await world.register() };
});
afterEach(() => world.stop());

const asker = () => ({ merchantId: world.merchantId, name: 'till' });
const create = (lei = 10) => {
  const Items = [{ Name: 'Goods', Quantity: 1, Price: lei }];
  return world.meanwhile(world.life.invoices.create({ merchantId: world.merchantId, receipt: { Uid: world.random.uuid(), Items } }));
};
const scan = (qr: string) => world.meanwhile(world.life.invoices.scan(qr, asker()));
const payd = (qr: string) => world.meanwhile(world.life.invoices.pay(qr, { receiptId: 'R-1', deviceId: devices.till.id }, asker()));

/** The card payment is under way when the invoice is paid by QR. */
async function paidTwice({ isRefusedFirst = false } = {}) {
  const { oid, qr } = await create();
  if (isRefusedFirst) await expect(payd(qr)).rejects.toMatchObject({ errorName: 'The_status_cannot_be_applied' });
  await scan(qr);
  world.onAnswer = () => undefined;
  const paying = world.pay(devices.terminal.id, 10, oid);
  await world.clock.advance(1_000);
  await payd(qr);
  const whileOpen = await told();
  world.onAnswer = (answer) => answer;
  await world.run(paying);
  await world.clock.advance(60_000);
  return { oid, whileOpen };
}

async function told() {
  const { queries } = world.database;
  const { items } = await readAttention(queries, { merchantId: undefined }, world.clock.now(), createMismatches());
  const listed = items.filter(({ kind }) => kind === 'paydRefused');
  return {
    attention: listed.map(({ known }) => known.key),
    board: (await listOrphans(queries, 10)).map(({ reason }) => reason),
    waiting: (await countWaiting(queries)).orphans,
    subjectId: listed[0]?.subjectId ?? '',
  };
}
const nothing = { attention: [], board: [], waiting: 0, subjectId: '' };
const twice = { attention: ['attention.paydRefused.paidByCardToo'], board: ['paid-by-card-too'], waiting: 1 };

async function voidCard(documentNr: string) {
  const { operationId } = await world.lastCommand('Pay');
  const token = devices.terminal.bank.charges()[0]?.entry.token ?? '';
  const named = { merchantId: world.merchantId, deviceId: devices.terminal.id, documentNr, operationId: String(operationId) };
  expect((await world.run(world.cards.cancelTransaction({ ...named, token, amountBani: 1_000 }))).code).toBe(0);
}

it.each([false, true])(
  'is listed once the card payment is approved, and no longer once it is voided (refused first: %s)',
  async (isRefusedFirst) => {
    const { oid, whileOpen } = await paidTwice({ isRefusedFirst });
    expect(whileOpen).toEqual(nothing);
    expect(await told()).toMatchObject(twice);
    await voidCard(oid);
    expect(await told()).toEqual(nothing);
  },
);

it('is settled by the note of a person, which is about this payment alone', async () => {
  await paidTwice();
  const { subjectId } = await told();
  const note = () =>
    writeNote(world.database, { merchantId: undefined }, { kind: 'paydRefused', subjectId, reason: 'Given back.', actor: 'Ana' });
  await note();
  expect(await told()).toMatchObject({ attention: [], waiting: 0 });
  await expect(note()).rejects.toMatchObject({ message: expect.stringContaining('already has a note') });
});

it('needs no person if the card is declined', async () => {
  const declinedLei = 10.61;
  const { oid, qr } = await create(declinedLei);
  await scan(qr);
  expect((await world.run(world.pay(devices.terminal.id, declinedLei, oid))).code).toBe(50);
  await payd(qr);
  expect(await told()).toEqual(nothing);
});
