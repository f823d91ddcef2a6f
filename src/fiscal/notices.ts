// Completion notices [D30]: written in the transaction that settles the operation, or makes it unknown, and sent by the callbacks room.
// An operation that never began was answered as such; it gets a notice only if "Unknown" was told before. That is counted in the
// operation's own row: the delivery log is cleaned, and "Unknown" must not be the last notice because of that.
import { enqueueCallback, type OutboxDeps } from '../callbacks/outbox.ts';
import { expandTemplate } from '../callbacks/template.ts';
import type { Queries } from '../database/database.ts';
import { isExactNumber, parseExactJson } from '../kernel/exact-json.ts';
import { isPlainText } from '../kernel/receipt.ts';
import type { Command, CommandState } from '../ledger/command.ts';
import type { CommandKind } from '../ledger/command-kind.ts';
import type { JsonObject } from '../link/protocol.ts';
import { countNotice } from './store.ts';

const stateWords: Record<Exclude<CommandState, 'sent'>, string> = {
  unknown: 'Unknown',
  done: 'Completed',
  refused: 'Refused',
  never: 'Refused',
};

export function completionNotices(deps: OutboxDeps & { callbacks: { wake(): void } }): CommandKind {
  async function write(queries: Queries, command: Command): Promise<void> {
    if (command.callbackUri === null || command.state === 'sent') return;
    if (command.state === 'never' && command.noticeSequence === 0) return;
    const url = expandTemplate(command.callbackUri, {
      OID: command.id,
      State: stateWords[command.state],
      ReceiptID: receiptIdOf(command),
      DeviceID: command.deviceId,
    });
    await enqueueCallback(queries, deps, {
      merchantId: command.merchantId,
      subjectKind: 'operation',
      subjectId: command.id,
      sequence: await countNotice(queries, command.id),
      url,
    });
  }
  return {
    module: 'Fiscal',
    onState: { unknown: write, done: write, refused: write, never: write },
    afterState({ callbackUri }) {
      if (callbackUri !== null) deps.callbacks.wake();
    },
  };
}

/** The id of a receipt as people read it, to find the print by; one that the database could not keep and index is left in the report alone. */
export function receiptIdToFind(report: JsonObject): { receiptId: string | undefined } {
  const receiptId = receiptIdIn(report);
  return { receiptId: receiptId !== undefined && receiptId.length <= maxReceiptIdLength && isPlainText(receiptId) ? receiptId : undefined };
}

const maxReceiptIdLength = 128;

function receiptIdOf(command: Command): string | undefined {
  return command.report === null ? undefined : receiptIdIn(parseExactJson(command.report) as JsonObject);
}

function receiptIdIn({ receiptId }: JsonObject): string | undefined {
  if (isExactNumber(receiptId)) return receiptId.rawJSON;
  return typeof receiptId === 'string' || typeof receiptId === 'number' ? String(receiptId) : undefined;
}
