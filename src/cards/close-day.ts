// closeDay: the terminal sends its transactions to the bank; what was closed can no longer be refunded [D16].
import type { DeviceAnswer } from '../ledger/rules.ts';
import { runOnDevice } from '../ledger/run-on-device.ts';
import { administrativeTimeoutMs } from './rules.ts';
import type { CardsDeps, TerminalCall } from './terminal.ts';

export async function closeDay(deps: CardsDeps, request: TerminalCall): Promise<DeviceAnswer> {
  return runOnDevice(deps, 'terminal', request, {
    isKnownByContent: true,
    plan: () => ({ name: 'CloseDay', args: {}, answerWithinMs: administrativeTimeoutMs }),
  });
}
