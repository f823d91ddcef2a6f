// Refund: part or all of a payment while its bank day is open [D17].
// The transaction that commits the refund sums all refunds, unresolved ones included, under the payment's row lock, so that parallel
// refunds can never exceed the payment.
import { invalidRequest } from '../kernel/error-codes.ts';
import { sameNumber } from '../kernel/ids.ts';
import { type Bani, baniToLei } from '../kernel/money.ts';
import type { DeviceAnswer } from '../ledger/answers.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import { requireKept } from '../ledger/removed.ts';
import { runOnDevice } from '../ledger/run-on-device.ts';
import { followersOf } from '../ledger/store.ts';
import type { CardsDeps } from './cards-deps.ts';
import { checkRefund } from './rules.ts';
import { lockUndisputed, requireOperation } from './store.ts';

export interface RefundRequest extends DeviceCall {
  documentNr: string;
  operationId: string;
  /** The id of the payment, if the caller knows it; otherwise the numbers identify it. */
  paymentId?: string | undefined;
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
      const documentNr = sameNumber(request.documentNr);
      const named = { paymentId: request.paymentId, merchantId, deviceId, operationId, documentNr, rrn };
      const payment = await requireOperation(deps.database.queries, named);
      deps.ledger.outcomeDelivery.inferred(payment, request.origin?.caller);
      requireKept(payment, await followersOf(deps.database.queries, payment));
      return {
        name: 'Refund',
        args: { documentNr, operationId, rrn, amount: baniToLei(amountBani), currency },
        amountBani,
        documentNr,
        operationId,
        rrn,
        targetId: payment.id,
        async guard(queries) {
          const { payment: locked, followers } = await lockUndisputed(deps.database, queries, payment.id);
          checkRefund(locked, followers, amountBani);
        },
      };
    },
  });
}
