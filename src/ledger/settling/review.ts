// The review list: commands that only an operator can settle, and the operator's decision [D15]. The gateway never guesses.
// An operator may decide only when the device cannot execute the command any more; the settling statement checks this by the database's
// clock [D63]. A connected device is asked first: a register that has the bank's approval and waits for paper continues for as long as that
// takes, and a receipt that was settled as refused meanwhile would be charged and printed again.
// The caller's audit entry (actor and reason) is written in the same transaction.
import type { Database } from '../../database/database.ts';
import { GatewayError, invalidRequest } from '../../kernel/error-codes.ts';
import { operationOf } from '../../kernel/operations.ts';
import { type Command, isInReview, isOpen } from '../command.ts';
import type { CommandKinds } from '../command-kind.ts';
import * as reviews from '../review-store.ts';
import { personDecidesAfterMs } from '../settle-batch.ts';
import * as store from '../store.ts';
import type { Timeline } from '../timeline.ts';
import type { Recall } from './recall.ts';
import type { Settlements } from './settlement.ts';
import type { Alongside } from './state-change.ts';

export interface Decision {
  state: 'done' | 'refused';
  reason: string;
  actor: string;
  operationId?: string | undefined;
  rrn?: string | undefined;
  /** The operator has seen that the command is settled and contradicted: a stale page must not confirm what it does not show. */
  closesReview?: boolean | undefined;
  /** The contradiction that the operator has seen; a newer one is not confirmed. Undefined: not checked. */
  contradiction?: string | undefined;
}

export interface Review {
  /** Oldest first. */
  listReview(limit: number, merchantId?: string): Promise<Command[]>;
  /** An operator settles an open command, or closes the review of a settled one. */
  decide(commandId: string, decision: Decision, alongside?: Alongside): Promise<Command>;
}

interface Deps {
  database: Database;
  kinds: CommandKinds;
  settlements: Settlements;
  recall: Pick<Recall, 'whatNow'>;
  timeline: Timeline;
}

export function createReview({ database, kinds, settlements, recall, timeline }: Deps): Review {
  const { queries } = database;

  /** An operator resolves a dispute as executed or not executed [D143]. */
  async function resolve(command: Command, decision: Decision, alongside?: Alongside): Promise<Command> {
    const { state, reason, actor, operationId, rrn } = decision;
    requireReportedNumbers(command, decision);
    // The device's own report stays, and so do the numbers that an operator entered before.
    const known = { ...decision, operationId: operationId ?? command.operationId ?? undefined, rrn: rrn ?? command.rrn ?? undefined };
    const isReported = command.outcome === 'done' || (state === 'refused' && command.disputedFrom !== 'done');
    const report = isReported ? undefined : (reportOf(command, known) ?? null);
    const isPayment = operationOf(command.name).isPayment === true;
    const resolution = await settlements.resolve(command, { state, reason, operationId, rrn, report, isPayment }, alongside);
    if (!resolution) throw alreadySettled(await store.latestOf(queries, command));
    const { command: resolved, isDisplaced } = resolution;
    const remains = isDisplaced ? ' Another operation holds its number.' : '';
    timeline.add({ commandId: command.id, step: 'review closed', detail: `${actor}: ${state}, ${reason}${remains}` });
    return resolved;
  }

  function reportOf(command: Command, { state, operationId, rrn }: Decision): string | undefined {
    const report = state === 'done' ? kinds[command.name]?.reportOfDecision?.(command, { operationId, rrn }) : undefined;
    return report && JSON.stringify(report);
  }

  /** The settlement stays; the operator has seen what contradicts it. */
  async function closeReview(command: Command, { state, actor, reason }: Decision, alongside?: Alongside): Promise<Command> {
    const closed = await database.transaction(async (tx) => {
      const result = await reviews.closeReview(tx, command);
      if (result) await alongside?.(tx, result);
      return result;
    });
    if (!closed) throw alreadySettled(command);
    timeline.add({ commandId: command.id, step: 'review closed', detail: `${actor}: ${state}, ${reason}` });
    return closed;
  }

  /** Asks the device before a decision; its answer takes precedence. An early decision does not wait: the settling statement refuses it. */
  async function requireDeviceAsked(command: Command): Promise<void> {
    if (command.endedUnknownAtMs !== null || !(await store.mayBeDecided(queries, command))) return;
    const found = await recall.whatNow(command);
    if (found === 'running') throw stillRunning();
    const isNews = found && isOpen(found) && found.endedUnknownAtMs === null && found.reviewReason !== command.reviewReason;
    if (isNews) throw reportedSomethingNew(found);
  }

  return {
    listReview: (limit, merchantId) => reviews.listReview(queries, limit, merchantId),
    async decide(commandId, decision, alongside) {
      const command = await store.findCommand(queries, commandId);
      if (!command) throw new GatewayError('Record_not_exist', 'There is no such command.');
      if (!isOpen(command)) {
        const { closesReview, contradiction = command.contradiction } = decision;
        if (!closesReview || contradiction !== command.contradiction) throw alreadySettled(command);
        return command.state === 'disputed' ? resolve(command, decision, alongside) : closeReview(command, decision, alongside);
      }
      await requireDeviceAsked(command);
      const { state, reason, operationId, rrn, actor } = decision;
      const settlement = {
        state,
        by: 'person',
        outcome: undefined,
        report: reportOf(command, decision),
        reason,
        operationId,
        rrn,
      } as const;
      const settled = await settlements.decide(command, settlement, alongside);
      if (!settled) throw whyNot(await store.latestOf(queries, command));
      timeline.add({ commandId, step: 'decided', detail: `${actor}: ${state}, ${reason}` });
      return settled;
    },
  };
}

/** The device knows the bank's numbers; other ones would make a later refund or void find nothing, or another payment. */
function requireReportedNumbers(command: Command, decision: Decision): void {
  if (command.outcome !== 'done') return;
  for (const name of ['operationId', 'rrn'] as const) {
    const [reported, entered] = [command[name], decision[name]];
    if (reported === null || entered === undefined || entered === reported) continue;
    throw invalidRequest(`The device reported ${name} ${reported}; leave it out, or correct it.`);
  }
}

function stillRunning(): GatewayError {
  return new GatewayError(
    'The_status_cannot_be_applied',
    'The device says that it is still carrying the command out and will report the outcome. If it hangs, restart or disable it, then decide.',
  );
}

function reportedSomethingNew({ reviewReason }: Command): GatewayError {
  const sentence = `The device was asked first and reported something new: ${reviewReason} Check it, then decide.`;
  return new GatewayError('The_status_cannot_be_applied', sentence);
}

function whyNot(command: Command): GatewayError {
  if (!isOpen(command)) return alreadySettled(command);
  const fromMs = command.answerByMs + personDecidesAfterMs;
  return new GatewayError(
    'The_status_cannot_be_applied',
    `The device may still carry the command out and report the outcome. Otherwise you can decide it from ${new Date(fromMs).toISOString()} on.`,
  );
}

function alreadySettled(command: Command): GatewayError {
  const further = isInReview(command) ? ' The device has contradicted it since: check the command again, then close the review.' : '';
  const settled =
    command.state === 'disputed' ? 'The command is disputed.' : `The command is settled already: ${command.state} by ${command.settledBy}.`;
  return new GatewayError('The_status_cannot_be_applied', settled + further);
}
