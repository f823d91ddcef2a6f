// PostgreSQL fails over to a synchronous standby: the primary is killed during a payment, the standby is promoted, and the gateway
// recovers without a restart. Repeated under load: npm run kill9 -- --victims failover
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectTerminalAgrees, readBank, readLedger } from '../support/books.ts';
import { patienceMs, serveSettings, temporaryDirectory } from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { type PostgresPair, startPostgresPair } from '../support/servers/postgres-pair.ts';
import { type Answer, eventually, reportOf } from '../support/till.ts';

const slowTest = { timeout: 6 * patienceMs };
let postgres: PostgresPair;
let shop: Shop;
let terminal: ShopDevice;
/** Payments that were answered as done. */
const acknowledged: { documentNr: string; operationId: string }[] = [];

beforeAll(async () => {
  postgres = await startPostgresPair();
  shop = await openShop(await serveSettings({ TILLGATE_DATA_DIR: temporaryDirectory(), TILLGATE_DATABASE_URL: postgres.url }));
  terminal = await shop.addDevice('terminal', { slowMs: 2_000 });
}, 6 * patienceMs);
afterAll(async () => {
  await shop?.close();
  await postgres?.stop();
});

const newBody = (amount: string) => ({ DeviceID: terminal.id, amount, documentNr: randomUUID() });
type Body = ReturnType<typeof newBody>;

/** Repeats the call like an ERP, until there is an outcome. */
const payUntilKnown = (body: Body) =>
  eventually(
    `an outcome of ${body.documentNr}`,
    () => shop.till.post('/Device/payment/Pay', body),
    ({ errorCode }) => ![2, 3, 30, 31].includes(errorCode),
    3 * patienceMs,
  );

async function close(body: Body, paid: Answer): Promise<void> {
  expect(paid).toMatchObject({ errorCode: 0 });
  const { operationId } = reportOf(paid);
  acknowledged.push({ documentNr: body.documentNr, operationId });
  const call = () => shop.till.post('/Device/payment/CloseDoc', { DeviceID: terminal.id, documentNr: body.documentNr, operationId });
  await eventually('the document is closed', call, ({ errorCode }) => errorCode === 0, 2 * patienceMs);
}

const chargesOf = ({ documentNr }: Body) =>
  readBank(terminal.stateDir).filter((entry) => entry.kind === 'charge' && entry.documentNr === documentNr);

async function expectAllThere(): Promise<void> {
  const ledger = await readLedger(postgres);
  for (const { documentNr, operationId } of acknowledged) {
    const rows = ledger.filter((row) => row.document_nr === documentNr && row.name === 'Pay' && row.state === 'done');
    expect(rows.map((row) => row.operation_id)).toEqual([operationId]);
  }
  expectTerminalAgrees({ ledger, deviceId: terminal.id, stateDir: terminal.stateDir });
}

describe('PostgreSQL fails over', () => {
  it('while the terminal waits for a card: nothing acknowledged is lost, and the payment is charged once', slowTest, async () => {
    for (const amount of ['10.00', '11.00', '12.00']) {
      const body = newBody(amount);
      await close(body, await payUntilKnown(body));
    }
    const body = newBody('20.64');
    const first = shop.till.post('/Device/payment/Pay', body);
    await terminal.program.prints(/20\.64 MDL: present the card/);
    await postgres.kill9();
    // The command was sent, so the answer is 3; or 0, if the standby was faster than the customer.
    await postgres.restart();
    expect([0, 3]).toContain((await first).errorCode);
    await close(body, await payUntilKnown(body));
    expect(chargesOf(body)).toHaveLength(1);
    await expectAllThere();
  });

  it('after the standby has hung: nothing is acknowledged that the standby does not have', slowTest, async () => {
    postgres.freezeStandby();
    const body = newBody('21.00');
    // The primary has written the row and waits for its standby: the commit is uncertain, so nothing is sent.
    expect(await shop.till.post('/Device/payment/Pay', body)).toMatchObject({ errorCode: 2 });
    expect(chargesOf(body)).toEqual([]);
    await postgres.kill9();
    await postgres.restart();
    await close(body, await payUntilKnown(body));
    expect(chargesOf(body)).toHaveLength(1);
    await expectAllThere();
  });
});
