// An operation that is no payment and refers to none is sent as requested: closeDay, in which the terminal sends its transactions to the bank,
// so that they can no longer be refunded [D16]. A repeat is recognised by its key or content.
import { type Bani, baniToLei } from '../kernel/money.ts';
import type { OperationName, operations } from '../kernel/operations.ts';
import type { DeviceAnswer } from '../ledger/answers.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import { runOnDevice } from '../ledger/run-on-device.ts';
import type { CardsDeps } from './cards-deps.ts';

type Other = { isPayment: true } | { effect: string } | { device: 'register' };
type PlainName = { [Name in OperationName]: (typeof operations)[Name] extends Other ? never : Name }[OperationName];

export interface PlainRequest extends DeviceCall {
  name: PlainName;
  amountBani?: Bani;
}

export async function plainOperation(deps: CardsDeps, request: PlainRequest): Promise<DeviceAnswer> {
  const { name, amountBani } = request;
  const args = amountBani === undefined ? {} : { amount: baniToLei(amountBani), currency: 'MDL' };
  return runOnDevice(deps, 'terminal', request, { isKnownByContent: true, plan: () => ({ name, args, amountBani }) });
}
