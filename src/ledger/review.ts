// The review list: what nothing else could settle, and a person's decision about it [D15]. It is never guessed.
import type { Database } from '../database/database.ts';
import type { Clock } from '../kernel/clock.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { baniToLei } from '../kernel/money.ts';
import { type Command, isOpen } from './command.ts';
import type { Settlements } from './settlement.ts';
import * as store from './store.ts';
import type { Timeline } from './timeline.ts';

export interface Decision {
  state: 'done' | 'refused';
  reason: string;
  actor: string;
  operationId?: string | undefined;
  rrn?: string | undefined;
}

export interface Review {
  /** Oldest first. */
  listReview(limit: number, merchantId?: string): Promise<Command[]>;
  /** A person settles an open command, or closes the review of a settled one. */
  decide(commandId: string, decision: Decision): Promise<Command>;
}

interface Deps {
  database: Database;
  clock: Clock;
  settlements: Settlements;
  timeline: Timeline;
  isInFlight(commandId: string): boolean;
}

export function createReview({ database, clock, settlements, timeline, isInFlight }: Deps): Review {
  const { queries } = database;

  /** The command is settled, and a contradiction put it on the list: the person has seen it. */
  async function closeReview(command: Command, { actor, reason }: Decision): Promise<Command> {
    if (command.reviewSinceMs === null || command.reviewedAtMs !== null) throw alreadySettled(command);
    await store.closeReview(queries, command.id);
    timeline.add({ commandId: command.id, atMs: clock.now(), step: 'review closed', detail: `${actor}: ${reason}` });
    return (await store.findCommand(queries, command.id)) ?? command;
  }

  return {
    listReview: (limit, merchantId) => store.listReview(queries, limit, merchantId),
    async decide(commandId, decision) {
      const command = await store.findCommand(queries, commandId);
      if (!command) throw new GatewayError('Record_not_exist', 'There is no such command.');
      if (!isOpen(command)) return closeReview(command, decision);
      // `sent` and its time not over: some instance is carrying it, and its answer is the better judge.
      if (isInFlight(commandId) || (command.state === 'sent' && clock.now() < command.answerByMs)) {
        throw new GatewayError('The_status_cannot_be_applied', 'The command is still running; wait for its answer.');
      }
      const { state, reason, operationId, rrn, actor } = decision;
      timeline.add({ commandId, atMs: clock.now(), step: 'decided', detail: `${actor}: ${state}, ${reason}` });
      const report = reportOfDecision(command, decision);
      const settled = await settlements.decide(command, { state, by: 'person', outcome: undefined, report, reason, operationId, rrn });
      if (!settled) throw alreadySettled((await store.findCommand(queries, commandId)) ?? command);
      return settled;
    },
  };
}

/** No device's word: what the person found, so that the caller can go on with CloseDoc. */
function reportOfDecision(command: Command, { state, operationId, rrn }: Decision): string | undefined {
  if (state !== 'done' || command.name !== 'Pay' || command.amountBani === null) return undefined;
  return JSON.stringify({ rrn, operationId, amount: baniToLei(command.amountBani), source: 'person' });
}

function alreadySettled(command: Command): GatewayError {
  return new GatewayError('The_status_cannot_be_applied', `The command is settled already: ${command.state} by ${command.settledBy}.`);
}
