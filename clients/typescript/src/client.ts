// The calls of the API, one function each, in its own names. How they repeat is in run.ts.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Call, type CallKind, type Ending, run, type World } from './run.ts';
import { createTransport, type HttpRequest } from './transport.ts';
import type {
  AnyReport,
  CancelRequest,
  CashReport,
  CashRequest,
  CloseDayReport,
  Device,
  DeviceStatusReport,
  FiscalReport,
  InvoiceRequest,
  InvoiceStatus,
  LastTransactionReport,
  Operation,
  OperationName,
  Outcome,
  PaymentNames,
  PayReport,
  PayRequest,
  PrintRequest,
  Receipt,
  ReceiptReport,
  RefundReport,
  RefundRequest,
  ReportRequest,
} from './types.ts';

export interface ClientOptions {
  /** With the first path segment: https://pay.example/tillgate */
  baseUrl: string;
  apiKey: string;
  /** How long after its beginning a call may still start something on a device (30000). */
  startPatienceMs?: number;
  /** How long a call asks for an outcome that is not known yet (120000). */
  outcomePatienceMs?: number;
  /** Certificates to trust instead of the system's, as PEM. */
  ca?: string;
  /** For tests: time, chance and the network as values. */
  world?: Partial<Pick<World, 'send' | 'nowMs' | 'sleep' | 'random'>> & { uuid?: () => string };
}

export interface KeyOptions {
  /** The Idempotency-Key, if you have stored one; it belongs to this call and body alone. */
  key?: string;
  /** You have called with this key before, and it ended `unclear` or your program died: then `notDone` is said only if that holds for both. */
  sentBefore?: boolean;
  /** Awaited with the key before anything is sent: store it with the sale. */
  onKey?(key: string): unknown;
  /** Of one request, instead of the call's own. */
  timeoutMs?: number;
}

/** The device's own time and the margin for the way. */
const marginMs = 15_000;
const timeoutsMs = {
  pay: 300_000 + marginMs,
  minute: 60_000 + marginMs,
  lastTransaction: 30_000 + marginMs,
  short: 20_000 + marginMs,
};
const cardPaymentCodes = new Set(['1', '2', '7', '1000']);

export type Tillgate = ReturnType<typeof createTillgate>;

