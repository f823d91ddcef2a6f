// closeDay: the terminal sends its transactions to the bank; what was closed can no longer be refunded [D16].
import type { DeviceAnswer } from '../ledger/rules.ts';
import { administrativeTimeoutMs } from './rules.ts';
import { type CardsDeps, requireTerminal, runOnTerminal, type TerminalCall } from './terminal.ts';

export async function closeDay(deps: CardsDeps, request: TerminalCall): Promise<DeviceAnswer> {
  const device = await requireTerminal(deps, request);
  return runOnTerminal(deps, request, device, { name: 'CloseDay', args: {}, answerWithinMs: administrativeTimeoutMs });
}
