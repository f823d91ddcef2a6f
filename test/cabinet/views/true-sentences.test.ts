// The cabinet's sentences are true in every state: each is tested by doing what it says, through the API of the ERP and of the cabinet, and
// by reading the page's own data.
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { disputesIn } from '../../support/disputes-in.ts';
import { type Answered, type CabinetWorld, createCabinetWorld } from './cabinet-world.ts';

interface Said {
  key: string;
  params: Record<string, unknown>;
}
interface Page extends Answered {
  outcome: Said;
  advice: Said;
  hints: Said[];
  marks: { key: string }[];
  facts: Record<string, unknown>;
  related: { others: { id: string }[] };
  timeline: { kind: string; text: Said }[];
  steps: {
    action: string;
    isAllowed: boolean;
    consequence: Said;
    whyNot?: Said;
    closesReview?: boolean;
    keepsSettlement?: boolean;
    contradiction?: string;
  }[];
}

const english = JSON.parse(readFileSync(new URL('../../../web/src/i18n/en.json', import.meta.url), 'utf8')) as object;

/** The sentence that the browser shows, before its values are filled in. */
function sentence({ key, params }: Said): string {
  const find = (path: string) =>
    path.split('.').reduce<unknown>((found, part) => (found as Record<string, unknown> | undefined)?.[part], english);
  const said = (params['amount'] === undefined ? undefined : find(`${key}_amount`)) ?? find(key);
  return typeof said === 'string' ? said : expect.fail(`no text ${key}`);
}

