// LastTransaction: the last payment, refund or void of a terminal [D148], from the terminal, or from the ledger if it reports none.
// `source` names which of the two; `lastCommand` is the last command of any kind. For an offline terminal: errorCode 30 with the ledger's
// record [D6].
import { maskReport } from '../kernel/card-mask.ts';
import { maskCardNumbers } from '../kernel/card-numbers.ts';
import { deviceOffline, GatewayError } from '../kernel/error-codes.ts';
import { parseExactJson } from '../kernel/exact-json.ts';
import { baniToLei } from '../kernel/money.ts';
import { movesCardMoney, namesWhere } from '../kernel/operations.ts';
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

const transactionKinds = namesWhere(movesCardMoney);

export async function lastTransaction(deps: CardsDeps, request: DeviceCall): Promise<DeviceAnswer> {
  const device = await requireDevice(deps, 'terminal', request);
  const channel = await deps.link.locate(device.id, 'mqtt');
  if (channel === undefined) {
    const last = await findLastCommand(deps.database.queries, device.id);
    if (!last) throw deviceOffline();
    const transaction = await ledgerTransaction(deps, device.id);
    throw deviceOffline(JSON.stringify({ ...transaction, source: 'ledger', lastCommand: ledgerReport(last) }));
  }
  const answer = await deps.link.ask(device.id, {
    name: 'LastTransaction',
    args: {},
    timeoutMs: lastTransactionTimeoutMs,
    preferredChannel: channel,
  });
  if (!answer) throw new GatewayError('Timeout_or_no_response', 'The terminal did not answer in time.');
  const reported = answer.report && (maskReport(answer.report) as JsonObject);
  if (answer.outcome === 'done') return await transactionIn(deps, device.id, reported ?? {});
  const report = reported && { report: JSON.stringify(reported) };
  if (answer.outcome !== 'refused' && answer.outcome !== 'unsupported')
    throw new GatewayError('Timeout_or_no_response', 'The terminal answered without its last transaction.', report);
  throw new GatewayError(
    'Refused_By_Device',
    answer.reason ? `The terminal refused: ${maskCardNumbers(answer.reason)}` : 'The terminal refused to tell.',
    report,
  );
}

/** If the last command is itself a transaction, an older `lastPayment` is ignored. */
async function transactionIn(deps: CardsDeps, deviceId: string, { lastPayment, ...lastCommand }: JsonObject): Promise<DeviceAnswer> {
  const own = [lastCommand, lastPayment].find(isTransaction);
  const transaction = own ? { ...own, source: 'device' } : await ledgerTransaction(deps, deviceId);
  const report = JSON.stringify({ ...transaction, lastCommand });
  if (transaction) return { report };
  throw new GatewayError('Record_not_exist', 'No payment, refund or void of this terminal is known.', { report });
}

function isTransaction(value: unknown): value is JsonObject {
  return transactionKinds.some((kind) => kind === (value as JsonObject | null | undefined)?.['kind']);
}

async function ledgerTransaction(deps: CardsDeps, deviceId: string): Promise<JsonObject | undefined> {
  const last = await findLastCommand(deps.database.queries, deviceId, transactionKinds);
  return last && { ...ledgerReport(last), source: 'ledger' };
}

function ledgerReport({ id, name, state, amountBani, documentNr, report }: Command): JsonObject {
  return {
    ...(amountBani === null ? {} : { amount: baniToLei(amountBani) }),
    ...(documentNr === null ? {} : { documentNr }),
    ...(report === null ? {} : (parseExactJson(report) as JsonObject)),
    commandId: id,
    kind: name,
    state: stateWords[state],
  };
}
