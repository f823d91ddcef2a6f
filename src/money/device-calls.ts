// The calls of POS and Fiscal Mode as the routes and the cabinet make them: each becomes one event. No rules.
import { createHash } from 'node:crypto';
import { checkTemplate } from '../callbacks/template.ts';
import type { Cards } from '../cards/cards.ts';
import type { CardsDeps } from '../cards/cards-deps.ts';
import { lastTransaction } from '../cards/last-transaction.ts';
import type { Fiscal } from '../fiscal/fiscal.ts';
import { personPrefix } from '../http/origin.ts';
import { canonicalJson } from '../kernel/canonical-json.ts';
import { invalidRequest } from '../kernel/error-codes.ts';
import { sameNumber } from '../kernel/ids.ts';
import { baniToLei } from '../kernel/money.ts';
import type { OperationName } from '../kernel/operations.ts';
import type { Random } from '../kernel/random.ts';
import { checkReceipt, type Receipt, withOneName } from '../kernel/receipt.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import type { StatusRequest } from '../ledger/operation-status.ts';
import type { Calls } from './calls.ts';
import type { Report } from './case.ts';
import type { CallEvent } from './event.ts';
import { type Reply, replyTo } from './replies.ts';

interface Deps {
  calls: Calls;
  random: Random;
  /** LastTransaction asks the device, and otherwise reads. */
  reading: Pick<CardsDeps, 'database' | 'link'>;
}

type Common = Pick<Extract<CallEvent, { type: 'CloseDoc' }>, 'merchantId' | 'deviceId' | 'newId' | 'key' | 'isByPerson'>;

export function createDeviceCalls({ calls, random, reading }: Deps) {
  /** `isKnownByContent`: the call has no name of its own, so an equal one may be its repeat [D58]. */
  function common({ merchantId, deviceId, idempotency, hashRequest, origin }: DeviceCall, isKnownByContent: boolean) {
    const requestHash = isKnownByContent ? hashRequest?.() : undefined;
    return {
      ...{ merchantId, deviceId, newId: random.uuid() },
      ...(idempotency ? { key: idempotency } : {}),
      ...(requestHash === undefined ? {} : { requestHash }),
      ...(origin ? { by: origin.caller } : {}),
      ...(origin?.caller.startsWith(personPrefix) ? { isByPerson: true } : {}),
    } satisfies Common & { requestHash?: string; by?: string };
  }

  const call = async (event: CallEvent, { recipient, origin }: DeviceCall): Promise<Reply> =>
    replyTo(await calls.call(event, { recipient, origin }));

  const plain = async (
    request: DeviceCall & { callbackUri?: string | undefined },
    kind: OperationName,
    args: Report,
    amountBani?: number,
  ): Promise<Reply> => call({ type: 'Plain', ...common(request, true), kind, args, amountBani, ...callbackOf(request) }, request);

  const cards: Omit<Cards, 'closeDocumentByHand'> = {
    pay(request) {
      const { amountBani, documentNr } = request;
      const named = documentNr === undefined ? {} : { documentNr: sameNumber(documentNr) };
      return call({ type: 'Pay', ...common(request, documentNr === undefined), amountBani, ...named }, request);
    },
    closeDoc(request) {
      const { documentNr, operationId, paymentId } = request;
      return call({ type: 'CloseDoc', ...common(request, false), documentNr: sameNumber(documentNr), operationId, paymentId }, request);
    },
    async refund(request) {
      const { documentNr, operationId, paymentId, rrn, amountBani, currency = 'MDL' } = request;
      if (currency !== 'MDL') throw invalidRequest('currency must be MDL.');
      const named = { documentNr: sameNumber(documentNr), operationId, paymentId, rrn, amountBani };
      return call({ type: 'Refund', ...common(request, true), ...named }, request);
    },
    cancelTransaction(request) {
      const { documentNr, operationId, paymentId, token, amountBani, isForInvoices } = request;
      const named = { documentNr: sameNumber(documentNr), operationId, paymentId, token, amountBani };
      return call({ type: 'CancelTransaction', ...common(request, true), ...named, isForInvoices }, request);
    },
    closeDay: (request) => plain(request, 'CloseDay', {}),
    plainOperation(request) {
      const { name, amountBani } = request;
      return plain(request, name, amountBani === undefined ? {} : { amount: baniToLei(amountBani), currency: 'MDL' }, amountBani);
    },
    lastTransaction: (request) => lastTransaction(reading as CardsDeps, request),
  };

  const fiscal: Fiscal = {
    cashIn: (request) => plain(request, 'MoneyIn', cashArgs(request), request.amountBani),
    cashOut: (request) => plain(request, 'MoneyOut', cashArgs(request), request.amountBani),
    createReport: (request) => plain(request, 'Report', { fiscal: request.isFiscal }),
    async printReceipt(request) {
      const sent = checkReceipt(request.receipt, { needsPayments: true });
      const receipt = withOneName(sent);
      const uid = receipt['Uid'];
      const event = {
        ...common(request, typeof uid !== 'string'),
        receipt,
        contentHashes: contentHashesOf(receipt, sent),
        ...callbackOf(request),
      };
      return call({ type: 'Print', ...event }, request);
    },
  };

  return {
    cards,
    fiscal,
    status: async ({ recipient, modules, ...event }: StatusRequest): Promise<Reply> =>
      replyTo(await calls.status({ type: 'Status', ...event, modules: [...modules] }, { recipient })),
  };
}

function cashArgs({ amountBani, reason }: { amountBani: number; reason?: string | undefined }): Report {
  return { amount: baniToLei(amountBani), ...(reason === undefined ? {} : { reason }) };
}

/** The address template of the completion notice; 40 if it is invalid. */
function callbackOf({ callbackUri }: { callbackUri?: string | undefined }): { callbackUri?: string } {
  if (callbackUri === undefined) return {};
  checkTemplate(callbackUri);
  return { callbackUri };
}

/** Equal for receipts with equal content, whatever the order of their fields. */
const contentHashOf = (receipt: Receipt): string => createHash('sha256').update(canonicalJson(receipt)).digest('hex');

/** As stored now, and as it may have been hashed before version 0.2.3, which kept the letter case of names [D306]. */
function contentHashesOf(receipt: Receipt, sent: Receipt): string[] {
  const { Uid: uid } = sent;
  const spellings = typeof uid === 'string' ? [uid.toLowerCase(), uid.toUpperCase()] : [];
  const all = [
    receipt,
    sent,
    ...spellings.flatMap((Uid) => [
      { ...sent, Uid },
      { ...receipt, Uid },
    ]),
  ];
  return [...new Set(all.map(contentHashOf))];
}