describe('the sentences of the cabinet', () => {
  let world: CabinetWorld;
  let terminal: Awaited<ReturnType<CabinetWorld['terminal']>>;
  beforeEach(async () => {
    world = await createCabinetWorld();
    terminal = await world.terminal();
  });
  afterEach(() => world.close());

  const page = async (id: string) => (await world.look(`/commands/${id}`)) as unknown as Page;
  const pay = (amount: number, documentNr = world.random.uuid()) =>
    world.erp('/Device/payment/Pay', { DeviceID: terminal.id, amount, documentNr });
  const step = (id: string, action: string, body: object = {}) =>
    world.act(`/commands/${id}/${action}`, body, { 'idempotency-key': world.random.uuid() });
  const listed = async (name: string) => {
    const { commands } = (await world.look(`/commands?mode=cards&name=${name}`)) as unknown as { commands: Record<string, unknown>[] };
    return commands;
  };
  const closed = async (amount: number) => {
    const paid = await pay(amount);
    await step(String(paid['OID']), 'close');
    return paid;
  };
  /** A payment that was declined; its journal then says that it was executed. */
  async function disputed(): Promise<string> {
    const id = String((await pay(10.61))['OID']);
    world.onAnswer = (answer) =>
      answer.report?.['state'] === 'final'
        ? { ...answer, report: { state: 'final', outcome: 'done', report: { rrn: '1', operationId: '9', amount: 10.61 } } }
        : answer;
    await world.act(`/commands/${id}/ask`);
    return id;
  }

  it('give a refund its own numbers, and do not call it charged', async () => {
    const paid = await closed(100);
    const refund = await step(String(paid['OID']), 'refund', { amount: 40 });
    const own = JSON.parse(String(refund['report'])) as { rrn: string; operationId: string };
    const { facts, timeline } = await page(String(refund['OID']));
    expect(facts).toMatchObject(own.rrn === undefined ? {} : { rrn: own.rrn, operationId: own.operationId });
    expect(own.rrn).not.toBe((JSON.parse(String(paid['report'])) as { rrn: string }).rrn);
    expect(await listed('Refund')).toMatchObject([{ rrn: own.rrn, operationId: own.operationId }]);
    for (const { text } of timeline) expect(sentence(text)).not.toMatch(/charged/);
    expect(timeline.find(({ kind }) => kind === 'settled')?.text).toEqual({
      key: 'step.settled',
      params: { name: 'Refund', state: 'done', by: 'answer' },
    });
  });

  it('do not say that the ERP was notified of a disputed payment: it gets errorCode 3', async () => {
    const id = await disputed();
    const { outcome, advice, steps, marks } = await page(id);
    const decide = steps.find(({ action }) => action === 'decide') ?? expect.fail();
    for (const said of [outcome, advice, decide.consequence]) expect(sentence(said)).not.toMatch(/ERP (was|is) notified/);
    expect(sentence(advice)).toMatch(/errorCode 3/);
    expect(
      await world.erp('/Device/payment/Pay', {
        DeviceID: terminal.id,
        amount: 10.61,
        documentNr: String((await listed('Pay'))[0]?.['documentNr']),
      }),
    ).toMatchObject({ errorCode: 3 });
    expect(marks.map(({ key }) => key)).not.toContain('mark.erpNotified');
    expect((await listed('Pay')).find((row) => row['id'] === id)).not.toHaveProperty('erp');
  });

  it('keep the answer that the ERP got, when its device contradicts it and when a person resolves the dispute', async () => {
    const answers = async (id: string) => (await page(id)).timeline.filter(({ kind }) => kind === 'callerAnswered');
    const id = await disputed();
    const given = await answers(id);
    expect(given).toMatchObject([{ text: { params: { errorCode: 50 } } }]);
    await world.clock.advance(60_000);
    const { contradiction } = (await page(id)).steps.find(({ action }) => action === 'decide') ?? expect.fail();
    await world.act(`/commands/${id}/decide`, { state: 'done', reason: 'At the bank.', closesReview: true, contradiction });
    expect(sentence((await page(id)).outcome)).toMatch(/decided that it was charged/);
    expect(await answers(id)).toEqual(given);
  });

  it('show what a person decided as that, not as a report of the device', async () => {
    world.onAnswer = (answer) => (answer.outcome === 'accepted' ? answer : undefined);
    const id = String((await pay(30))['OID']);
    await world.clock.advance(11 * 60_000);
    expect(await world.act(`/commands/${id}/decide`, { state: 'done', reason: 'At the bank.' })).toMatchObject({ errorCode: 0 });
    const { raw } = await page(id);
    expect(raw).toMatchObject({ decision: { amount: 30, source: 'person' } });
    expect(raw).not.toHaveProperty('report');
  });

  it('say that a void is left after the bank day was closed, and it is', async () => {
    const paid = await closed(30);
    await world.act(`/devices/${terminal.id}/closeDay`, {}, { 'idempotency-key': 'day' });
    const { steps } = await page(String(paid['OID']));
    expect(sentence(steps.find(({ action }) => action === 'refund')?.whyNot ?? expect.fail())).toMatch(/void/);
    expect(await step(String(paid['OID']), 'void')).toMatchObject({ errorCode: 0 });
  });

  it('do not say that a device was asked, or did not answer, while its call still waits for it', async () => {
    world.onAnswer = (answer) => (answer.outcome === 'accepted' ? answer : undefined);
    const payload = { APIKey: world.key, DeviceID: terminal.id, amount: 30 };
    const paying = world.server.app.inject({ method: 'POST', url: '/Device/payment/Pay', payload });
    await world.clock.runUntil(() => world.ledger.stats().inFlight === 1, 1_000);
    const id = String((await listed('Pay'))[0]?.['id']);
    expect(await world.act(`/commands/${id}/ask`)).toMatchObject({ state: 'sent', isAnswered: false });
    expect((await page(id)).timeline.map(({ kind }) => kind)).not.toContain('askedAgain');
    await world.clock.advance(6 * 60_000);
    expect((await paying).json()).toMatchObject({ errorCode: 3 });
  });

  it('say who asked the device again, without a word of the database', async () => {
    const id = String((await closed(20))['OID']);
    await world.act(`/commands/${id}/ask`);
    const asked = (await page(id)).timeline.find(({ kind }) => kind === 'askedAgain');
    expect(asked?.text).toEqual({ key: 'step.askedAgain', params: { actor: 'admin token' } });
  });

  it('show a decision before the settlement that it caused', async () => {
    world.onAnswer = (answer) => (answer.outcome === 'accepted' ? answer : undefined);
    const payload = { APIKey: world.key, DeviceID: terminal.id, amount: 30 };
    const paying = world.server.app.inject({ method: 'POST', url: '/Device/payment/Pay', payload });
    await world.clock.runUntil(() => world.ledger.stats().inFlight === 1, 1_000);
    await world.clock.advance(20 * 60_000);
    await paying;
    const id = String((await listed('Pay'))[0]?.['id']);
    expect(await world.act(`/commands/${id}/decide`, { state: 'refused', reason: 'No slip.' })).toMatchObject({ errorCode: 0 });
    const kinds = (await page(id)).timeline.map(({ kind }) => kind);
    expect(kinds.filter((kind) => ['decided', 'settled'].includes(kind))).toEqual(['decided', 'settled']);
  });

  it('do not exclude a void of a payment without a token: the terminal judges it', async () => {
    world.onAnswer = ({ report, ...answer }) => ({ ...answer, ...(report && { report: { ...report, token: undefined } }) });
    const id = String((await closed(20))['OID']);
    expect((await page(id)).steps.find(({ action }) => action === 'void')).toMatchObject({ isAllowed: true });
    // The terminal's bank knows a token.
    expect(await step(id, 'void')).toMatchObject({ errorCode: 50, errorMessage: expect.stringContaining('token') });
  });

  it('of the audit log do not say that a refused operation was carried out', async () => {
    await pay(20);
    const close = () => world.act(`/devices/${terminal.id}/closeDay`, {}, { 'idempotency-key': world.random.uuid() });
    expect(await close()).toMatchObject({ errorCode: 31 });
    const { audit } = (await world.look('/audit')) as unknown as { audit: { action: string }[] };
    expect(audit.map(({ action }) => action)).toContain('device.close-day');
    for (const action of ['device-close-day', 'device-x-report', 'device-z-report', 'command-refund', 'command-void', 'command-close'])
      expect(sentence({ key: `audit.action.${action}`, params: {} })).toMatch(/^Requested /);
  });

  it('say that a device contradicts what stays settled, when it is asked', async () => {
    const id = String((await closed(20))['OID']);
    world.onAnswer = (answer) =>
      answer.report?.['state'] === 'final' ? { ...answer, report: { state: 'final', outcome: 'refused', reason: 'No.' } } : answer;
    expect(await world.act(`/commands/${id}/ask`)).toMatchObject({ state: 'done', isAnswered: true, isContradicted: true });
  });

  it('do not say that there is nothing to do about a second charge under one number, until one of them is voided', async () => {
    const number = world.random.uuid();
    const other = await world.terminal();
    const { decided, isBack, resolve } = disputesIn(() => world);
    // An operator is wrong about the first one, and the number is free on another terminal.
    const first = await decided(terminal.id, () => world.pay(terminal.id, 10, number), 'refused');
    world.onAnswer = (answer) => answer;
    const second = String((await world.erp('/Device/payment/Pay', { DeviceID: other.id, amount: 10, documentNr: number }))['OID']);
    await step(second, 'close');
    expect((await page(second)).advice.key).toBe('advice.nothing');
    await isBack(terminal.id);
    await resolve(first, 'done');
    expect([(await page(first)).advice.key, (await page(second)).advice.key]).toEqual(['advice.chargedTwice', 'advice.chargedTwice']);
    expect((await page(first)).related.others.map(({ id }) => id)).toEqual([second]);
    expect(await step(second, 'void')).toMatchObject({ errorCode: 0 });
    expect((await page(first)).advice.key).toBe('advice.closeDocument');
    await step(first, 'close');
    expect((await page(first)).advice.key).toBe('advice.nothing');
  });

  it('do not say of a declined attempt that the customer may pay, or the receipt be printed, after another attempt did it', async () => {
    const number = world.random.uuid();
    const declined = String((await pay(10.61, number))['OID']);
    expect((await page(declined)).advice.key).toBe('advice.anotherCard');
    const paid = String((await pay(10.61, number))['OID']);
    await step(paid, 'close');
    expect((await page(declined)).advice.key).toBe('advice.otherAttempt');
    const register = await world.register();
    const print = () =>
      world.erp('/Device/Invoice/Pay', {
        DeviceID: register.id,
        Receipt: { Uid: number, Items: [{ Name: 'Tea', Quantity: 1, Price: 10.91 }], Payments: [{ PaymentCode: 0 }] },
      });
    const refused = String((await print())['OID']);
    expect((await page(refused)).advice.key).toBe('advice.tryAgainOnDevice');
    expect(await print()).toMatchObject({ errorCode: 0 });
    expect((await page(refused)).advice.key).toBe('advice.otherAttempt');
  });

  it('do not say that a dispute stays done, because it becomes what is decided', async () => {
    const id = await disputed();
    const { steps } = await page(id);
    const { consequence, closesReview, keepsSettlement, contradiction } = steps.find(({ action }) => action === 'decide') ?? expect.fail();
    expect([closesReview, keepsSettlement]).toEqual([true, undefined]);
    expect(sentence(consequence)).not.toMatch(/stays/);
    const { items } = (await world.look('/attention')) as unknown as { items: { nextStep: object }[] };
    expect(items[0]?.nextStep).toMatchObject({ closesReview, contradiction, consequence });
    expect(
      await world.act(`/commands/${id}/decide`, { state: 'refused', reason: 'Not at the bank.', closesReview, contradiction }),
    ).toMatchObject({
      errorCode: 0,
      command: { state: 'refused' },
    });
    expect(sentence((await page(id)).outcome)).toMatch(/\{\{actor\}\} decided/);
    expect((await page(id)).outcome.params).toMatchObject({ actor: 'admin token' });
  });

  it('say of a report that its device contradicts that the settlement stays, and it does', async () => {
    const id = String((await closed(20))['OID']);
    world.onAnswer = (answer) =>
      answer.report?.['state'] === 'final' ? { ...answer, report: { state: 'final', outcome: 'refused', reason: 'No.' } } : answer;
    await world.act(`/commands/${id}/ask`);
    const { steps, advice } = await page(id);
    const decide = steps.find(({ action }) => action === 'decide') ?? expect.fail();
    expect(decide).toMatchObject({ closesReview: true, keepsSettlement: true });
    for (const said of [advice, decide.consequence]) expect(sentence(said)).toMatch(/settled stays/);
    const decision = { state: 'refused', reason: 'Seen.', closesReview: true, contradiction: decide.contradiction };
    expect(await world.act(`/commands/${id}/decide`, decision)).toMatchObject({ errorCode: 0, command: { state: 'done' } });
  });

  it('show no receipt on a declined payment whose number another attempt has paid', async () => {
    const register = await world.register();
    const documentNr = world.random.uuid();
    // The amount selects a decline; another amount under the number is the next attempt.
    const declined = String((await pay(10.61, documentNr))['OID']);
    const paid = String((await pay(10, documentNr))['OID']);
    await step(paid, 'close');
    const Receipt = { Uid: documentNr, Items: [{ Name: 'x', Quantity: 1, Price: 10 }], Payments: [{ PaymentCode: 1 }] };
    expect((await world.erp('/Device/Invoice/Pay', { DeviceID: register.id, Receipt })).errorCode).toBe(0);
    const rows = await listed('Pay');
    expect(rows.find(({ id }) => id === paid)).toMatchObject({ receipt: 'printed' });
    expect(rows.find(({ id }) => id === declined)).not.toHaveProperty('receipt');
    expect((await page(declined)).marks).toEqual([{ key: 'state.declined', state: 'neutral' }]);
    expect((await page(declined))['receipt']).toBeUndefined();
    expect((await page(paid)).marks.map(({ key }) => key)).toContain('mark.printed');
  });

  it('say that the terminal is offline and from when a decision is possible, and it is', async () => {
    const cut = (isCut: boolean) => {
      for (const wire of Object.values(world.wires)) wire.setDeviceCut(terminal.id, isCut);
    };
    world.onAnswer = (answer) => {
      if (answer.outcome !== 'accepted') cut(true);
      return answer.outcome === 'accepted' ? answer : undefined;
    };
    const unclear = await pay(30);
    expect(unclear.errorCode).toBe(3);
    const id = String(unclear['OID']);
    const { outcome, hints, steps } = await page(id);
    expect(outcome.key).toBe('outcome.unknownOffline');
    expect(hints.map(({ key }) => key)).toEqual(['hint.offline', 'hint.decideFrom']);
    expect(steps.find(({ action }) => action === 'decide')).toMatchObject({
      isAllowed: false,
      whyNot: { params: { from: hints[1]?.params['from'] } },
    });
    expect(await world.act(`/commands/${id}/ask`)).toMatchObject({ errorCode: 0, state: 'unknown', isAnswered: false });
    const decision = { state: 'refused', reason: 'Nothing at the bank.' };
    expect(await world.act(`/commands/${id}/decide`, decision)).toMatchObject({ errorCode: 22 });
    await world.clock.advance(Date.parse(String(hints[1]?.params['from'])) - world.clock.now());
    expect((await page(id)).hints.map(({ key }) => key)).toEqual(['hint.offline', 'hint.decideNow']);
    expect(await world.act(`/commands/${id}/decide`, decision)).toMatchObject({ errorCode: 0 });
    // Nothing is charged under its number before the terminal has confirmed that, or its hardware is lost.
    expect((await page(id)).advice).toEqual({ key: 'advice.payOtherwise', params: { device: expect.any(String) } });
    expect(await world.act(`/devices/${terminal.id}/hardware-lost`, { reason: 'Stolen.' })).toMatchObject({ errorCode: 0 });
    expect((await page(id)).advice.key).toBe('advice.anotherCard');
  });

  it('do not claim that the ERP has an outcome that was found after its answer 3', async () => {
    world.onAnswer = (answer) => (answer.outcome === 'accepted' ? answer : undefined);
    const documentNr = world.random.uuid();
    const unclear = await pay(30, documentNr);
    expect(unclear.errorCode).toBe(3);
    world.onAnswer = (answer) => answer;
    expect(await world.act(`/commands/${String(unclear['OID'])}/ask`)).toMatchObject({ state: 'done', isAnswered: true });
    expect((await listed('Pay'))[0]).not.toHaveProperty('erp');
    expect((await pay(30, documentNr)).errorCode).toBe(0);
    // Reading the page writes the steps that wait.
    await page(String(unclear['OID']));
    expect((await listed('Pay'))[0]).toMatchObject({ erp: 'notified' });
  });

  it('name the open document that keeps a bank day from being closed', async () => {
    const id = String((await pay(10))['OID']);
    const refused = await world.act(`/devices/${terminal.id}/closeDay`, {}, { 'idempotency-key': 'd' });
    expect(refused).toMatchObject({ errorCode: 31, holder: { id, name: 'Pay' } });
    await step(id, 'close');
    expect(await world.act(`/devices/${terminal.id}/closeDay`, {}, { 'idempotency-key': 'e' })).toMatchObject({ errorCode: 0 });
  });
});
