// The payment of an invoice as one action of a device: read the QR, fetch the receipt, take the money, print, report it paid.
// The command id of each attempt is derived from the invoice, so that a scan repeated after a crash finds the money already taken instead of
// taking it again.
import { createHash } from 'node:crypto';
import { type Clock, sleep } from '../kernel/clock.ts';
import { bytesToUuid } from '../kernel/ids.ts';
import { type Bani, baniToLei, formatLei } from '../kernel/money.ts';
import type { JsonObject, LedgerCommandName } from '../link/protocol.ts';
import { receiptTotal } from './books/receipt.ts';
import { isJsonObject } from './client/command-reader.ts';
import type { Ending } from './client/device-work.ts';
import type { VirtualDevice } from './devices/virtual-device.ts';

export interface ScanStep {
  step: 'get' | 'money' | 'close' | 'payd';
  isOk: boolean;
  /** One sentence. */
  detail: string;
}

export interface ScanResult {
  /** The invoice is paid and the gateway has confirmed it. */
  isPaid: boolean;
  /** The card was charged or the receipt printed, whatever the gateway answered. */
  isMoneyTaken: boolean;
  steps: ScanStep[];
  receiptId?: string;
  oid?: string;
}

export interface ScanOptions {
  /** With the service's own path segment: https://host/tillgate */
  baseUrl: string;
  qr: string;
  device: VirtualDevice;
  deviceSecret: string;
  clock: Clock;
  fetch?: ((address: string, init?: RequestInit) => Promise<Response>) | undefined;
}

/** A Payd without an answer is repeated: it is idempotent. */
const paydTries = 5;
const paydWaitMs = 1_000;
const requestTimeoutMs = 15_000;
/** Attempts at one invoice that were refused, after which the device gives up. */
const maxAttempts = 50;
const cardPaymentCode = 1;

export async function scanInvoice(options: ScanOptions): Promise<ScanResult> {
  const { device, qr } = options;
  const steps: ScanStep[] = [];
  const invoice = await fetchInvoice(options);
  if (invoice.errorCode !== 0) {
    steps.push({ step: 'get', isOk: false, detail: `Invoice/Get was refused: ${invoice.errorMessage}` });
    return { isPaid: false, isMoneyTaken: false, steps };
  }
  const oid = String(invoice.OID);
  const amountBani = receiptTotal(invoice.Receipt);
  const total = amountBani === undefined ? 'no amount' : `${formatLei(amountBani)} MDL`;
  steps.push({ step: 'get', isOk: amountBani !== undefined, detail: `Scanned invoice ${oid} over ${total}.` });
  if (amountBani === undefined) return { isPaid: false, isMoneyTaken: false, steps, oid };
  const receiptId =
    device.kind === 'terminal'
      ? await payByCard(device, oid, amountBani, steps)
      : await printAndPay(device, oid, invoice.Receipt as JsonObject, steps);
  if (receiptId === undefined) return { isPaid: false, isMoneyTaken: false, steps, oid };

  const paid = await reportPaid(options, { QR: qr, ReceiptID: receiptId, DeviceID: device.deviceId });
  const isPaid = paid.errorCode === 0;
  const detail = isPaid ? `Reported to the gateway: receipt ${receiptId}.` : `Refused although the money is taken: ${paid.errorMessage}`;
  steps.push({ step: 'payd', isOk: isPaid, detail });
  return { isPaid, isMoneyTaken: true, steps, receiptId, oid };
}

/** Only the scan: no money is taken. */
export function fetchInvoice(options: ScanOptions): Promise<Envelope> {
  return call(options, 'Invoice/Get', { QR: options.qr });
}

