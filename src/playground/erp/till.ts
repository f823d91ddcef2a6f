// The till: a small real ERP. It calls the gateway's public API and records the answers in its own book.
//
//   card: Pay on the terminal -> CloseDoc -> receipt on the register, paid otherwise, so that no card is charged again
//   QR:   Create -> a device scans and takes the money -> the callback Payed -> receipt, unless the paying register has printed it
//
// After an answer without an outcome (3, or no answer), the till repeats the call until it gets one. Repeats keep their identifiers, so none
// can charge, refund or print twice: documentNr and Receipt.Uid, under which a refused operation may be tried again; an Idempotency-Key for
// a refund, which has no number of its own.

import type { SaleRequest } from '../../cabinet/playground/port.ts';
import { sleep } from '../../kernel/clock.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { type Bani, baniToLei, formatLei } from '../../kernel/money.ts';
import type { World } from '../../kernel/world.ts';
import type { Shop } from '../shop.ts';
import { type ApiAnswer, type ApiCallRequest, type ApiCalls, noAnswer } from './api-calls.ts';
import { type Basket, basketAt, basketOfRequest } from './baskets.ts';
import { type ErpBook, refundedBani, type Sale } from './sale.ts';
import type { ErpSink, ReceivedCallback } from './sink.ts';

export interface TillDeps extends World {
  calls: ApiCalls;
  book: ErpBook;
  shop: Shop;
  sink: () => Pick<ErpSink, 'callbackUri'>;
  onChange(): void;
}

/** Neither cash nor card: the card was charged on the terminal before. */
const paidElsewhere = 3;
const byCard = 1;
/** A refund before the receipt lowers the amount that the receipt must have, and the gateway refuses the print. */
const endedStates: readonly Sale['state'][] = ['done', 'noReceipt'];
const maxUnderWay = 8;
const askAgainMs = 2_000;
const maxAsks = 150;

export class Till {
  readonly #deps: TillDeps;
  #sold = 0;
  #underWay = 0;
  readonly #carriedOn = new Set<Sale>();
  #isStopped = false;

  constructor(deps: TillDeps) {
    this.#deps = deps;
  }

