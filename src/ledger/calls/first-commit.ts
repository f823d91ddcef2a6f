// The first commit of a command: its row as `sent`, with its device's lock, its numbers and its Idempotency-Key. Nothing is sent before it.
// Undefined: another command was faster, and nothing was written. One statement decides (insert-batch.ts). It is shared with other calls,
// or runs in a transaction that first takes the locks of this call: an invoice's, the device's, those of the guard.

import { claimKey, isUsed, moveKey } from '../../access/idempotency.ts';
import type { Database, Queries } from '../../database/database.ts';
import type { Link } from '../../link/link.ts';
import { callerIsGone } from '../answers.ts';
import { claimContent } from '../claims.ts';
import { type Command, isUnclear } from '../command.ts';
import { lockDevice } from '../device-lock.ts';
import { type InsertedCommand, type InsertGroup, insertWithin, isTaken } from '../insert-batch.ts';
import { settleWithin } from '../settle-batch.ts';
import * as store from '../store.ts';
import type { CommandRequest } from './call.ts';
import { findEqual } from './content-store.ts';
import { otherRequestUnderKey } from './keyed-calls.ts';
import type { OutcomeDelivery } from './outcome-delivery.ts';

export interface FirstCommits {
  begin(request: CommandRequest, id: string): Promise<Command | undefined>;
  /** Settles a command that expired by a wrong clock and issues it again under a new id, in one transaction. */
  beginAgain(expired: Command, reason: string | undefined, request: CommandRequest, id: string): Promise<Command | undefined>;
}

class LostRace extends Error {}

interface Deps {
  database: Database;
  link: Link;
  instanceId: string;
  outcomeDelivery: Pick<OutcomeDelivery, 'statusOf'>;
  insertGroup: InsertGroup;
}

export function createFirstCommits({ database, link, instanceId, outcomeDelivery, insertGroup }: Deps): FirstCommits {
  function freshCommand(request: CommandRequest, id: string): InsertedCommand {
    const isOutcomeMissed = request.recipient?.hasLeft();
    const journalId = link.presence.journalOf(request.deviceId, request.journalId);
    return { ...request, id, instanceId, isOutcomeMissed, journalId };
  }

  async function transactionOrLost(work: (queries: Queries) => Promise<Command | undefined>): Promise<Command | undefined> {
    try {
      return await database.transaction(work);
    } catch (error) {
      if (error instanceof LostRace || isTaken(error)) return undefined;
      throw error;
    }
  }

  /** Called under the device's lock, where no equal command can begin: one may have begun and ended since the first search. */
  async function refuseIfRepeat(queries: Queries, { merchantId, deviceId, requestHash, idempotency }: CommandRequest): Promise<void> {
    if (requestHash === undefined || idempotency) return;
    const equal = await findEqual(queries, { merchantId, deviceId, requestHash });
    // What its caller has received of a disputed one is not its outcome any more.
    if (equal && (isUnclear(equal.command) || outcomeDelivery.statusOf(equal.command.id) !== 'received')) throw new LostRace();
  }

  function insertUnderLocks({ idempotency, ...fresh }: InsertedCommand, request: CommandRequest): Promise<Command | undefined> {
    const { merchantId, deviceId, hold, guard } = request;
    return transactionOrLost(async (queries) => {
      refuseIfGone(request);
      await hold?.(queries);
      await lockDevice(database.engine, queries, deviceId);
      await refuseIfRepeat(queries, request);
      await guard?.(queries);
      const command = await insertWithin(database.engine, queries, fresh);
      if (!command) return undefined;
      if (!idempotency) await claimContent(queries, command);
      await request.writeBeside?.(queries, command.id);
      if (!idempotency) return command;
      const claim = { merchantId, ...idempotency, subjectKind: 'command', subjectId: fresh.id } as const;
      const claimed = await claimKey(queries, claim);
      if (claimed.kind === 'other') throw otherRequestUnderKey();
      if (claimed.kind === 'same') {
        // Only a `never` command releases its key to the next attempt; any other was found before.
        const earlier = await store.findCommand(queries, claimed.subjectId);
        if (earlier?.state !== 'never') throw new LostRace();
        await moveKey(queries, merchantId, idempotency.key, claimed.subjectId, fresh.id);
      }
      return command;
    });
  }

  return {
    async begin(request, id) {
      const fresh = freshCommand(request, id);
      const { merchantId, idempotency, hold, guard, isFirstTry } = request;
      // A call with a key is not recognised by its content [D58].
      const canBatch = !hold && !guard && (idempotency !== undefined || request.requestHash === undefined);
      if (!canBatch) return insertUnderLocks(fresh, request);
      refuseIfGone(request);
      const command = await insertGroup.add(fresh);
      // A key in use or expired takes the locked path; a first try returns, so that the caller can look it up.
      if (command || !idempotency || isFirstTry) return command;
      if (await isUsed(database.queries, merchantId, idempotency.key)) return insertUnderLocks(fresh, request);
      // Perhaps only the key was taken, and its command has released it since.
      return insertGroup.add(fresh);
    },
    beginAgain: (expired, reason, request, id) =>
      transactionOrLost(async (queries) => {
        await request.hold?.(queries);
        const settlement = { state: 'never', by: 'answer', outcome: 'expired', report: undefined, reason, reissuedAs: id } as const;
        const settled = await settleWithin(database.engine, queries, { command: expired, settlement });
        // Another gateway settled it, or an abort was requested: it is not issued again.
        if (settled?.abortRequestedAtMs !== null) throw new LostRace();
        const { idempotency, ...again } = freshCommand(request, id);
        const fresh = { ...again, isOutcomeMissed: again.isOutcomeMissed || settled.outcomeMissedAtMs !== null };
        const command = await insertWithin(database.engine, queries, fresh);
        if (!command) throw new LostRace();
        await request.writeBeside?.(queries, id);
        if (idempotency) await moveKey(queries, request.merchantId, idempotency.key, expired.id, id);
        return command;
      }),
  };
}

/** Saves the row of a command that would not be sent [D117]; the check before the publish decides (in-flight.ts). */
function refuseIfGone({ recipient }: CommandRequest): void {
  if (recipient?.hasLeft()) throw callerIsGone();
}
