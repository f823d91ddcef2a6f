// Two QR sales with problems: the ERP is down when its callback is sent, and the QR has expired.
import { sleep } from '../../kernel/clock.ts';
import type { Sale } from '../erp/sale.ts';
import { amountParams, customerPays, isThrough, nothing, type Script, type Stage } from './stage.ts';

async function createInvoice(stage: Stage, expiresInS?: number): Promise<Sale> {
  const { sale, created } = stage.qrSale.create({ expiresInS });
  if (!(await created)) throw new Error(`The invoice was not created: ${sale.message ?? ''}`);
  return sale;
}

async function pay(stage: Stage): Promise<void> {
  const [result] = await Promise.all([stage.qrSale.pay(stage.terminal.deviceId), customerPays(stage)]);
  if (result?.isPaid !== true) throw new Error(`The invoice was not paid: ${result?.steps.at(-1)?.detail ?? ''}`);
}

function callbackAnswered(stage: Stage, sale: Sale, state: string, answered: number) {
  const { sink } = stage;
  return stage.until(
    () =>
      sink()
        .views()
        .find((callback) => callback.oid === sale.oid && callback.state === state && callback.answered === answered),
    120_000,
  );
}

export const deadErp: Script = {
  steps: ['erpDown', 'paid', 'callbackFailed', 'erpBack', 'notified', 'booksAgree'],
  async play(stage) {
    const sink = stage.sink();
    const sale = await stage.step(
      'erpDown',
      async () => {
        const created = await createInvoice(stage);
        sink.isDown = true;
        return created;
      },
      amountParams,
    );
    await stage.step(
      'paid',
      () => pay(stage),
      () => amountParams(sale),
    );
    await stage.step('callbackFailed', () =>
      stage.until(() => sink.views().some(({ oid, answered }) => oid === sale.oid && answered === 503)),
    );
    await stage.step('erpBack', async () => {
      await sleep(stage.clock, stage.momentMs);
      sink.isDown = false;
    });
    await stage.step(
      'notified',
      () => callbackAnswered(stage, sale, 'Payed', 200),
      ({ attempt }) => ({ attempt }),
    );
    await stage.step(
      'booksAgree',
      () => stage.until(() => isThrough(sale), 30_000),
      () => amountParams(sale),
    );
    return { sales: [sale], erpHadToDo: nothing, params: amountParams(sale) };
  },
};

/** Long enough to see it on the till, short enough to wait for. */
const expiresInS = 3;

export const expiredQr: Script = {
  steps: ['created', 'timePasses', 'scanRefused', 'notified', 'newQrPaid', 'booksAgree'],
  async play(stage) {
    const { clock, qrSale, terminal } = stage;
    const old = await stage.step(
      'created',
      () => createInvoice(stage, expiresInS),
      (sale) => ({ ...amountParams(sale), seconds: expiresInS }),
    );
    const expiredAtMs = clock.now() + expiresInS * 1000 + 300;
    await stage.step(
      'timePasses',
      () => waitUntil(stage, expiredAtMs),
      () => ({ seconds: expiresInS }),
    );
    await stage.step('scanRefused', async () => {
      if (await qrSale.scan(terminal.deviceId)) throw new Error('The QR was accepted although it has expired.');
    });
    await stage.step('notified', () => callbackAnswered(stage, old, 'Expired', 200));
    const fresh = await stage.step(
      'newQrPaid',
      async () => {
        const sale = await createInvoice(stage);
        await pay(stage);
        return sale;
      },
      amountParams,
    );
    await stage.step(
      'booksAgree',
      () => stage.until(() => isThrough(fresh), 30_000),
      () => amountParams(fresh),
    );
    return { sales: [old, fresh], erpHadToDo: { key: 'playground.erpHadToDo.newQr', params: {} }, params: amountParams(fresh) };
  },
};

function waitUntil({ clock, changes, until }: Stage, atMs: number): Promise<true> {
  // `until` checks only after a change, so one is caused at that time.
  clock.after(Math.max(0, atMs - clock.now()), changes.changed);
  return until(() => clock.now() >= atMs);
}
