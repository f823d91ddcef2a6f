// What an invoice may not do because of a card payment that its caller does not see: one on another terminal, one whose refund or void is
// disputed [D245], one that is approved after Payd [D186]. Through the HTTP API, on both engines.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listOrphans } from '../../src/cabinet/sales/orphans.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { type CabinetWorld, createCabinetWorld } from '../cabinet/views/cabinet-world.ts';
import { decidedAtOnce } from '../support/disputes-in.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { until } from '../support/until.ts';

const receipt = { Items: [{ Name: 'Coffee', Quantity: 1, Price: 10 }] };

type Answer = Record<string, unknown> & { errorCode: number };

describe.each(engines)('an invoice that was paid by card on %s', (engine) => {
  let database: TestDatabase;
  let world: CabinetWorld;
  let terminal: Awaited<ReturnType<CabinetWorld['terminal']>>;
  let invoice: { OID: string; QR: string };
  let paid: Answer;

  beforeEach(async () => {
    database = await openTestDatabase(engine);
    world = await createCabinetWorld({ database, clock: systemClock });
    terminal = await addTerminal();
    invoice = (await post('/Invoice/Create', { Receipt: receipt })) as unknown as typeof invoice;
    paid = await post('/Device/payment/Pay', { DeviceID: terminal.id, amount: 10, documentNr: invoice.OID });
    expect(paid).toMatchObject({ errorCode: 0 });
  });
  afterEach(async () => {
    await world.close();
    await database.close();
  });

  async function addTerminal(customerMs = 10) {
    const added = await world.terminal({ hasMagic: false, timing: { customerMs, bankMs: 5 } });
    await until(() => world.life.link.presence.of(added.id) !== undefined);
    return added;
  }
  async function post(path: string, payload: object): Promise<Answer> {
    return (await world.server.app.inject({ method: 'POST', url: path, payload: { APIKey: world.key, ...payload } })).json<Answer>();
  }
  async function get(path: string, query: Record<string, string> = {}): Promise<Answer> {
    const named = { QR: invoice.QR, APIKey: world.key, ...query };
    return (await world.server.app.inject({ method: 'GET', url: path, query: named })).json<Answer>();
  }

  it('is not withdrawn on another terminal, which is answered 22 with the State of the payment, not 20 as if there were none', async () => {
    const [payment] = await world.commands();
    const cancel = { documentNr: invoice.OID, operationId: 'none', token: '', amount: 10 };
    const other = await addTerminal();
    for (const DeviceID of [terminal.id, other.id]) {
      const answer = await post('/Device/payment/CancelTransaction', { ...cancel, DeviceID });
      expect(answer).toMatchObject({ errorCode: 22, State: 'Done', OID: payment?.id });
    }
    expect(await get('/Invoice/Status')).toMatchObject({ errorCode: 0, Status: 0 });
  });

  it('is not completed by a Payd of another device under the ERP’s key: that is 22 and an orphan; the paid terminal completes it', async () => {
    const other = await addTerminal();
    expect(await get('/Invoice/Get')).toMatchObject({ errorCode: 0 });
    const orphans = () => database.queries.selectFrom('orphan_payments').select(['receipt_id', 'device_id']).execute();
    for (let count = 0; count < 2; count += 1) {
      const answer = await get('/Invoice/Payd', { ReceiptID: 'F-1', DeviceID: other.id });
      expect(answer).toMatchObject({ errorCode: 22 });
      expect(answer['errorMessage']).toContain('DeviceID must be the terminal that was paid');
      expect(await orphans()).toEqual([{ receipt_id: 'F-1', device_id: other.id }]);
    }
    // As the message says, twice.
    for (let count = 0; count < 2; count += 1)
      expect(await get('/Invoice/Payd', { ReceiptID: 'F-1', DeviceID: terminal.id })).toMatchObject({ errorCode: 0 });
    expect(await get('/Invoice/Status')).toMatchObject({ Status: 2, ReceiptID: 'F-1' });
  });

  it('is listed as paid twice if a register reported Payd while the card payment ran', async () => {
    const till = await addTerminal(6_000);
    invoice = (await post('/Invoice/Create', { Receipt: receipt })) as unknown as typeof invoice;
    expect(await get('/Invoice/Get')).toMatchObject({ errorCode: 0 });
    const paying = post('/Device/payment/Pay', { DeviceID: till.id, amount: 10, documentNr: invoice.OID });
    await until(async () => (await world.commands()).some(({ documentNr, state }) => documentNr === invoice.OID && state === 'sent'));
    expect(await get('/Invoice/Payd', { ReceiptID: 'F-1', DeviceID: terminal.id })).toMatchObject({ errorCode: 0 });
    expect(await listOrphans(database.queries, 10)).toEqual([]);
    expect(await paying).toMatchObject({ errorCode: 0 });
    expect(await listOrphans(database.queries, 10)).toMatchObject([
      { oid: invoice.OID, receiptId: 'F-1', deviceId: terminal.id, reason: 'paid-by-card-too' },
    ]);
  });

  it.each(['Refund', 'CancelTransaction'])(
    'is not fetched while a %s of its payment is disputed; every terminal answers 3',
    async (name) => {
      const [payment] = await world.commands();
      const { operationId, rrn, token } = JSON.parse(String(paid['report'])) as Record<string, string>;
      const named = { DeviceID: terminal.id, documentNr: invoice.OID, operationId, amount: 10 };
      // A refund is made after the document is closed.
      if (name === 'Refund') expect(await post('/Device/payment/CloseDoc', named)).toMatchObject({ errorCode: 0 });
      const give = () => post(`/Device/payment/${name}`, { ...named, rrn, token, currency: 'MDL' });
      const { id, contradict } = await decidedAtOnce(world, terminal.id, give, 'refused');
      await contradict();
      expect(await get('/Invoice/Get')).toMatchObject({ errorCode: 22 });
      const other = await addTerminal();
      for (const DeviceID of [terminal.id, other.id]) {
        const cancel = { DeviceID, documentNr: invoice.OID, operationId: 'none', token: '', amount: 10 };
        expect(await post('/Device/payment/CancelTransaction', cancel)).toMatchObject({
          errorCode: 3,
          State: 'Disputed',
          OID: payment?.id,
        });
      }
      await world.life.ledger.decide(id, { state: 'refused', reason: 'Not in the list.', actor: 'ana', closesReview: true });
      expect(await get('/Invoice/Get')).toMatchObject({ errorCode: 0 });
    },
  );
});
