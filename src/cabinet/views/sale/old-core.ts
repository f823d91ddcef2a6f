// What the old core says about an operation: evaluated here from the columns, as its calls do. It goes with the old rooms.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { errorCodes, GatewayError } from '../../../kernel/error-codes.ts';
import { isoTime } from '../../../kernel/moments.ts';
import type { Bani } from '../../../kernel/money.ts';
import { operationOf } from '../../../kernel/operations.ts';
import { answerOf } from '../../../ledger/answers.ts';
import { isInReview, isOpen } from '../../../ledger/command.ts';
import {
  awaitsClose,
  committedRefundsOf,
  keepsMoney,
  mayBeRefunded,
  refundedBaniOf,
  standingOf,
  stateNames,
  wasDone,
} from '../../../ledger/standing.ts';
import { findStandingPayment } from '../../../ledger/standing-payment.ts';
import type { Scope } from '../scope.ts';
import { text } from '../texts.ts';
import type { CoreView } from './core-view.ts';
import { readCommands } from './sale-facts.ts';
import type { CoreSays, FoundSale, Refusals, StoryCommand } from './sale-model.ts';
import { decidableFromMs } from './sale-unclear.ts';

export const oldCore: CoreView = {
  async read(queries, found, nowMs) {
    return {
      ...oldCoreSays(found, nowMs),
      isUnconfirmed: await isUnconfirmed(queries, found.command),
      others: await othersDone(queries, { merchantId: found.command.merchantId }, found.command),
    };
  },
  hasPayment: async (queries, { merchantId, oid }) => (await findStandingPayment(queries, merchantId, oid)) !== undefined,
};

/** What needs no further rows. Pure. */
export function oldCoreSays(found: FoundSale, nowMs: number): CoreSays {
  const { command, followers } = found;
  return {
    standing: stateNames[standingOf(command, followers)],
    refundedBani: refundedBaniOf(followers),
    leftBani: leftBaniOf(found),
    isUnconfirmed: false,
    isStopped: command.abortRequestedAtMs !== null,
    others: [],
    isNumberEnded: false,
    answer: answerToCaller(found),
    refusals: refusalsOf(found, nowMs),
  };
}

async function isUnconfirmed(queries: Queries, { id, settledBy, state }: StoryCommand): Promise<boolean> {
  if (settledBy !== 'person' || state !== 'refused') return false;
  const decision = queries.selectFrom('decisions').select('command_id').where('command_id', '=', id).where('lost_at', 'is', null);
  return (await decision.executeTakeFirst()) !== undefined;
}

/** After a dispute two may be done. A payment that was voided or refunded is none. */
async function othersDone(queries: Queries, scope: Scope, command: StoryCommand): Promise<CoreSays['others']> {
  const { isPayment, prints } = operationOf(command.name);
  const [column, number] = isPayment ? ['document_nr', command.documentNr] : ['receipt_uid', prints ? command.receiptUid : null];
  if (number === null) return [];
  const isOther = sql<SqlBool>`c.merchant_id = ${scope.merchantId} and ${sql.ref(`c.${column}`)} = ${number} and c.id <> ${command.id}`;
  const others = (await readCommands(queries, scope, isOther)).filter(({ name }) => operationOf(name)[isPayment ? 'isPayment' : 'prints']);
  const done: { id: string; standing: CoreSays['standing'] }[] = [];
  for (const other of others.filter(isPayment ? keepsMoney : wasDone)) {
    const followers = await readCommands(queries, scope, sql<SqlBool>`c.target_id = ${other.id}`);
    if (refundedBaniOf(followers) === 0) done.push({ id: other.id, standing: stateNames[standingOf(other, followers)] });
  }
  return done;
}

/** Derived, because an answer is a function of the command: every caller gets the same one, at any time. */
function answerToCaller({ command, followers }: Pick<FoundSale, 'command' | 'followers'>): Record<string, unknown> {
  try {
    const { report, ...answer } = answerOf(command, { followers });
    return { errorCode: 0, errorMessage: '', ...answer, ...(report === undefined ? {} : { report: 'as above' }) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { errorCode: errorCodes[error.errorName].code, errorMessage: `${error.errorName}: ${error.message}`, ...error.fields };
  }
}

function refusalsOf(found: FoundSale, nowMs: number): Refusals {
  const reasons = {
    refund: whyNoRefund(found, leftBaniOf(found)),
    void: whyNoVoid(found),
    close: whyNotOpen(found),
    closeByHand: whyNotOpen(found),
    ask: whyNoAsk(found),
    decide: whyNoDecision(found, nowMs),
  };
  const from = { from: isoTime(decidableFromMs(found.command)) };
  const texts = Object.entries(reasons).flatMap(([action, key]) =>
    key === undefined ? [] : [[action, text(key, action === 'decide' ? from : undefined)]],
  );
  return Object.fromEntries(texts) as Refusals;
}

/** Refunds with an open or disputed outcome count as made. */
function leftBaniOf(sale: FoundSale): Bani {
  const { command, followers } = sale;
  if (!operationOf(command.name).isPayment || !keepsMoney(command)) return 0;
  return (command.amountBani ?? 0) - committedRefundsOf(followers);
}

function whyNoPayment({ command, followers }: FoundSale): string | undefined {
  const standing = standingOf(command, followers);
  if (standing === 'open' || standing === 'disputed') return 'whyNot.notKnown';
  if (command.removedAtMs !== null) return 'whyNot.removed';
  if (!wasDone(command)) return 'whyNot.notCharged';
  if (command.operationId === null || command.rrn === null) return 'whyNot.noNumbers';
  return keepsMoney(command) ? undefined : 'whyNot.voided';
}

function whyNoRefund(sale: FoundSale, leftBani: Bani): string | undefined {
  const why = whyNoPayment(sale);
  if (why !== undefined) return why;
  if (sale.command.bankDayClosedAtMs !== null) return 'whyNot.bankDayClosed';
  if (awaitsClose(sale.command)) return 'whyNot.documentOpen';
  return leftBani <= 0 ? 'whyNot.nothingLeft' : undefined;
}

function whyNoVoid(sale: FoundSale): string | undefined {
  const why = whyNoPayment(sale);
  if (why !== undefined) return why;
  return mayBeRefunded(sale.followers) ? 'whyNot.refunded' : undefined;
}

function whyNotOpen({ command, followers }: FoundSale): string | undefined {
  const standing = standingOf(command, followers);
  if (standing === 'open' || standing === 'disputed') return 'whyNot.notKnown';
  if (!wasDone(command)) return 'whyNot.notCharged';
  return awaitsClose(command) ? undefined : 'whyNot.closed';
}

function whyNoAsk({ command }: FoundSale): string | undefined {
  if (command.removedAtMs !== null) return 'whyNot.removed';
  return command.journalId === null && !isOpen(command) ? 'whyNot.noJournal' : undefined;
}

/** While the device may still act, its report takes precedence over a decision [D63]. */
function whyNoDecision({ command }: FoundSale, nowMs: number): string | undefined {
  if (!isOpen(command)) return isInReview(command) ? undefined : 'whyNot.settled';
  return nowMs < decidableFromMs(command) ? 'whyNot.running' : undefined;
}
