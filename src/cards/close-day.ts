// closeDay: the terminal sends its transactions to the bank; after that they can no longer be refunded [D16].

import type { DeviceAnswer } from '../ledger/answers.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import { runOnDevice } from '../ledger/run-on-device.ts';
import type { CardsDeps } from './cards-deps.ts';

export async function closeDay(deps: CardsDeps, request: DeviceCall): Promise<DeviceAnswer> {
  return runOnDevice(deps, 'terminal', request, {
    isKnownByContent: true,
    plan: () => ({ name: 'CloseDay', args: {} }),
  });
}
