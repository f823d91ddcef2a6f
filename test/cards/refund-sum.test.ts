// The sum of refunds is taken in the transaction that commits the refund: what was refunded since the call came in counts.
import { expect, it } from 'vitest';
import { createSaleWorld } from '../support/sale-world.ts';

it('a refund that was overtaken by another one is judged by what is left then', async () => {
  const world = await createSaleWorld();
  const terminal = await world.terminal();
  const call = { merchantId: world.merchantId, deviceId: terminal.id };
  const documentNr = world.random.uuid();
  const { report } = await world.run(world.pay(terminal.id, 10, documentNr));
  const payment = { documentNr, operationId: String(report?.operationId), rrn: String(report?.rrn) };
  await world.run(world.cards.closeDoc({ ...call, ...payment }));
  const refund = () => world.run(world.cards.refund({ ...call, ...payment, amountBani: 600, currency: 'MDL' }));

  // The first is held up where it looks for the terminal, after all that it reads beforehand.
  const { link } = world.life;
  const locate = link.locate.bind(link);
  link.locate = async (deviceId, first) => {
    link.locate = locate;
    expect((await refund()).code).toBe(0);
    return locate(deviceId, first);
  };
  expect(await refund()).toMatchObject({ code: 40, message: expect.stringContaining('4.00') });
  expect((await world.commands()).filter(({ name }) => name === 'Refund')).toHaveLength(1);
  expect(terminal.bank.netBani()).toBe(400);
});