  /** The basket of the next sale. */
  basket(): Basket {
    return basketAt(this.#sold);
  }

  /** Running sales, refunds and repeats. */
  get underWay(): number {
    return this.#underWay;
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Runs long work in the background; throws at once if too much is running. */
  behind(work: () => Promise<unknown>): void {
    this.#checkHands();
    this.#underWay += 1;
    work()
      .catch((error: unknown) => this.#deps.logger.error({ err: error }, 'the till of the playground failed'))
      .finally(() => {
        this.#underWay -= 1;
        this.#deps.onChange();
      });
  }

  newSale(kind: Sale['kind'], request: Pick<SaleRequest, 'items' | 'amountBani' | 'registerId'>): Sale {
    this.#checkHands();
    const { book, random, shop } = this.#deps;
    const { items, totalBani } = basketOfRequest(request, this.#sold);
    const registerId = request.registerId ?? shop.first('register').device.deviceId;
    shop.find(registerId, 'register');
    const sale: Sale = {
      id: random.uuid(),
      number: `P-${String(this.#sold + 1).padStart(4, '0')}`,
      kind,
      items,
      totalBani,
      registerId,
      state: kind === 'card' ? 'paying' : 'waiting',
      paidBani: 0,
      isClosed: false,
      refunds: new Map(),
    };
    book.add(sale);
    this.#sold += 1;
    return sale;
  }

  sell(request: SaleRequest): Sale {
    this.#deps.shop.find(request.deviceId, 'terminal');
    const sale = this.newSale('card', request);
    sale.deviceId = request.deviceId;
    this.behind(async () => {
      await this.#pay(sale);
      await this.#carryOn(sale);
    });
    return sale;
  }

  /** The cashier presses the button again, during the first call or after it. */
  clickAgain(sale: Sale): Promise<ApiAnswer> {
    const { promise, resolve } = Promise.withResolvers<ApiAnswer>();
    this.behind(async () => {
      resolve(await this.#pay(sale));
      await this.#carryOn(sale);
    });
    return promise;
  }

  refund(sale: Sale | undefined, amountBani: Bani | undefined): Promise<ApiAnswer> {
    const { operationId, rrn, deviceId } = sale ?? {};
    if (sale?.kind !== 'card' || operationId === undefined || rrn === undefined)
      throw new GatewayError('The_status_cannot_be_applied', 'The last sale was not paid by card, so there is nothing to refund.');
    if (!endedStates.includes(sale.state))
      throw new GatewayError('Device_Busy', 'The last sale is running, and its receipt is not printed yet; wait for its end.');
    const wantedBani = amountBani ?? sale.paidBani - refundedBani(sale);
    if (wantedBani <= 0) throw new GatewayError('The_status_cannot_be_applied', 'The last sale is already refunded completely.');
    const idempotencyKey = this.#deps.random.uuid();
    const { promise, resolve } = Promise.withResolvers<ApiAnswer>();
    this.behind(async () => {
      const answer = await this.#ask({
        label: 'refund',
        saleId: sale.id,
        idempotencyKey,
        path: '/Device/payment/Refund',
        body: { DeviceID: deviceId, documentNr: sale.id, operationId, rrn, amount: baniToLei(wantedBani), currency: 'MDL' },
        received(answer) {
          if (answer.errorCode === 0 && answer.OID !== undefined) sale.refunds.set(answer.OID, wantedBani);
        },
      });
      resolve(answer);
    });
    return promise;
  }

  /** Repeats the last call, and continues the sale if it was blocked by that call. */
  again(): void {
    const { calls, book } = this.#deps;
    const last = calls.last();
    if (last === undefined) throw new GatewayError('The_status_cannot_be_applied', 'The till has sent nothing yet.');
    const sale = book.sales().findLast(({ id }) => id === last.saleId);
    this.behind(async () => {
      await calls.send({ ...last, label: 'again' });
      if (sale && (last.label === 'pay' || last.label === 'close')) await this.#carryOn(sale);
    });
  }

  /** Handles a callback, which may arrive twice. Throws if the till cannot process it now; then the gateway retries. */
  received({ state, oid, receiptId, deviceId }: ReceivedCallback): void {
    const { book, shop } = this.#deps;
    const sale = book.byOid(oid);
    if (state === 'Completed') {
      const printed = book.sales().findLast((one) => one.receiptId === receiptId);
      if (printed) printed.state = 'done';
    }
    if (!sale || state !== 'Payed' || sale.receiptId !== undefined || this.#carriedOn.has(sale)) return;
    if (sale.paidBani === 0) this.#paid(sale);
    sale.deviceId = deviceId;
    const paidOn = shop.all().find(({ device }) => device.deviceId === deviceId)?.device;
    // A register prints before it reports the payment; the report has its receipt's id.
    if (paidOn?.kind === 'register') {
      sale.receiptId = receiptId;
      sale.state = 'done';
    } else this.behind(() => this.#carryOn(sale));
  }

  #checkHands(): void {
    if (this.#underWay >= maxUnderWay)
      throw new GatewayError('Device_Busy', 'The till has too many running sales; wait until one has ended.');
  }

  #paid(sale: Sale): void {
    sale.paidBani = sale.totalBani;
    sale.paidAtMs = this.#deps.clock.now();
  }

  /** The remaining steps of a paid sale; runs at most once at a time per sale. */
  async #carryOn(sale: Sale): Promise<void> {
    if (sale.paidBani === 0 || this.#carriedOn.has(sale)) return;
    this.#carriedOn.add(sale);
    try {
      if (sale.kind === 'card' && !sale.isClosed) await this.#close(sale);
      if ((sale.isClosed || sale.kind === 'qr') && sale.receiptId === undefined) await this.#print(sale);
    } finally {
      this.#carriedOn.delete(sale);
    }
  }

  #pay(sale: Sale): Promise<ApiAnswer> {
    return this.#ask({
      label: 'pay',
      saleId: sale.id,
      path: '/Device/payment/Pay',
      body: { DeviceID: sale.deviceId, amount: baniToLei(sale.totalBani), documentNr: sale.id },
      received: (answer) => {
        if (sale.paidBani > 0) return;
        if (answer.OID !== undefined) sale.commandId = answer.OID;
        this.#note(sale, answer, 'refused');
        if (answer.errorCode !== 0) return;
        const { operationId, rrn } = answer.report;
        sale.operationId = String(operationId);
        sale.rrn = String(rrn);
        this.#paid(sale);
      },
    });
  }

  /** Required after each approved payment: until then the terminal accepts no other operation. */
  async #close(sale: Sale): Promise<void> {
    sale.state = 'closing';
    await this.#ask({
      label: 'close',
      saleId: sale.id,
      path: '/Device/payment/CloseDoc',
      body: { DeviceID: sale.deviceId, documentNr: sale.id, operationId: sale.operationId },
      received: (answer) => {
        if (sale.isClosed) return;
        this.#note(sale, answer, 'unknown');
        sale.isClosed = answer.errorCode === 0;
      },
    });
  }

  async #print(sale: Sale): Promise<void> {
    const { sink } = this.#deps;
    sale.state = 'printing';
    await this.#ask({
      label: 'print',
      saleId: sale.id,
      path: '/Device/Invoice/Pay',
      body: {
        DeviceID: sale.registerId,
        CallbackURI: sink().callbackUri('operation'),
        // With an invoice, payment and receipt bear the invoice's OID [D80].
        // A card payment is named, so that the register prints it as card and charges nothing [D146]; a payment by QR is not in the ledger.
        Receipt: {
          ...receiptOf(sale),
          Uid: sale.oid ?? sale.id,
          Payments: [sale.kind === 'card' ? { PaymentCode: byCard, documentNr: sale.id } : { PaymentCode: paidElsewhere }],
        },
      },
      received: (answer) => {
        if (sale.receiptId !== undefined) return;
        this.#note(sale, answer, 'noReceipt');
        if (answer.errorCode !== 0) return;
        sale.receiptId = String(answer.report['receiptId']);
        sale.commandId ??= answer.OID;
        sale.state = 'done';
      },
    });
  }

  #note(sale: Sale, answer: ApiAnswer, refusedState: Sale['state']): void {
    sale.errorCode = answer.errorCode;
    sale.message = answer.errorMessage;
    if (isOpen(answer)) sale.state = 'unknown';
    else if (answer.errorCode !== 0) sale.state = refusedState;
  }

  /** Sends the call, and repeats it unchanged while the outcome is open; a repeat joins the first call and starts nothing. */
  async #ask(call: Omit<ApiCallRequest, 'method'>): Promise<ApiAnswer> {
    const { calls, clock } = this.#deps;
    const request = { method: 'POST' as const, ...call };
    let answer = await calls.send(request);
    for (let asks = 1; asks < maxAsks && isOpen(answer) && !this.#isStopped; asks += 1) {
      await sleep(clock, askAgainMs);
      answer = await calls.send(request);
    }
    return answer;
  }
}

/** The outcome is unknown: 3, or an error about this request only (41 and 2). */
function isOpen({ errorCode }: ApiAnswer): boolean {
  return errorCode === noAnswer || errorCode === 1 || errorCode === 2 || errorCode === 3 || errorCode === 41;
}

/** Exact decimal texts are for display; the register gets numbers. */
export function receiptOf(sale: Sale): Record<string, unknown> {
  return {
    Number: sale.number,
    Uid: sale.id,
    Items: sale.items.map(({ name, quantity, priceBani }) => ({ Name: name, Quantity: quantity, Price: Number(formatLei(priceBani)) })),
  };
}
