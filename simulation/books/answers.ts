// Compares every answer with the commands [D59, D61]: 0 means that the operation of its OID was done; 1, 2, 30, 31, 40, 41 and 50 mean that
// this call's own command was not; and a caller whose command was answered 0, 3 or 50 has its OID.
import type { CallRecord } from '../erp/caller.ts';
import type { BookedCommand, Books } from './booked.ts';

/** Compares the till's request with the stored command: the gateway's own rows would agree with each other even after a loss. */
function differences({ asked }: CallRecord, command: BookedCommand): string[] {
  if (!asked) return [];
  const pairs: [string, string | number | null, string | number | null][] = [
    ['device', asked.deviceId ?? command.deviceId, command.deviceId],
    ['CallbackURI', asked.callbackUri ?? null, command.callbackUri],
    ['amount', asked.amountBani ?? null, command.amountBani],
    ['documentNr', asked.documentNr ?? null, command.documentNr],
    ['Receipt.Uid', asked.receiptUid ?? null, command.receiptUid],
  ];
  return pairs.filter(([, wanted, kept]) => wanted !== kept).map(([what, wanted, kept]) => `the ${what} ${kept} instead of ${wanted}`);
}

const meansNotDone: readonly (number | undefined)[] = [1, 2, 30, 31, 40, 41, 50];
const namesItsCommand: readonly (number | undefined)[] = [0, 3, 50];

export function checkAnswers({ shop, commands, erp }: Books): void {
  const byId = new Map(commands.map((command) => [command.id, command]));
  /** An operator had settled it as done, and its device had not denied that yet at the time of the call [D143]. */
  const isOfWrongDone = (call: CallRecord, { id, state }: BookedCommand) => {
    const [dispute] = shop.storage.peek(`select at from audit_log where action = 'disputed' and subject = ?`, [id]);
    return state === 'refused' && shop.earlyOperator.wasCalledDone(id) && call.atMs <= Number(dispute?.['at']);
  };
  for (const command of commands) {
    const call = command.request === null ? undefined : erp.calls.get(command.request);
    if (!call) continue;
    const name = `${call.name} (${call.id}) was answered ${call.code}`;
    for (const difference of differences(call, command)) shop.violated(`${name}, and its command ${command.id} has ${difference}`);
    // Resolved since as executed: the earlier answer was an operator's wrong decision [D143].
    const wasDisputed = command.disputedFrom !== null;
    if (command.state === 'done' && !wasDisputed && meansNotDone.includes(call.code))
      shop.violated(`${name}, and its own command ${command.id} was done`);
    const isLastIssue = command.reissuedAs === null;
    // A till that left one gateway for another has two calls in flight: the approval of one may replace the refusal of the other.
    const answered = byId.get(call.oid ?? '');
    const isOfLaterTry =
      answered?.name === command.name && answered.deviceId === command.deviceId && answered.issuedAtMs > command.issuedAtMs;
    if (
      isLastIssue &&
      !isOfLaterTry &&
      !isOfWrongDone(call, command) &&
      (command.state === 'refused' || command.state === 'never') &&
      call.code === 0
    )
      shop.violated(`${name}, and its own command ${command.id} is ${command.state}`);
    if (namesItsCommand.includes(call.code) && call.oid === undefined)
      shop.violated(`${name} without the OID of its command ${command.id}`);
  }
  for (const call of erp.calls.values()) {
    const { id, name, code, oid } = call;
    const named = oid === undefined ? undefined : byId.get(oid);
    // The 0 of an abort names the payment that was not made.
    if (code === 0 && named && named.state !== 'done' && !name.includes(' abort ') && !isOfWrongDone(call, named))
      shop.violated(`${name} (${id}) was answered 0, and ${named.name} ${named.id} is ${named.state}`);
  }
}
