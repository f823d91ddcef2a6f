// deploy/ as it is run: two gateways behind nginx, PostgreSQL, RabbitMQ that asks through nginx. A rolling restart loses nothing, and either
// gateway may be killed: no login waits, no payment is lost or doubled, no answer is without the envelope.
// `npm run two-gateways` is the long form.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectTerminalAgrees, readBank, readLedger } from '../support/books.ts';
import { patienceMs } from '../support/gateway-process.ts';
import type { ShopDevice } from '../support/served-shop.ts';
import { invoicesWithoutPause, loginsWithoutPause, paymentsWithoutPause, startTwoGateways, type TwoGateways } from './two-gateways.ts';

const minRequests = Number(process.env['TILLGATE_TEST_ROLLING_REQUESTS'] ?? 500);
const kills = Number(process.env['TILLGATE_TEST_ROLLING_KILLS'] ?? 2);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let world: TwoGateways;
let terminals: ShopDevice[];
beforeAll(async () => {
  world = await startTwoGateways();
  terminals = await Promise.all([world.shop.addDevice('terminal', { slowMs: 300 }), world.shop.addDevice('terminal', { slowMs: 300 })]);
}, 6 * patienceMs);
afterAll(() => world?.stop());

/** Each document was charged once, and bank and ledger agree. */
async function expectBooksAgree(paid: string[]): Promise<void> {
  const ledger = await readLedger(world.postgres);
  for (const { id: deviceId, stateDir } of terminals) expectTerminalAgrees({ ledger, deviceId, stateDir });
  const charges = terminals.flatMap(({ stateDir }) => readBank(stateDir).filter(({ kind }) => kind === 'charge'));
  const done = ledger.filter(({ name, state }) => name === 'Pay' && state === 'done');
  expect(new Set(paid).size).toBe(paid.length);
  expect(done.length).toBe(charges.length);
  const times = new Map<string, number>();
  for (const { document_nr } of done) times.set(document_nr ?? '', (times.get(document_nr ?? '') ?? 0) + 1);
  for (const documentNr of paid) expect(times.get(documentNr), `charges of ${documentNr}`).toBe(1);
}

it('a rolling restart under load: every request is answered, none is lost', { timeout: 60 * patienceMs }, async () => {
  const load = invoicesWithoutPause(world.till, 4);
  const payments = paymentsWithoutPause(world.till, terminals);
  const restarts = async () => {
    do {
      for (const index of [0, 1] as const) {
        expect(await world.gateways[index].terminate()).toEqual({ code: 0, signal: null });
        await world.restart(index);
      }
    } while (load.answered() < minRequests);
  };
  const problem = await restarts().catch((error: unknown) => error);
  const { answered, others } = await load.end();
  const { paid, withoutEnvelope } = await payments.end();
  expect(problem).toBeUndefined();
  console.log(`rolling restart: ${answered} requests answered, ${others.length} not; ${paid.length} payments`);
  expect(others).toEqual([]);
  expect(withoutEnvelope).toEqual([]);
  expect(answered).toBeGreaterThanOrEqual(minRequests);
  await expectBooksAgree(paid);
});

it('either gateway is killed: logins go on, no payment is lost or duplicated, every answer has the envelope', {
  timeout: 60 * patienceMs,
}, async () => {
  const logins = await loginsWithoutPause(world.shop, world.rabbitmq.mqttUrl, 40);
  const load = invoicesWithoutPause(world.till, 2);
  const payments = paymentsWithoutPause(world.till, terminals);
  const killOneByOne = async () => {
    for (let count = 0; count < kills; count += 1) {
      const index = count % 2 === 0 ? 0 : 1;
      await pause(1_000);
      await world.gateways[index].kill9();
      // Longer than a login may be refused.
      await pause(6_000);
      await world.restart(index);
    }
  };
  const problem = await killOneByOne().catch((error: unknown) => error);
  const { letIn, longestRefusedMs } = await logins.end();
  const { answered, others } = await load.end();
  const { paid, withoutEnvelope } = await payments.end();
  console.log(
    `${kills} kills: ${answered} requests answered, ${others.length} unclear; ${paid.length} payments; ${letIn} logins, at most ${Math.round(longestRefusedMs)} ms without`,
  );
  expect(problem).toBeUndefined();
  expect(longestRefusedMs).toBeLessThan(5_000);
  expect(withoutEnvelope).toEqual([]);
  // A request that was on its way when its gateway died is unclear, and says so; nothing else is.
  for (const answer of others) expect(answer).toMatch(/"errorCode":3,/);
  await expectBooksAgree(paid);
});