export function createTillgate(options: ClientOptions) {
  const baseUrl = options.baseUrl.replace(/\/+$/, '');
  const newKey = options.world?.uuid ?? randomUUID;
  const world: World = {
    send: createTransport({ ca: options.ca }),
    nowMs: () => performance.now(),
    sleep,
    random: Math.random,
    startPatienceMs: options.startPatienceMs ?? 30_000,
    outcomePatienceMs: options.outcomePatienceMs ?? 120_000,
    ...options.world,
  };
  const headers = { 'x-api-key': options.apiKey, accept: 'application/json' };

  function get(path: string, query: Record<string, string>, timeoutMs: number): HttpRequest {
    const url = `${baseUrl}${path}?${new URLSearchParams(query).toString()}`;
    return { method: 'GET', url, headers, body: undefined, timeoutMs };
  }

  const askBy: Call['askBy'] = (name) => get('/Device/Operation/Status', { ...name }, timeoutsMs.short);

  async function read(path: string, query: Record<string, string>, timeoutMs: number, kind: CallKind = 'read'): Promise<Ending> {
    return run(world, {
      kind,
      request: get(path, query, timeoutMs),
      key: undefined,
      wasSentBefore: false,
      maySharePayment: false,
      isPayment: false,
      askBy,
    });
  }

  async function post(path: string, fields: object, timeoutMs: number, own: KeyOptions, kind: CallKind = 'command'): Promise<Ending> {
    const key = own.key ?? newKey();
    // Before the key is told: what is stored under it must not change while somebody stores it.
    const body = JSON.stringify(fields);
    await own.onKey?.(key);
    const request: HttpRequest = {
      method: 'POST',
      url: `${baseUrl}${path}`,
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        'idempotency-key': key,
      },
      body,
      timeoutMs: own.timeoutMs ?? timeoutMs,
    };
    const { sentBefore: wasSentBefore = false } = own;
    const maySharePayment = path.endsWith('/CancelTransaction');
    return run(world, { kind, request, key, wasSentBefore, maySharePayment, isPayment: path.endsWith('/payment/Pay'), askBy });
  }

  /** The fields of a success beside the outcome; a report that is not there is empty, not missing. */
  function operation<Report>(ended: Ending): Outcome<Operation<Report>> {
    return settle(ended, () => ({ OID: ended.OID, report: (ended.report ?? {}) as Report }));
  }

  return {
    /** The state of a terminal or register. With errorCode 30, `report` is what it said last. */
    deviceStatus: async ({ DeviceID }: Device) =>
      operation<DeviceStatusReport>(await read('/Device/Device/Status', { DeviceID }, timeoutsMs.short)),

    pay: async (request: PayRequest, own: KeyOptions = {}) =>
      operation<PayReport>(await post('/Device/payment/Pay', request, timeoutsMs.pay, own)),
    lastTransaction: async ({ DeviceID }: Device) =>
      operation<LastTransactionReport>(await read('/Device/payment/LastTransaction', { DeviceID }, timeoutsMs.lastTransaction)),
    closeDoc: async (request: PaymentNames, own: KeyOptions = {}) =>
      operation<AnyReport>(await post('/Device/payment/CloseDoc', request, timeoutsMs.minute, own)),
    closeDay: async (request: Device, own: KeyOptions = {}) =>
      operation<CloseDayReport>(await post('/Device/payment/closeDay', request, timeoutsMs.minute, own)),
    refund: async (request: RefundRequest, own: KeyOptions = {}) =>
      operation<RefundReport>(await post('/Device/payment/Refund', request, timeoutsMs.minute, own)),
    cancelTransaction: async (request: CancelRequest, own: KeyOptions = {}) =>
      operation<RefundReport>(await post('/Device/payment/CancelTransaction', request, timeoutsMs.minute, own)),

    createInvoice: async (request: InvoiceRequest, own: KeyOptions = {}) =>
      settle(
        await post('/Invoice/Create', request, timeoutsMs.short, own, 'safe'),
        (fields) => fields as unknown as { QR: string; OID: string; QRImage: string; ValidTo: string | null },
      ),
    invoiceStatus: async ({ QR }: { QR: string }) =>
      settle(
        await read('/Invoice/Status', { QR }, timeoutsMs.short),
        (fields) => fields as unknown as { Status: InvoiceStatus; ReceiptID: string },
      ),
    getInvoice: async ({ QR }: { QR: string }) =>
      settle(await read('/Invoice/Get', { QR }, timeoutsMs.short, 'safe'), (fields) => fields as unknown as ScannedInvoice),
    payInvoice: async (request: { QR: string; ReceiptID: string; DeviceID: string }) =>
      settle(await read('/Invoice/Payd', { ...request }, timeoutsMs.short, 'safe'), () => ({})),

    cashIn: async (request: CashRequest, own: KeyOptions = {}) =>
      operation<CashReport>(await post('/Device/Money/In', request, timeoutsMs.short, own)),
    cashOut: async (request: CashRequest, own: KeyOptions = {}) =>
      operation<CashReport>(await post('/Device/Money/Out', request, timeoutsMs.short, own)),
    createReport: async (request: ReportRequest, own: KeyOptions = {}) =>
      operation<FiscalReport>(await post('/Device/Report/Create', request, timeoutsMs.short, own)),
    printReceipt: async (request: PrintRequest, own: KeyOptions = {}) =>
      operation<ReceiptReport>(
        await post('/Device/Invoice/Pay', request, hasCardPayment(request.Receipt) ? timeoutsMs.pay : timeoutsMs.minute, own),
      ),

    /**
     * How an operation ended, without doing anything: what to ask first after a crash of your own. Open and Disputed are `unclear`; Voided is `notDone`.
     * With `untilKnown` it goes on asking for outcomePatienceMs.
     */
    operationStatus: async (name: OperationName, own: { untilKnown?: boolean } = {}) => {
      const untilMs = world.nowMs() + (own.untilKnown === true ? world.outcomePatienceMs : 0);
      for (let waitMs = 500; ; waitMs = Math.min(10_000, waitMs * 2)) {
        const ended = await read('/Device/Operation/Status', { ...name }, timeoutsMs.short);
        const outcome = judgeStatus(name, ended);
        if (ended.errorCode !== 3 || ended.fields['State'] === 'Disputed' || world.nowMs() + waitMs > untilMs)
          return settle({ ...ended, outcome }, (fields) => ({
            OID: ended.OID,
            report: ended.report ?? {},
            State: String(fields['State']),
            Operation: String(fields['Operation']),
          }));
        await world.sleep(waitMs);
      }
    },
  };
}

export interface ScannedInvoice {
  OID: string;
  Status: InvoiceStatus;
  Receipt: Receipt;
  ValidTo: string | null;
  PointOfSalesCode: string | null;
  DeviceID?: string | null;
}

/** Of a payment that was voided since, and of an operation whose record was removed after its time. */
const outcomeByState: Partial<Record<string, Ending['outcome']>> = {
  Done: 'done',
  Closed: 'done',
  Refunded: 'done',
  Voided: 'notDone',
  Refused: 'notDone',
  Never: 'notDone',
};

/** What the answer says of the operation, not of the question: only its own end is an end, and a key is forgotten after a day. */
function judgeStatus(name: OperationName, { outcome, errorCode, fields }: Ending): Ending['outcome'] {
  if (outcome === 'done' || outcome === 'refused') return outcome;
  if (errorCode === 22) return outcomeByState[String(fields['State'])] ?? 'unclear';
  const isLasting = 'documentNr' in name || 'ReceiptUid' in name;
  return errorCode === 30 || errorCode === 31 || (errorCode === 20 && isLasting) ? 'notDone' : 'unclear';
}

function settle<Fields extends object>(ended: Ending, pick: (fields: Record<string, unknown>) => Fields): Outcome<Fields> {
  const { outcome, errorCode, errorMessage, key, OID, report, fields } = ended;
  if (outcome === 'done') return { ...pick(fields), outcome, errorCode: ended.errorCode === 22 ? 22 : 0, errorMessage, key };
  const ending = { errorMessage, key, OID, report };
  return outcome === 'refused' ? { outcome, errorCode: 50, ...ending } : { outcome, errorCode, ...ending };
}

function hasCardPayment({ Payments }: Receipt): boolean {
  return (Payments ?? []).some(({ PaymentCode }) => cardPaymentCodes.has(String(Number(PaymentCode))));
}
