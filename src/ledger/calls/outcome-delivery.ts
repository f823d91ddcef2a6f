// Whether a caller has received the outcome of a command that is recognised by its content [D58]. A note is effective on this gateway at
// once and is written in the background, many in one statement, so that no answer waits for it.
//
// If the process dies before a note is written, the outcome counts as not received: a repeat gets the stored outcome and runs nothing.
// If the database is down, notes are kept and written again later; above `maxWaiting` the oldest are dropped.
import type { Database } from '../../database/database.ts';
import { personPrefix } from '../../http/origin.ts';
import type { Recipient } from '../../http/recipient.ts';
import { growingPauseMs } from '../../kernel/backoff.ts';
import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { type Command, isUnclear } from '../command.ts';
import { writeMissed, writeReceived } from './content-store.ts';

/** `received`: a caller has the outcome. `answered 3` and `left` (disconnected): its caller lacks it. */
type Note = 'received' | 'answered 3' | 'left';

const maxWaiting = 10_000;
const pauses = { firstMs: 500, maxMs: 30_000 };

export interface OutcomeDelivery {
  /** The note of this gateway that is not written yet. */
  statusOf(commandId: string): Note | undefined;
  /** The call that began or joined the command is answered. Without a recipient, the answer counts as received. */
  answered(command: Command, recipient: Recipient | undefined): void;
  /** A status query is answered with the command's standing; if the command is still open, nothing is noted. */
  sent(command: Command, recipient: Recipient | undefined): void;
  /** The caller that waits for the command has disconnected. */
  callerLeft(command: Command): void;
  /** A later call shows that its caller knows the outcome; a step of a person shows nothing about the till [D309]. */
  inferred(command: Command, caller?: string): void;
  /** Writes the waiting notes. */
  stop(): Promise<void>;
}

export function createOutcomeDelivery({ database, clock, logger }: { database: Database; clock: Clock; logger: Logger }): OutcomeDelivery {
  const waiting = new BoundedMap<string, Note>(maxWaiting);
  let writing: Promise<void> | undefined;
  let failures = 0;
  let cancelRetry: Cancel | undefined;

  function add({ id, requestHash, outcomeReceivedAtMs }: Command, note: Note): void {
    if (requestHash === null || outcomeReceivedAtMs !== null || waiting.get(id) === 'received') return;
    waiting.delete(id);
    waiting.set(id, note);
    if (!cancelRetry) writing ??= write();
  }

  async function write(): Promise<void> {
    try {
      while (waiting.size > 0) {
        const batch = [...waiting];
        const idsOf = (note: Note) => batch.flatMap(([id, noted]) => (noted === note ? [id] : []));
        await writeReceived(database.queries, idsOf('received'));
        await writeMissed(database.queries, idsOf('answered 3'), 'answered 3');
        await writeMissed(database.queries, idsOf('left'), 'left');
        for (const [id, note] of batch) if (waiting.get(id) === note) waiting.delete(id);
      }
      failures = 0;
    } catch (error) {
      logger.warn({ err: error, waiting: waiting.size }, 'notes about received outcomes could not be written; the write will be retried');
      failures += 1;
      cancelRetry = clock.after(growingPauseMs(failures, pauses), () => {
        cancelRetry = undefined;
        writing ??= write();
      });
    } finally {
      writing = undefined;
    }
  }

  function sent(command: Command, recipient: Recipient | undefined): void {
    if (command.requestHash === null || isUnclear(command)) return;
    if (!recipient) add(command, 'received');
    else void recipient.received.then((isReceived) => add(command, isReceived ? 'received' : 'left'));
  }

  return {
    statusOf: (commandId) => waiting.get(commandId),
    answered(command, recipient) {
      if (isUnclear(command)) add(command, 'answered 3');
      else sent(command, recipient);
    },
    sent,
    callerLeft: (command) => add(command, 'left'),
    inferred(command, caller) {
      if (!caller?.startsWith(personPrefix)) add(command, 'received');
    },
    async stop() {
      cancelRetry?.();
      await (writing ?? write());
    },
  };
}
