// Two gateways on one database, in real time, on both engines: one charge per document, one command at a time per device.
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system.ts';
import { engines, openTestDatabase } from '../support/engines.ts';
import { createSaleWorld } from '../support/sale-world.ts';
import { until } from '../support/until.ts';

async function openPair(engine: (typeof engines)[number]) {
  const database = await openTestDatabase(engine);
  const world = await createSaleWorld({ database, clock: systemClock });
  const second = engine === 'postgres' ? await database.another() : database;
  const other = await world.startLife({ database: second });
  const terminal = await world.terminal({ hasMagic: false, timing: { customerMs: 20, bankMs: 5 } });
  await until(() => [world.life, other].every(({ link }) => link.presence.of(terminal.id) !== undefined));
  const gateways = [world.life, other];
  const call = (documentNr: string, amountBani = 1_000) => ({
    merchantId: world.merchantId,
    deviceId: terminal.id,
    amountBani,
    documentNr,
  });
  async function close() {
    await other.stop();
    await world.stop();
    if (second !== database) await second.close();
    await database.close();
  }
  return { world, terminal, gateways, call, close };
}

describe.each(engines)('two gateways on %s', (engine) => {
  it('charge a document once, however many ask for it at once', async () => {
    const { world, terminal, gateways, call, close } = await openPair(engine);
    const documentNr = world.random.uuid();
    const calls = Array.from({ length: 20 }, (_, at) => world.told((gateways[at % 2] ?? world.life).cards.pay(call(documentNr))));
    const answers = await Promise.all(calls);
    expect(answers.map(({ code }) => code)).toEqual(Array.from({ length: 20 }, () => 0));
    expect(new Set(answers.map(({ report }) => report?.rrn)).size).toBe(1);
    expect(terminal.bank.charges()).toHaveLength(1);
    await close();
  });

  it('admit one of many documents on a terminal: the others are answered 31', async () => {
    const { world, terminal, gateways, call, close } = await openPair(engine);
    const calls = Array.from({ length: 12 }, (_, at) => world.told((gateways[at % 2] ?? world.life).cards.pay(call(world.random.uuid()))));
    const codes = (await Promise.all(calls)).map(({ code }) => code).toSorted((a, b) => a - b);
    expect(codes).toEqual([0, ...Array.from({ length: 11 }, () => 31)]);
    expect(terminal.bank.charges()).toHaveLength(1);
    await close();
  });

  it('under one Idempotency-Key run one command', async () => {
    const { world, terminal, gateways, close } = await openPair(engine);
    const idempotency = { key: 'k', requestHash: 'h' };
    const pay = (at: number) =>
      (gateways[at % 2] ?? world.life).cards.pay({ merchantId: world.merchantId, deviceId: terminal.id, amountBani: 500, idempotency });
    const codes = (await Promise.all(Array.from({ length: 12 }, (_, at) => world.told(pay(at))))).map(({ code }) => code);
    expect(codes).toEqual(Array.from({ length: 12 }, () => 0));
    expect(terminal.bank.charges()).toHaveLength(1);
    expect(await world.commands()).toHaveLength(1);
    await close();
  });

  // Found by the simulation: gateway 1 looked two seconds for a device, gateway 0 printed meanwhile, and the repeat was told 30.
  it('do not answer 30 about a command that the other one began while the device was looked up', async () => {
    const { world, terminal, call, close } = await openPair(engine);
    const documentNr = world.random.uuid();
    const begun: Promise<unknown>[] = [];
    const blind = await world.startLife({
      database: world.database,
      alterLink: (link) => ({
        ...link,
        async locate() {
          begun.push(world.told(world.cards.pay(call(documentNr))));
          await until(async () => (await world.commands()).length === 1);
          return undefined;
        },
      }),
    });
    expect(await world.told(blind.cards.pay(call(documentNr)))).toMatchObject({ code: 0 });
    await Promise.all(begun);
    expect(terminal.bank.charges()).toHaveLength(1);
    await blind.stop();
    await close();
  });

  // Under one Idempotency-Key there is one answer: the sum that is left was looked at after the first of the two had taken it.
  it('do not answer 40 about a refund that the other one made under the same key meanwhile', async () => {
    const { world, terminal, call, close } = await openPair(engine);
    const documentNr = world.random.uuid();
    const { report } = await world.told(world.cards.pay(call(documentNr)));
    const operation = { ...call(documentNr, 900), operationId: String(report?.operationId), rrn: String(report?.rrn), currency: undefined };
    await world.told(world.cards.closeDoc(operation));
    const refund = { ...operation, idempotency: { key: 'refund', requestHash: 'h' } };
    const first: Awaited<ReturnType<typeof world.told>>[] = [];
    const slow = await world.startLife({
      database: world.database,
      alterLink: (link) => ({
        ...link,
        async locate(...device) {
          first.push(await world.told(world.cards.refund(refund)));
          return link.locate(...device);
        },
      }),
    });
    const second = await world.told(slow.cards.refund(refund));
    expect(first.map(({ code }) => code)).toEqual([0]);
    expect(second).toEqual(first[0]);
    expect(terminal.bank.netBani()).toBe(100);
    await slow.stop();
    await close();
  });
});
