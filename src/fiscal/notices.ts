// Completion notices [D30]: written in the transaction that settles the operation, or makes it unknown, and sent by the callbacks room.
// An operation that never began was answered as such; it gets a notice only after an earlier notice "Unknown". Notices are counted in the
// operation's row, because the delivery log is cleaned and "Unknown" must not stay the last notice.
import { enqueueCallback, type OutboxDeps } from '../callbacks/outbox.ts';
import { expandTemplate } from '../callbacks/template.ts';
import type { Queries } from '../database/database.ts';
import { isExactNumber, parseExactJson } from '../kernel/exact-json.ts';
import type { Logger } from '../kernel/logger.ts';
import { isLongerThan, isPlainText } from '../kernel/receipt.ts';
import { type Command, type CommandState, namesOf } from '../ledger/command.ts';
import type { CommandKind } from '../ledger/command-kind.ts';
import { wasDone } from '../ledger/standing.ts';
import type { JsonObject } from '../link/protocol.ts';
import { countNotice } from './store.ts';

const stateWords: Record<Exclude<CommandState, 'sent'>, string> = {
  unknown: 'Unknown',
  done: 'Completed',
  refused: 'Refused',
  never: 'Refused',
  disputed: 'Unknown',
};

export function completionNotices(deps: OutboxDeps & { callbacks: { wake(): void }; logger: Logger }): CommandKind {
  async function write(queries: Queries, command: Command): Promise<void> {
    const address = addressOf(command);
    if (!address || 'unreadable' in address) return;
    await enqueueCallback(queries, deps, {
      merchantId: command.merchantId,
      subjectKind: 'operation',
      subjectId: command.id,
      sequence: await countNotice(queries, command.id),
      url: address.url,
    });
  }
  return {
    onState: { unknown: write, done: write, refused: write, never: write, disputed: write },
    afterState(command) {
      const address = addressOf(command);
      if (!address) return;
      if ('url' in address) return deps.callbacks.wake();
      const facts = { ...namesOf(command), merchantId: command.merchantId, state: command.state, err: address.unreadable };
      deps.logger.error(facts, 'the CallbackURI of an operation can no longer be read, so its ERP gets no notice');
    },
  };
}

/**
 * The address of the notice of its new state; undefined: there is no notice. A stored template may no longer be readable; that must not
 * prevent the settlement by the register or an operator [D122].
 */
function addressOf(command: Command): { url: string } | { unreadable: unknown } | undefined {
  if (command.callbackUri === null || command.state === 'sent') return undefined;
  if (command.state === 'never' && command.noticeSequence === 0) return undefined;
  const { id, deviceId, state } = command;
  const values = { OID: id, State: stateWords[state], ReceiptID: receiptIdOf(command), DeviceID: deviceId };
  try {
    return { url: expandTemplate(command.callbackUri, values) };
  } catch (error) {
    return { unreadable: error };
  }
}

/** The receipt id for the search for a print; an id that the database cannot store and index stays in the report only. */
export function receiptIdToFind(report: JsonObject): { receiptId: string | undefined } {
  const receiptId = receiptIdIn(report);
  return {
    receiptId: receiptId !== undefined && !isLongerThan(receiptId, maxReceiptIdLength) && isPlainText(receiptId) ? receiptId : undefined,
  };
}

const maxReceiptIdLength = 128;

/** A receipt id in a URL has a bound, too. A register's report that contradicts "refused", or is disputed, proves no receipt. */
function receiptIdOf(command: Command): string | undefined {
  if (!wasDone(command) || command.report === null) return undefined;
  const receiptId = receiptIdIn(parseExactJson(command.report) as JsonObject);
  return receiptId !== undefined && isLongerThan(receiptId, maxReceiptIdLength) ? undefined : receiptId;
}

function receiptIdIn({ receiptId }: JsonObject): string | undefined {
  if (isExactNumber(receiptId)) return receiptId.rawJSON;
  return typeof receiptId === 'string' || typeof receiptId === 'number' ? String(receiptId) : undefined;
}
