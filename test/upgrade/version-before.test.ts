// An upgrade and the way back, on each engine: the program of the version before goes on with the database that this one has brought up
// to date, takes money on it, and this one goes on again; the books agree to the ban all the while.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { migrationsDir, readMigrations } from '../../src/database/migration-files.ts';
import { expectTerminalAgrees, type LedgerPlace, readLedger } from '../support/books.ts';
import { emptyPlace, engines } from '../support/engines.ts';
import { type Program, patienceMs, type Settings, serveSettings, startProgram, temporaryDirectory } from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { type Answer, reportOf } from '../support/till.ts';
import { unpackVersionBefore, type VersionBefore } from './unpacked-version.ts';

async function startBefore({ mainFile }: VersionBefore, settings: Settings): Promise<Program> {
  const args = ['serve', '--json'];
  // The kernel ends it with the test process, also when the test fails before it has stopped it.
  const program = startProgram(args, settings, ['/usr/bin/setpriv', ['--pdeathsig=SIGKILL', process.execPath, mainFile, ...args]]);
  await program.prints(/^\{"baseUrl"/m, 2 * patienceMs);
  return program;
}

/** A statement past both programs. */
async function run(place: LedgerPlace, statement: string): Promise<void> {
  if ('dataDir' in place) {
    const database = new DatabaseSync(join(place.dataDir, 'tillgate.db'));
    database.exec(statement);
    database.close();
    return;
  }
  const client = new pg.Client({ connectionString: place.url });
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** A version from before the promises refuses whatever it does not know: for it the newer marks are put away, and nothing else. */
async function withoutNewerMarks(place: LedgerPlace, { migrations, readsPromises }: VersionBefore, work: () => Promise<void>) {
  if (readsPromises) return work();
  await run(place, `create table put_away as select * from applied_migrations where version > ${migrations}`);
  await run(place, `delete from applied_migrations where version > ${migrations}`);
  await work();
  await run(place, 'insert into applied_migrations select * from put_away');
  await run(place, 'drop table put_away');
}

interface Sale {
  documentNr: string;
  amount: string;
  paid: Answer;
}

async function sell({ till }: Shop, { id: DeviceID }: ShopDevice, amount: string): Promise<Sale> {
  const documentNr = randomUUID();
  const paid = await till.post('/Device/payment/Pay', { DeviceID, amount, documentNr });
  const { operationId } = reportOf(paid);
  expect(await till.post('/Device/payment/CloseDoc', { DeviceID, documentNr, operationId })).toMatchObject({ errorCode: 0 });
  return { documentNr, amount, paid };
}

async function expectRepeated({ till }: Shop, { id: DeviceID }: ShopDevice, { documentNr, amount, paid }: Sale): Promise<void> {
  // The document is closed, so a second Pay under its number is refused; how the first ended is still told.
  expect(await till.post('/Device/payment/Pay', { DeviceID, amount, documentNr })).toMatchObject({ errorCode: 22 });
  const status = await till.get('/Device/Operation/Status', { documentNr });
  expect(reportOf(status)['operationId']).toBe(reportOf(paid)['operationId']);
}

describe.each(engines)('on %s', (engine) => {
  it('the version before serves on the schema of this one, and this one after it', { timeout: 8 * patienceMs }, async () => {
    const before = unpackVersionBefore();
    expect(before.migrations).toBeLessThanOrEqual(readMigrations(migrationsDir).length);
    const empty = await emptyPlace(engine);
    const dataDir = empty.options.dataDir ?? temporaryDirectory();
    const place: LedgerPlace = empty.options.url === undefined ? { dataDir } : { url: empty.options.url };
    const url = empty.options.url === undefined ? {} : { TILLGATE_DATABASE_URL: empty.options.url };
    const shop = await openShop(await serveSettings({ TILLGATE_DATA_DIR: dataDir, ...url }));
    try {
      const terminal = await shop.addDevice('terminal');
      const first = await sell(shop, terminal, '10.00');
      expect(await shop.gateway.terminate()).toMatchObject({ code: 0 });

      let second: Sale | undefined;
      await withoutNewerMarks(place, before, async () => {
        const old = await startBefore(before, shop.settings);
        await shop.online(terminal.id);
        await expectRepeated(shop, terminal, first);
        second = await sell(shop, terminal, '20.00');
        const refunded = await shop.till.post('/Device/payment/Refund', {
          DeviceID: terminal.id,
          documentNr: first.documentNr,
          amount: '4.00',
          rrn: reportOf(first.paid)['rrn'],
          operationId: reportOf(first.paid)['operationId'],
        });
        expect(refunded).toMatchObject({ errorCode: 0 });
        const invoice = await shop.till.post('/Invoice/Create', { Receipt: { Items: [{ Name: 'Tea', Quantity: 1, Price: 10 }] } });
        expect(invoice).toMatchObject({ errorCode: 0 });
        for (const page of ['/commands', '/invoices', '/audit', '/review'])
          expect(await shop.till.admin(page)).toMatchObject({ errorCode: 0 });
        expect(await old.terminate()).toMatchObject({ code: 0 });
        expect(old.out()).not.toMatch(/"level":(50|60)/);
      });

      await shop.restartGateway();
      await shop.online(terminal.id);
      await expectRepeated(shop, terminal, first);
      await expectRepeated(shop, terminal, second ?? expect.fail());
      await sell(shop, terminal, '30.00');
      const ledger = await readLedger(place);
      expect(ledger.filter(({ name }) => name === 'Pay')).toHaveLength(3);
      expectTerminalAgrees({ ledger, deviceId: terminal.id, stateDir: terminal.stateDir });
    } finally {
      await shop.close();
      await empty.remove();
    }
  });
});