/** The receipt id to report, or undefined if no money was taken. A terminal prints no fiscal receipt: its bank reference is used instead. */
async function payByCard(device: VirtualDevice, oid: string, amountBani: Bani, steps: ScanStep[]): Promise<string | undefined> {
  const paid = await performOnce(device, oid, 'Pay', { amount: baniToLei(amountBani), currency: 'MDL', documentNr: oid });
  const { operationId, rrn } = paid.report ?? {};
  if (paid.outcome !== 'done' || typeof operationId !== 'string') {
    steps.push({ step: 'money', isOk: false, detail: `The payment ended ${paid.outcome}: ${paid.reason ?? ''}` });
    return undefined;
  }
  steps.push({ step: 'money', isOk: true, detail: `The bank approved: operation ${operationId}, rrn ${String(rrn)}.` });
  const closed = await performOnce(device, oid, 'CloseDoc', { documentNr: oid, operationId });
  steps.push({ step: 'close', isOk: closed.outcome === 'done', detail: `Closing the document: ${closed.outcome}.` });
  return String(rrn);
}

async function printAndPay(device: VirtualDevice, oid: string, receipt: JsonObject, steps: ScanStep[]): Promise<string | undefined> {
  const hasPayments = Array.isArray(receipt.Payments) && receipt.Payments.length > 0;
  const toPrint = hasPayments ? receipt : { ...receipt, Payments: [{ PaymentCode: cardPaymentCode }] };
  const printed = await performOnce(device, oid, 'PrintReceipt', { receipt: toPrint });
  const receiptId = printed.report?.receiptId;
  if (printed.outcome !== 'done' || typeof receiptId !== 'string') {
    steps.push({ step: 'money', isOk: false, detail: `The receipt ended ${printed.outcome}: ${printed.reason ?? ''}` });
    return undefined;
  }
  steps.push({ step: 'money', isOk: true, detail: `Money taken and receipt printed: ${receiptId}.` });
  return receiptId;
}

/** Runs the command unless an earlier scan of this invoice did; after a failed attempt a new one follows. */
async function performOnce(device: VirtualDevice, oid: string, name: LedgerCommandName, args: JsonObject): Promise<Ending> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const id = attemptId(`${device.deviceId} ${oid} ${name} ${attempt}`);
    const earlier = device.journal().find(id);
    const hasFailed = earlier?.state === 'ended' && earlier.outcome !== 'done' && earlier.outcome !== 'unknown';
    if (!hasFailed) return await device.perform({ id, name, args });
  }
  return { outcome: 'refused', reason: 'It was tried too often.' };
}

function attemptId(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  // The version and variant bits of a custom UUID (version 8).
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytesToUuid(bytes);
}

type Envelope = JsonObject & { errorCode: number; errorMessage: string };

/** Money was taken: repeats the call until the gateway accepts or refuses. */
async function reportPaid(options: ScanOptions, query: Record<string, string>): Promise<Envelope> {
  let answer = await call(options, 'Invoice/Payd', query);
  for (let tries = 1; tries < paydTries && isTemporary(answer); tries += 1) {
    await sleep(options.clock, paydWaitMs * tries);
    answer = await call(options, 'Invoice/Payd', query);
  }
  return answer;
}

const noAnswer = -1;

function isTemporary({ errorCode }: Envelope): boolean {
  return errorCode === noAnswer || errorCode === 1 || errorCode === 2 || errorCode === 41;
}

async function call(options: ScanOptions, path: string, query: Record<string, string>): Promise<Envelope> {
  const { baseUrl, device, deviceSecret, fetch: get = fetch } = options;
  const credential = Buffer.from(`${device.deviceId}:${deviceSecret}`).toString('base64');
  try {
    const response = await get(`${baseUrl.replace(/\/$/, '')}/${path}?${new URLSearchParams(query).toString()}`, {
      headers: { authorization: `Basic ${credential}` },
      signal: AbortSignal.timeout(requestTimeoutMs),
    });
    const body: unknown = await response.json();
    if (isJsonObject(body) && typeof body.errorCode === 'number')
      return { ...body, errorCode: body.errorCode, errorMessage: String(body.errorMessage) };
    return { errorCode: noAnswer, errorMessage: 'The answer of the gateway has no envelope.' };
  } catch (error) {
    return { errorCode: noAnswer, errorMessage: `The gateway did not answer: ${error instanceof Error ? error.message : String(error)}` };
  }
}
