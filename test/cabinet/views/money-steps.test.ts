// Money steps of a person: one command however often the button is pressed, with the limits of an ERP call, and with the person's name.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answered, type CabinetWorld, createCabinetWorld } from './cabinet-world.ts';

describe('money steps of a person', () => {
  let world: CabinetWorld;
  let terminal: Awaited<ReturnType<CabinetWorld['terminal']>>;
  beforeEach(async () => {
    world = await createCabinetWorld();
    terminal = await world.terminal();
  });
  afterEach(() => world.close());

  const pay = async (amount: number, documentNr: string | null = world.random.uuid()) =>
    String((await world.erp('/Device/payment/Pay', { DeviceID: terminal.id, amount, ...(documentNr && { documentNr }) }))['OID']);
  const step = (id: string, action: string, key: string, body: object = {}) =>
    world.act(`/commands/${id}/${action}`, body, { 'idempotency-key': key });
  const page = async (id: string) =>
    (await world.look(`/commands/${id}`)) as Answered & { timeline: { text: { key: string; params: object } }[] };
  const audit = async () => (await world.look('/audit'))['audit'] as { action: string; actor: string }[];

  it('close, refund in parts up to the amount, once per key', async () => {
    const id = await pay(100);
    expect(await step(id, 'refund', 'r-0', { amount: 10 }), 'the document is open').toMatchObject({ errorCode: 31 });
    expect((await step(id, 'close', 'c-1')).errorCode).toBe(0);
    const first = await step(id, 'refund', 'r-1', { amount: 60 });
    expect(first.errorCode).toBe(0);
    expect(await step(id, 'refund', 'r-1', { amount: 60 }), 'a double click').toMatchObject({ errorCode: 0, OID: first['OID'] });
    expect(await step(id, 'refund', 'r-1', { amount: 40 }), 'another amount under it').toMatchObject({ errorCode: 22 });
    expect(await step(id, 'refund', 'r-2', { amount: 40.01 }), 'more than is left').toMatchObject({ errorCode: 40 });
    expect((await step(id, 'refund', 'r-3', { amount: 40 })).errorCode).toBe(0);
    expect(await step(id, 'void', 'v-1')).toMatchObject({ errorCode: 22 });
    expect(terminal.bank?.netBani()).toBe(0);
    const other = await pay(60);
    await step(other, 'close', 'c-2');
    expect(await step(other, 'refund', 'r-1', { amount: 60 }), 'the key of another sale').toMatchObject({ errorCode: 22 });

    const { timeline, outcome } = await page(id);
    expect(outcome).toMatchObject({ key: 'outcome.refunded' });
    const named = timeline.filter(({ text }) => (text.params as { actor?: string }).actor === 'admin token');
    expect(named.map(({ text }) => text.key)).toEqual([
      'step.related.CloseDoc.done',
      'step.related.Refund.done',
      'step.related.Refund.done',
    ]);
    // One entry per attempt, none for the double click.
    expect((await audit()).filter(({ action }) => action === 'command.refund')).toHaveLength(4);
  });

  it('void a payment, even without a document, and never another one with the same number', async () => {
    const id = await pay(20, null);
    expect((await step(id, 'close', 'c-1')).errorCode).toBe(0);
    expect((await step(id, 'void', 'v-1')).errorCode).toBe(0);
    expect((await step(id, 'void', 'v-1')).errorCode).toBe(0);
    expect(await step(id, 'void', 'v-2')).toMatchObject({ errorCode: 22 });
    expect((await page(id))['outcome']).toMatchObject({ key: 'outcome.voided' });

    // The numbers of the bank started over: a later payment has those of an earlier one, and neither has a document.
    const old = await pay(30, null);
    await step(old, 'close', 'c-2');
    const young = await pay(30, null);
    await step(young, 'close', 'c-3');
    const { operation_id, rrn } = await world.database.queries
      .selectFrom('commands')
      .select(['operation_id', 'rrn'])
      .where('id', '=', old)
      .executeTakeFirstOrThrow();
    await world.database.queries.updateTable('commands').set({ operation_id, rrn }).where('id', '=', young).execute();
    expect(await step(old, 'void', 'v-3')).toMatchObject({ errorCode: 0 });
    expect((await page(old))['outcome']).toMatchObject({ key: 'outcome.voided' });
    expect((await page(young))['outcome']).not.toMatchObject({ key: 'outcome.voided' });
  });

  it('need an Idempotency-Key and an approved payment', async () => {
    const id = await pay(10);
    expect(await world.act(`/commands/${id}/close`)).toMatchObject({
      errorCode: 40,
      errorMessage: expect.stringContaining('Idempotency-Key'),
    });
    await step(id, 'close', 'c');
    const declined = await pay(10.61);
    expect(await step(declined, 'refund', 'x', { amount: 1 })).toMatchObject({ errorCode: 22 });
    expect(await step(world.random.uuid(), 'refund', 'y', { amount: 1 })).toMatchObject({ errorCode: 20 });
  });

  it('ask a device again, which does not change a settled operation', async () => {
    const id = await pay(10);
    expect(await world.act(`/commands/${id}/ask`)).toMatchObject({ errorCode: 0, state: 'done' });
    const keys = (await page(id)).timeline.map(({ text }) => text.key);
    expect(keys).toEqual(expect.arrayContaining(['step.askedAgain', 'step.recall', 'step.recalled']));
    expect((await page(id))['command']).toMatchObject({ shownState: 'notClosed' });
  });

  it('show a contradicting journal to a person', async () => {
    const declined = String((await world.erp('/Device/payment/Pay', { DeviceID: terminal.id, amount: 10.61 }))['OID']);
    world.onAnswer = (answer) =>
      answer.report?.['state'] === 'final'
        ? { ...answer, report: { state: 'final', outcome: 'done', report: { rrn: '1', operationId: '9', amount: 10.61 } } }
        : answer;
    await world.act(`/commands/${declined}/ask`);
    expect((await page(declined))['outcome']).toMatchObject({ key: 'outcome.contradiction' });
    const { items } = (await world.look('/attention')) as unknown as { items: object[] };
    expect(items).toMatchObject([{ kind: 'contradiction', commandId: declined, nextStep: { action: 'decide' } }]);
  });

  it('close a document by hand with the name in the timeline', async () => {
    const id = await pay(10);
    expect((await world.act(`/commands/${id}/close-document`, { reason: 'the terminal broke' })).errorCode).toBe(0);
    const closed = (await page(id)).timeline.find(({ text }) => text.key === 'step.closedByHand');
    expect(closed?.text.params).toEqual({ actor: 'admin token', reason: 'the terminal broke' });
  });
});
