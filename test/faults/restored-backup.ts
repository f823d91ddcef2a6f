// One story for every way of backing up: a copy that is taken while a payment is on the terminal, another payment after it, the loss of
// the database, and the gateway on the restored copy. What was acknowledged before the copy is there; what was under way is settled by
// the terminal's journal; what came after stands in the bank's book alone, and a repeat of what is known charges nobody again.
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { expectTerminalAgrees, type LedgerPlace, readBank, readLedger } from '../support/books.ts';
import type { Settings } from '../support/gateway-process.ts';
import { openShop } from '../support/served-shop.ts';
import { type Answer, eventually, reportOf } from '../support/till.ts';

export interface BackupWay {
  settings: Settings;
  /** Beside the running gateway. */
  backUp(): Promise<void>;
  /** After the gateway was killed: the database is lost, and the copy takes its place. Says where it is now. */
  restore(): Promise<{ settings: Settings; place: LedgerPlace }>;
}

export async function playRestoredBackup({ settings, backUp, restore }: BackupWay): Promise<void> {
  const shop = await openShop(settings);
  try {
    const terminal = await shop.addDevice('terminal', { slowMs: 4_000 });
    const pay = (amount: string, documentNr: string) =>
      shop.till.post('/Device/payment/Pay', { DeviceID: terminal.id, amount, documentNr });
    const close = async (answer: Answer, documentNr: string) => {
      const { operationId } = reportOf(answer);
      const closed = await shop.till.post('/Device/payment/CloseDoc', { DeviceID: terminal.id, documentNr, operationId });
      expect(closed).toMatchObject({ errorCode: 0 });
    };
    const [before, during, after] = [randomUUID(), randomUUID(), randomUUID()];

    const acknowledged = await pay('10.00', before);
    await close(acknowledged, before);
    const paying = pay('20.64', during);
    await terminal.program.prints(/20\.64 MDL: present the card/);
    await backUp();
    const underWay = await paying;
    await close(underWay, during);
    const forgotten = await pay('30.00', after);
    await close(forgotten, after);
    expect([acknowledged, underWay, forgotten].map(({ errorCode }) => errorCode)).toEqual([0, 0, 0]);

    await shop.gateway.kill9();
    const restored = await restore();
    Object.assign(shop.settings, restored.settings);
    await shop.restartGateway();
    await shop.online(terminal.id);

    // The repeat of what the copy knows as settled, and of what it knows as open, gets the outcome of then.
    expect(await pay('10.00', before)).toMatchObject({ errorCode: 22 });
    const told = await shop.till.get('/Device/Operation/Status', { documentNr: before });
    expect(reportOf(told)).toMatchObject({ operationId: reportOf(acknowledged)['operationId'] });
    const heard = await eventually(
      'the journal tells how the payment under way ended',
      () => pay('20.64', during),
      ({ errorCode }) => errorCode !== 3,
    );
    expect(reportOf(heard)).toMatchObject({ operationId: reportOf(underWay)['operationId'] });
    await close(heard, during);
    // Nobody knows of the third one but the bank: this is what the docs tell to look for before opening.
    const asked = await shop.till.get('/Device/Operation/Status', { documentNr: after });
    expect(asked.errorCode).toBe(20);
    const ledger = await readLedger(restored.place);
    expectTerminalAgrees({ ledger, deviceId: terminal.id, stateDir: terminal.stateDir, hasOwnSales: true });
    const known = new Set(ledger.map(({ id }) => id));
    const unknownCharges = readBank(terminal.stateDir).filter(({ kind, reference }) => kind === 'charge' && !known.has(reference));
    expect(unknownCharges).toMatchObject([{ amountBani: 3_000, operationId: reportOf(forgotten)['operationId'] }]);
  } finally {
    await shop.close();
  }
}
