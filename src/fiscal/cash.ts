// Money/In and Money/Out: cash into and out of the register's drawer, written to its fiscal memory.
import { type Bani, baniToLei } from '../kernel/money.ts';
import type { DeviceAnswer } from '../ledger/rules.ts';
import { type FiscalDeps, type RegisterCall, runOnRegister } from './register.ts';
import { registerTimeoutMs } from './rules.ts';

export interface CashRequest extends RegisterCall {
  amountBani: Bani;
  reason?: string | undefined;
}

export function moveCash(deps: FiscalDeps, name: 'MoneyIn' | 'MoneyOut', request: CashRequest): Promise<DeviceAnswer> {
  const { amountBani, reason } = request;
  return runOnRegister(deps, request, {
    name,
    args: { amount: baniToLei(amountBani), ...(reason === undefined ? {} : { reason }) },
    answerWithinMs: registerTimeoutMs,
    amountBani,
  });
}
