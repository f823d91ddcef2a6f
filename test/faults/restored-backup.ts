// One scenario for every kind of backup: a copy taken during a payment, another payment after it, the loss of the database, and the
// gateway on the restored copy. Payments acknowledged before the copy are in it; the open one is settled by the terminal's journal;
// later ones are only in the bank's book, and a repeat of a known payment charges nothing.
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { expectTerminalAgrees, type LedgerPlace, readBank, readLedger } from '../support/books.ts';
import type { Settings } from '../support/gateway-process.ts';
import { openShop } from '../support/served-shop.ts';
import { type Answer, eventually, reportOf } from '../support/till.ts';

export interface BackupWay {
  settings: Settings;
  /** Runs beside the gateway. */
  backUp(): Promise<void>;
  /** After the gateway was killed: replaces the lost database with the copy. Returns its new location. */
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

    // A repeat of a payment that is settled or open in the copy returns the original outcome.
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
    // Only the bank has the third payment: the docs say to look for such payments before reopening.
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
