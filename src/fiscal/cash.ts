// Money/In and Money/Out: cash into and out of the register's drawer, written to its fiscal memory.
import { type Bani, baniToLei } from '../kernel/money.ts';
import type { DeviceAnswer } from '../ledger/answers.ts';
import { runOnDevice } from '../ledger/run-on-device.ts';
import { callbackOf, type FiscalDeps, type RegisterCall } from './register.ts';

export interface CashRequest extends RegisterCall {
  amountBani: Bani;
  reason?: string | undefined;
}

export function moveCash(deps: FiscalDeps, name: 'MoneyIn' | 'MoneyOut', request: CashRequest): Promise<DeviceAnswer> {
  const { amountBani, reason } = request;
  return runOnDevice(deps, 'register', request, {
    isKnownByContent: true,
    plan: () => ({
      name,
      args: { amount: baniToLei(amountBani), ...(reason === undefined ? {} : { reason }) },
      amountBani,
      callbackUri: callbackOf(request),
    }),
  });
}
