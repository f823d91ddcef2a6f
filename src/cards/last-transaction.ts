// LastTransaction: what the terminal says about its last command; for a terminal that is away, errorCode 30 with what the ledger knows [D6].
import { maskReport } from '../kernel/card-mask.ts';
import { maskCardNumbers } from '../kernel/card-numbers.ts';
import { deviceOffline, GatewayError } from '../kernel/error-codes.ts';
import { parseExactJson } from '../kernel/exact-json.ts';
import type { DeviceAnswer } from '../ledger/answers.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import type { Command } from '../ledger/command.ts';
import { requireDevice } from '../ledger/run-on-device.ts';
import type { JsonObject } from '../link/protocol.ts';
import type { CardsDeps } from './cards-deps.ts';
import { lastTransactionTimeoutMs } from './rules.ts';
import { findLastCommand } from './store.ts';

const stateWords = {
  sent: 'running',
  unknown: 'unknown',
  done: 'approved',
  refused: 'refused',
  never: 'refused',
  disputed: 'unknown',
} as const;

export async function lastTransaction(deps: CardsDeps, request: DeviceCall): Promise<DeviceAnswer> {
  const device = await requireDevice(deps, 'terminal', request);
  const channel = await deps.link.locate(device.id, 'mqtt');
  if (channel === undefined) {
    const last = await findLastCommand(deps.database.queries, device.id);
    throw deviceOffline(last && JSON.stringify(ledgerReport(last)));
  }
  const answer = await deps.link.ask(device.id, {
    name: 'LastTransaction',
    args: {},
    timeoutMs: lastTransactionTimeoutMs,
    preferredChannel: channel,
  });
  if (!answer) throw new GatewayError('Timeout_or_no_response', 'The terminal did not answer in time.');
  const report = answer.report === undefined ? {} : { report: JSON.stringify(maskReport(answer.report)) };
  if (answer.outcome === 'done') return report;
  if (answer.outcome !== 'refused' && answer.outcome !== 'unsupported')
    throw new GatewayError('Timeout_or_no_response', 'The terminal answered without telling its last transaction.', report);
  throw new GatewayError(
    'Refused_By_Device',
    answer.reason ? `The terminal refused: ${maskCardNumbers(answer.reason)}` : 'The terminal refused to tell.',
    report,
  );
}

function ledgerReport(command: Command): JsonObject {
  const reported = command.report === null ? {} : (parseExactJson(command.report) as JsonObject);
  return { ...reported, commandId: command.id, kind: command.name, state: stateWords[command.state], source: 'ledger' };
}
