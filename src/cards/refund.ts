// Refund: part or all of a payment while its bank day is open [D17].
// The sum is taken under the payment's row lock in the transaction that commits the refund, unresolved refunds included,
// so that parallel refunds can never add up to more than was paid.
import { invalidRequest } from '../kernel/error-codes.ts';
import { type Bani, baniToLei } from '../kernel/money.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import { requireKept } from '../ledger/removed.ts';
import { type DeviceAnswer, saidSinceThatItWasDone } from '../ledger/rules.ts';
import { runOnDevice } from '../ledger/run-on-device.ts';
import type { CardsDeps } from './cards-deps.ts';
import { administrativeTimeoutMs, checkRefund, noSuchOperation, sameDocument } from './rules.ts';
import { findDoneAfterAll, findOperation, lockPayment, refundedOf } from './store.ts';

export interface RefundRequest extends DeviceCall {
  documentNr: string;
  operationId: string;
  rrn: string;
  amountBani: Bani;
  currency: string | undefined;
}

export async function refund(deps: CardsDeps, request: RefundRequest): Promise<DeviceAnswer> {
  const { merchantId, operationId, rrn, amountBani } = request;
  const currency = request.currency ?? 'MDL';
  if (currency !== 'MDL') throw invalidRequest('currency must be MDL.');
  return runOnDevice(deps, 'terminal', request, {
    isKnownByContent: true,
    async plan({ id: deviceId }) {
      const documentNr = sameDocument(request.documentNr);
      const payment = await findOperation(deps.database.queries, { merchantId, deviceId, operationId, documentNr, rrn });
      if (!payment) throw noSuchOperation();
      deps.ledger.reception.known(payment);
      requireKept(payment);
      return {
        name: 'Refund',
        args: { documentNr, operationId, rrn, amount: baniToLei(amountBani), currency },
        answerWithinMs: administrativeTimeoutMs,
        amountBani,
        documentNr,
        operationId,
        rrn,
        targetId: payment.id,
        async guard(queries) {
          const locked = await lockPayment(deps.database, queries, payment.id);
          const doneAfterAll = await findDoneAfterAll(queries, payment.id);
          if (doneAfterAll) throw saidSinceThatItWasDone(doneAfterAll);
          checkRefund(locked, { amountBani, refundedBani: await refundedOf(queries, payment.id) });
        },
      };
    },
  });
}
