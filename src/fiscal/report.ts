// Report/Create: Z closes the fiscal day and resets its counters, X only reports them.
import type { DeviceAnswer } from '../ledger/answers.ts';
import { runOnDevice } from '../ledger/run-on-device.ts';
import { callbackOf, type FiscalDeps, type RegisterCall } from './register.ts';

export interface ReportRequest extends RegisterCall {
  /** True for Z, false for X. */
  isFiscal: boolean;
}

export function createReport(deps: FiscalDeps, request: ReportRequest): Promise<DeviceAnswer> {
  const { isFiscal } = request;
  return runOnDevice(deps, 'register', request, {
    // An X report changes nothing, so a repeat makes another one.
    isKnownByContent: isFiscal,
    plan: () => ({
      name: 'Report',
      args: { fiscal: isFiscal },
      callbackUri: callbackOf(request),
    }),
  });
}
