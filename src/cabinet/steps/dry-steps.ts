// What the new core says about an operation, for its page: the steps of people as dry runs, each by the code that takes the step. So a step that
// is offered is accepted, and one that is not says why with the sentence of the refused call.
import { errorCodes, GatewayError } from '../../kernel/error-codes.ts';
import { operationOf } from '../../kernel/operations.ts';
import { isInReview, isOpen } from '../../ledger/command.ts';
import { mayHaveHappened } from '../../ledger/standing.ts';
import type { Answer } from '../../money/event.ts';
import type { Looked } from '../../money/looks.ts';
import type { DryRuns } from '../../money/rooms.ts';
import type { CoreView } from '../views/sale/core-view.ts';
import { refusalText } from '../views/sale/refusal-texts.ts';
import { hasStandingPayment } from '../views/sale/sale-facts.ts';
import type { Refusals, StoryCommand } from '../views/sale/sale-model.ts';
import { type Text, text } from '../views/texts.ts';
import { createReturns, type PersonalCall } from './money-steps.ts';

/** No caller can send this key. */
const key = '\u0001';
const caller: Omit<PersonalCall, 'commandId'> = {
  actor: '',
  origin: { caller: 'person ', request: '' },
  idempotency: { key, requestHash: '' },
};

export function createDryView(dryRuns: DryRuns): CoreView {
  const returns = createReturns({ ...dryRuns, note: () => Promise.resolve() });

  async function refusalsOf(command: StoryCommand, { op, leftBani, cannotAsk }: Looked): Promise<Refusals> {
    const { id: commandId, contradiction } = command;
    const call = { ...caller, commandId };
    const closesReview = isInReview(command) && !isOpen(command);
    const decision = {
      state: 'refused',
      reason: '-',
      actor: '',
      ...(closesReview ? { closesReview, contradiction: contradiction ?? undefined } : {}),
    } as const;
    const ofPayment = operationOf(command.name).isPayment && {
      refund: await refusalOf(() => returns.refund(call, Math.max(leftBani, 1))),
      void: await refusalOf(() => returns.void(call)),
      // A CloseDoc of a document that is closed is a repeat: nothing is left to do.
      close: (await refusalOf(() => returns.close(call))) ?? (op.document === 'open' ? undefined : text('whyNot.documentNotOpen')),
      closeByHand: await refusalOf(() => dryRuns.cards.closeDocumentByHand({ commandId, actor: '', reason: '-' })),
    };
    const whyNot = {
      ...ofPayment,
      ask: cannotAsk && refusalText(cannotAsk.sentence),
      decide: await refusalOf(() => dryRuns.ledger.decide(commandId, decision)),
    };
    return Object.fromEntries(Object.entries(whyNot).filter(([, why]) => why !== undefined));
  }

  /** The advice to try again is given only if that is accepted, at once or when the terminal is free. */
  async function isNumberEnded(command: StoryCommand): Promise<boolean> {
    const { merchantId, deviceId, documentNr, amountBani } = command;
    if (!operationOf(command.name).isPayment || documentNr === null || mayHaveHappened(command)) return false;
    try {
      await dryRuns.cards.pay({ merchantId, deviceId, documentNr, amountBani: amountBani ?? 0 });
      return false;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return error.errorName === 'The_status_cannot_be_applied';
    }
  }

  return {
    async read(_queries, { command }) {
      const looked = await dryRuns.look(command.merchantId, command.id);
      if (!looked) throw new Error(`The command ${command.id} has no row any more.`);
      const { op, others, leftBani, isStopped, answer } = looked;
      return {
        ...{ standing: op.standing, refundedBani: op.refundedBani, leftBani, isUnconfirmed: op.isUnconfirmed, isStopped },
        others: others.map(({ id, standing }) => ({ id, standing })),
        isNumberEnded: await isNumberEnded(command),
        answer: shown(answer),
        refusals: await refusalsOf(command, looked),
      };
    },
    hasPayment: (queries, { merchantId, oid }) => hasStandingPayment(queries, merchantId, oid),
    cannotCancel: ({ oid, merchantId }) => refusalOf(() => dryRuns.cancelInvoice({ oid, merchantId, actor: '', reason: '-' })),
  };
}

async function refusalOf(step: () => Promise<unknown>): Promise<Text | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.errorName === 'Error_Connection_Database') throw error;
    return refusalText(error.message);
  }
}

/** As the caller gets it; the page shows the report apart. */
function shown({ code, sentence, fields, report }: Answer): Record<string, unknown> {
  const given = report === undefined ? {} : { report: 'as above' };
  if (code === 'NoError') return { errorCode: 0, errorMessage: '', ...fields, ...given };
  return { errorCode: errorCodes[code].code, errorMessage: `${code}: ${sentence}`, ...fields, ...given };
}
