// Which command a call repeats, searched before any other check [D60]: by its Idempotency-Key, by its number (documentNr, Receipt.Uid), and
// by its content [D58].
//
// By content: while an equal command is disputed, 31, with a key or without. For calls without a key then the newest equal command, as long
// as its caller lacks the outcome.
//   the caller still waits for it ............ no repeat; the device is busy, 31
//   the caller was answered 3 or has left .... a repeat, also after the settlement
//   the answer is being sent ................. wait for the result; if it stays unknown, a repeat: better answered twice than charged twice
//   the caller has the outcome, or `never` ... a new attempt
import type { Database } from '../../database/database.ts';
import { type Clock, sleep } from '../../kernel/clock.ts';
import { operationOf } from '../../kernel/operations.ts';
import { equalIsDisputed } from '../answers.ts';
import { type Content, findByContent } from '../claims.ts';
import type { Command } from '../command.ts';
import type { CommandCall } from './call.ts';
import { findEqual } from './content-store.ts';
import type { KeyedCalls } from './keyed-calls.ts';
import type { OutcomeDelivery } from './outcome-delivery.ts';

/** An answer and the note about it are written within milliseconds; a caller that reads slowly takes longer. */
const pausesMs = [20, 40, 80, 160, 300, 400, 500, 500];

export interface Earlier {
  command: Command;
  /** `number`: a documentNr or a Receipt.Uid. */
  by: 'key' | 'number' | 'content';
}

export interface Repeats {
  find(call: CommandCall): Promise<Earlier | undefined>;
  /** Only by the names in the call: Idempotency-Key, documentNr or Receipt.Uid. */
  findNamed(call: CommandCall): Promise<Earlier | undefined>;
}

interface Deps {
  database: Database;
  clock: Clock;
  outcomeDelivery: Pick<OutcomeDelivery, 'statusOf'>;
  findByKey: KeyedCalls['findByKey'];
}

export function createRepeats({ database, clock, outcomeDelivery, findByKey }: Deps): Repeats {
  /**
   * A new key does not show that the request is a new one: after a refusal, an ERP tries again under another key. But every day is closed by
   * an equal request, and a second close moves no money [D250].
   */
  async function refuseBesideDispute(content: Content): Promise<undefined> {
    const equal = await findByContent(database.queries, content);
    if (equal?.state === 'disputed' && !operationOf(equal.name).closesDay) throw equalIsDisputed(equal);
  }

  async function findEqualRequest({ merchantId, deviceId, requestHash, idempotency }: CommandCall): Promise<Command | undefined> {
    if (requestHash === undefined) return undefined;
    if (idempotency) return refuseBesideDispute({ merchantId, deviceId, requestHash });
    for (const pauseMs of [...pausesMs, undefined]) {
      const equal = await findEqual(database.queries, { merchantId, deviceId, requestHash });
      if (!equal) return undefined;
      const { command, isInstanceLiving } = equal;
      if (command.state === 'disputed') throw equalIsDisputed(command);
      const note = outcomeDelivery.statusOf(command.id);
      if (note === 'received') return undefined;
      const isOutcomeMissed = note !== undefined || command.outcomeMissedAtMs !== null || command.state === 'unknown' || !isInstanceLiving;
      if (isOutcomeMissed || pauseMs === undefined) return command;
      if (command.state === 'sent') return undefined;
      await sleep(clock, pauseMs);
    }
    return undefined;
  }

  async function findNamed(call: CommandCall): Promise<Earlier | undefined> {
    const keyed = await findByKey(call);
    if (keyed && keyed.state !== 'never' && keyed.state !== 'refused') return { command: keyed, by: 'key' };
    // The command of its own key was not done: another call may have paid under its number since [D125].
    const command = await call.findEarlier?.(database.queries);
    if (command) return { command, by: 'number' };
    return keyed?.state === 'refused' ? { command: keyed, by: 'key' } : undefined;
  }

  return {
    findNamed,
    async find(call) {
      const named = await findNamed(call);
      if (named) return named;
      const command = await findEqualRequest(call);
      return command && { command, by: 'content' };
    },
  };
}
