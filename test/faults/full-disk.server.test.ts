// A full disk: a call that started nothing is answered 2, a sent one is answered 3, and no acknowledged outcome is lost. When there
// is space again the gateway recovers without a restart, on both engines.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectTerminalAgrees, type LedgerPlace, readBank, readLedger } from '../support/books.ts';
import { patienceMs, type Settings, serveSettings, serveToken, temporaryDirectory } from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { type PostgresServer, startPostgres } from '../support/servers/postgres.ts';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';
import { eventually, reportOf } from '../support/till.ts';

const slowTest = { timeout: 6 * patienceMs };
let postgres: PostgresServer | undefined;

/** Only the tables are on the small disk; without space for its WAL PostgreSQL exits, which servers-killed.server.test.ts covers. */
async function tablesOn({ directory }: SmallDisk): Promise<string> {
  execFileSync('chown', ['postgres:postgres', directory]);
  execFileSync('chmod', ['755', `${directory}/..`]);
  postgres = await startPostgres();
  const admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  await admin.query(`create tablespace small location '${directory}'`);
  await admin.query('create database small tablespace small');
  await admin.end();
  return postgres.url.replace(/postgres$/, 'small');
}

async function settle(engine: string, disk: SmallDisk): Promise<{ settings: Settings; ledger: LedgerPlace }> {
  if (engine === 'sqlite') return { settings: { TILLGATE_DATA_DIR: disk.directory }, ledger: { dataDir: disk.directory } };
  const url = await tablesOn(disk);
  return { settings: { TILLGATE_DATA_DIR: temporaryDirectory(), TILLGATE_DATABASE_URL: url }, ledger: { url } };
}

describe.each(['sqlite', 'postgres'])('a full disk under %s', (engine) => {
  let disk: SmallDisk;
  let shop: Shop;
  let terminal: ShopDevice;
  let ledger: LedgerPlace;

  beforeAll(async () => {
    disk = mountSmallDisk(32);
    const home = await settle(engine, disk);
    ledger = home.ledger;
    shop = await openShop(await serveSettings({ ...home.settings, TILLGATE_RATE_LIMIT: '10000' }));
    terminal = await shop.addDevice('terminal', { slowMs: 1_500 });
  }, 6 * patienceMs);
  afterAll(async () => {
    await shop?.close();
    if (engine === 'postgres') await postgres?.stop();
    disk?.remove();
  });

  const newSale = (amount: number) => ({ DeviceID: terminal.id, amount, documentNr: randomUUID() });
  type Sale = ReturnType<typeof newSale>;
  const pay = (sale: Sale) => shop.till.post('/Device/payment/Pay', sale);
  /** Pays and closes the document; returns both error codes, or that of the payment if it is not 0. */
  async function payAndClose(sale: Sale): Promise<number[]> {
    const answer = await pay(sale);
    if (answer.errorCode !== 0) return [answer.errorCode];
    const { operationId } = reportOf(answer);
    return [0, (await shop.till.post('/Device/payment/CloseDoc', { ...sale, operationId })).errorCode];
  }
  const sell = async (sale: Sale) => (await payAndClose(sale)).at(-1);
  const chargesOf = ({ documentNr }: Sale) =>
    readBank(terminal.stateDir).filter((entry) => entry.kind === 'charge' && entry.documentNr === documentNr);

  it('is answered 2 or 3, loses nothing, and ends when there is space again', slowTest, async () => {
    const before = newSale(10);
    expect(await sell(before)).toBe(0);

    const onTheWay = newSale(11.64);
    const first = pay(onTheWay);
    await terminal.program.prints(/11\.64 MDL: present the card/);
    disk.fill();
    const told = await first;
    // It was sent, so the answer may not deny it [D59]. PostgreSQL may still have space in an existing page.
    expect(engine === 'sqlite' ? [3] : [0, 3], JSON.stringify(told)).toContain(told.errorCode);

    const sold = [before];
    const open = [onTheWay];
    const seen = [told.errorCode];
    let late: Sale | undefined;
    // A new call is answered 2 (or 31, if the terminal has an open payment), and nothing is charged. PostgreSQL may answer others first: a
    // table has space left in a page of its own when another has none.
    for (let call = 0; !late && call < (engine === 'sqlite' ? 1 : 200); call += 1) {
      const sale = newSale(20 + call);
      const codes = await payAndClose(sale);
      seen.push(...codes);
      if (codes[0] === 2 || codes[0] === 31) late = sale;
      else (codes.at(-1) === 0 ? sold : open).push(sale);
    }
    expect(seen.filter((code) => ![0, 2, 3, 31].includes(code))).toEqual([]);
    if (!late) throw new Error(`no call was refused: ${seen.join(', ')}`);
    expect(chargesOf(late)).toEqual([]);

    // The row of the write check may still fit into its page, while an invoice needs a new one.
    const receipt = { Items: [{ Name: 'x'.repeat(200), Quantity: 1, Price: 1 }], Note: randomUUID().repeat(400) };
    const create = async () => (await shop.till.post('/Invoice/Create', { Receipt: receipt })).errorCode;
    await eventually('a call without space', create, (errorCode) => errorCode === 2);
    expect((await fetch(`${shop.till.baseUrl}/health/ready`)).status).toBe(503);
    const metrics = await fetch(`${shop.till.baseUrl}/metrics`, { headers: { authorization: `Bearer ${serveToken}` } });
    expect(await metrics.text()).toContain('\ntillgate_database_up 0\n');

    disk.makeRoom();
    for (const sale of [...open, late]) {
      await eventually(
        `an outcome of ${sale.amount}`,
        () => sell(sale),
        (errorCode) => errorCode === 0,
        2 * patienceMs,
      );
    }
    const rows = await readLedger(ledger);
    for (const sale of [...sold, ...open, late]) {
      const done = rows.filter((row) => row.name === 'Pay' && row.document_nr === sale.documentNr && row.state === 'done');
      expect(done.map((row) => row.operation_id)).toEqual(chargesOf(sale).map(({ operationId }) => operationId));
      expect(done).toHaveLength(1);
    }
    expectTerminalAgrees({ ledger: rows, deviceId: terminal.id, stateDir: terminal.stateDir });
    const ready = await fetch(`${shop.till.baseUrl}/health/ready`);
    expect(ready.status).toBe(200);
  });
});
