// Disputes about what an operator called refused [D143]: a void or CloseDoc, which locks no terminal, and a print whose payment was printed
// on another register since.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { asItIs, disputesIn, isRecalled } from '../support/disputes-in.ts';
import { createSaleWorld } from '../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
beforeEach(async () => {
  world = await createSaleWorld();
});
afterEach(() => world.stop());

const { resolve, decided, isBack, paidOn, remainsOf } = disputesIn(() => world);
const find = (id: string) => world.ledger.find(id);

describe.each(['CancelTransaction', 'CloseDoc'] as const)('a disputed %s that an operator called refused', (name) => {
  /** The void was made; the terminal is still at the CloseDoc. */
  async function disputedEnding() {
    const terminal = await world.terminal();
    const sale = await paidOn(terminal.id, false);
    const isVoid = name === 'CancelTransaction';
    const end = () =>
      isVoid ? world.cards.cancelTransaction({ ...sale.named, token: sale.token, amountBani: 1_000 }) : world.cards.closeDoc(sale.named);
    const id = await decided(terminal.id, end, 'refused');
    const says = (answer: AnswerMessage) => (!isVoid && isRecalled(answer) ? { ...answer, report: { state: 'running' } } : answer);
    await isBack(terminal.id, says);
    expect(await find(id)).toMatchObject({ state: 'disputed', disputedFrom: 'refused' });
    // The terminal is asked no more.
    world.onAnswer = (answer) => (isRecalled(answer) ? undefined : answer);
    return { id, sale, terminal };
  }
  const ended = name === 'CancelTransaction' ? 'voided' : 'closed';

  it('locks no terminal, and ends the document of its payment once it is resolved as executed', async () => {
    const { id, sale, terminal } = await disputedEnding();
    const next = await paidOn(terminal.id, false);
    await resolve(id, 'done');
    expect(await find(sale.id)).toMatchObject({ documentState: ended });
    expect(await find(next.id)).toMatchObject({ documentState: 'open' });
    expect((await world.run(world.pay(terminal.id, 5))).code).toBe(31);
  });

  it('leaves the document open and the terminal locked again once it is resolved as not executed', async () => {
    const { id, sale, terminal } = await disputedEnding();
    await resolve(id, 'refused');
    expect(await find(sale.id)).toMatchObject({ documentState: 'open' });
    expect((await world.run(world.pay(terminal.id, 5))).code).toBe(31);
    await world.meanwhile(world.cards.closeDocumentByHand({ commandId: sale.id, actor: 'ana', reason: 'Seen.' }));
    expect((await world.run(world.pay(terminal.id, 5))).code).toBe(0);
    expect(await remainsOf(id)).toEqual([]);
  });

  it('and is resolved as not executed after another sale leaves the document closed, and its timeline says so', async () => {
    const { id, sale, terminal } = await disputedEnding();
    const next = await paidOn(terminal.id, false);
    await resolve(id, 'refused');
    expect(await find(sale.id)).toMatchObject({ documentState: 'closed' });
    expect(await find(next.id)).toMatchObject({ documentState: 'open' });
    expect(await remainsOf(id)).toEqual([expect.stringContaining('stays closed')]);
  });

  it('and whose document was closed by hand meanwhile leaves it closed', async () => {
    const { id, sale } = await disputedEnding();
    await world.meanwhile(world.cards.closeDocumentByHand({ commandId: sale.id, actor: 'ana', reason: 'Seen.' }));
    await resolve(id, 'refused');
    expect(await find(sale.id)).toMatchObject({ documentState: 'closed' });
    expect(await remainsOf(id)).toEqual([]);
  });
});

const callbackUri = 'http://erp.example/?oid=#OID#&state=#State#';

describe('a print that an operator called refused, and whose payment was printed on another register since,', () => {
  async function printedTwice(isSecondPrinted: boolean) {
    // A register runs out of paper by this amount.
    const terminal = await world.terminal();
    const [first, second] = [await world.register({ hasMagic: false }), await world.register({ hasMagic: !isSecondPrinted })];
    const sale = await paidOn(terminal.id, true, 10.91);
    const Payments = [{ PaymentCode: 1, documentNr: sale.named.documentNr }];
    const Items = [{ Name: 'Tea', Quantity: 1, Price: 10.91 }];
    const print = (deviceId: string, Uid: string) =>
      world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId, receipt: { Uid, Items, Payments }, callbackUri });
    const id = await decided(first.id, () => print(first.id, 'one'), 'refused');
    world.onAnswer = asItIs;
    const other = await world.run(print(second.id, 'two'));
    expect(other.code).toBe(isSecondPrinted ? 0 : 50);
    await isBack(first.id);
    expect(await find(id)).toMatchObject({ state: 'disputed' });
    return { id, other: String(other.oid), printAgain: () => world.run(print(first.id, 'three')) };
  }

  it('names the other receipt: in its dispute, and in its timeline once it is resolved as executed', async () => {
    const { id, other } = await printedTwice(true);
    expect((await find(id))?.reviewReason).toContain(`(${other}): it may be done twice`);
    await resolve(id, 'done');
    expect(await remainsOf(id)).toEqual([expect.stringContaining(other)]);
    await world.clock.advance(60_000);
    const notices = world.callbackUrls.filter((url) => url.includes(id)).map((url) => new URL(url).searchParams.get('state'));
    expect(notices).toEqual(['Unknown', 'Refused', 'Unknown', 'Completed']);
  });

  it('is the receipt of the payment again if the other register refused, so that it is not printed once more', async () => {
    const { id, printAgain } = await printedTwice(false);
    expect((await find(id))?.reviewReason).not.toContain('twice');
    expect(await printAgain()).toMatchObject({ code: 3, oid: id });
    await resolve(id, 'done');
    expect(await remainsOf(id)).toEqual([]);
    expect(await printAgain()).toMatchObject({ code: 22, oid: id });
  });

  it('leaves the payment to the next receipt if it is resolved as not executed', async () => {
    const { id, printAgain } = await printedTwice(false);
    await resolve(id, 'refused');
    expect((await printAgain()).code).toBe(0);
  });
});
