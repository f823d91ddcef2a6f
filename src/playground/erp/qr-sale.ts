// The till's invoice: created, shown as a QR, scanned and paid by a device of the playground. The till learns its state from answers and
// callbacks.

import type { PlaygroundView } from '../../cabinet/playground/view-schema.ts';
import { type Clock, sleep } from '../../kernel/clock.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { isoTime } from '../../kernel/moments.ts';
import { type Bani, baniToLei } from '../../kernel/money.ts';
import { fetchInvoice, type ScanResult, scanInvoice } from '../../virtual/scan.ts';
import type { Shop } from '../shop.ts';
import type { ApiCalls } from './api-calls.ts';
import type { Sale } from './sale.ts';
import type { ErpSink, ReceivedCallback } from './sink.ts';
import { receiptOf, type Till } from './till.ts';

/** Throws at once if a step cannot begin. A started step never rejects; undefined: it was aborted. */
export type QrSale = ReturnType<typeof createQrSale>;

type InvoiceState = NonNullable<PlaygroundView['till']['invoice']>['state'];

interface Invoice {
  sale: Sale;
  qr: string;
  oid: string;
  state: InvoiceState;
  expiresAtMs?: number | undefined;
}

export interface QrSaleDeps {
  baseUrl: string;
  clock: Clock;
  calls: ApiCalls;
  till: Till;
  shop: Shop;
  sink: () => Pick<ErpSink, 'callbackUri'>;
  onChange(): void;
}

const states: readonly string[] = ['Scanned', 'Payed', 'Expired', 'Cancelled'] satisfies InvoiceState[];
const arrivesWithinMs = 50;

export function createQrSale({ baseUrl, clock, calls, till, shop, sink, onChange }: QrSaleDeps) {
  let invoice: Invoice | undefined;

  function current(): Invoice {
    if (!invoice) throw new GatewayError('The_status_cannot_be_applied', 'The till shows no QR; create an invoice first.');
    return invoice;
  }

  async function make(sale: Sale, expiresInS: number | undefined): Promise<boolean> {
    const expiresAtMs = expiresInS === undefined ? undefined : clock.now() + expiresInS * 1000;
    const answer = await calls.send({
      label: 'create',
      saleId: sale.id,
      method: 'POST',
      path: '/Invoice/Create',
      idempotencyKey: sale.id,
      body: {
        CallbackURI: sink().callbackUri('invoice'),
        ValidTo: isoTime(expiresAtMs),
        Receipt: receiptOf(sale),
      },
      received(answer) {
        sale.errorCode = answer.errorCode;
        sale.message = answer.errorMessage;
        if (answer.errorCode !== 0 || answer.OID === undefined || answer.QR === undefined) return;
        sale.oid = answer.OID;
        if (invoice?.oid !== answer.OID) invoice = { sale, qr: answer.QR, oid: answer.OID, state: 'NewItem', expiresAtMs };
      },
    });
    if (answer.errorCode !== 0) sale.state = 'refused';
    return answer.errorCode === 0;
  }

  function behind<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    const { promise, resolve } = Promise.withResolvers<Result | undefined>();
    till.behind(async () => {
      try {
        resolve(await work());
      } finally {
        resolve(undefined);
      }
    });
    return promise;
  }

  return {
    create(request: { amountBani?: Bani | undefined; expiresInS?: number | undefined }): { sale: Sale; created: Promise<boolean> } {
      const sale = till.newSale('qr', request);
      return { sale, created: behind(() => make(sale, request.expiresInS)).then((isCreated) => isCreated === true) };
    },
    scan(deviceId: string): Promise<boolean | undefined> {
      const { qr } = current();
      const { device, secret } = shop.find(deviceId);
      return behind(async () => {
        const got = await fetchInvoice({ baseUrl, qr, device, deviceSecret: secret, clock, fetch: calls.fetchAs('scan') });
        return got.errorCode === 0;
      });
    },
    pay(deviceId: string): Promise<ScanResult | undefined> {
      const { qr, sale } = current();
      const { device, secret } = shop.find(deviceId);
      if (!device.isOn()) throw new GatewayError('The_status_cannot_be_applied', 'The device is switched off; switch it on first.');
      return behind(async () => {
        if (sale.state === 'waiting') sale.state = 'paying';
        const result = await scanInvoice({ baseUrl, qr, device, deviceSecret: secret, clock, fetch: calls.fetchAs('device') });
        // A callback may have arrived earlier; its state stays.
        await sleep(clock, arrivesWithinMs);
        if (!result.isPaid && sale.paidBani === 0) {
          sale.state = result.isMoneyTaken ? 'unknown' : 'waiting';
          sale.message = result.steps.at(-1)?.detail ?? '';
        }
        onChange();
        return result;
      });
    },
    received({ oid, state }: ReceivedCallback): void {
      if (invoice?.oid !== oid || !states.includes(state)) return;
      // Callbacks of one invoice arrive in order; a repeat changes nothing.
      invoice.state = state as InvoiceState;
      if (state === 'Expired' || state === 'Cancelled') invoice.sale.state = 'refused';
    },
    view(): PlaygroundView['till']['invoice'] {
      if (!invoice) return undefined;
      const { oid, state, sale, qr, expiresAtMs } = invoice;
      return {
        oid,
        state,
        amount: baniToLei(sale.totalBani),
        qrText: qr,
        qrImage: `${new URL(baseUrl).pathname}/qr/${encodeURIComponent(qr)}.svg`,
        expiresAt: isoTime(expiresAtMs),
      };
    },
  };
}
