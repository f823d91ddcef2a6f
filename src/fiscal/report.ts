// Report/Create: Z closes the fiscal day and resets its counters, X only tells them.
import type { DeviceAnswer } from '../ledger/rules.ts';
import { type FiscalDeps, type RegisterCall, runOnRegister } from './register.ts';
import { registerTimeoutMs } from './rules.ts';

export interface ReportRequest extends RegisterCall {
  /** True for Z, false for X. */
  isFiscal: boolean;
}

export function createReport(deps: FiscalDeps, request: ReportRequest): Promise<DeviceAnswer> {
  return runOnRegister(deps, request, { name: 'Report', args: { fiscal: request.isFiscal }, answerWithinMs: registerTimeoutMs });
}
