// The first commit of a command: its row as `sent`, which is the device's lock too, with its Idempotency-Key in the same transaction.
// Nothing goes out before it. Undefined: another command was faster, and nothing was written.
//
// A CloseDoc is only for a document that is open, whichever way it takes: with a batch its statement judges; under its own locks, and once
// more after `expired`, the document is read after the row was written. Dead before the commit, nothing is there; after it, a row that was
// judged. A message that doubles or is late finds the row, the key or the document ended, and writes nothing.

import { claimKey, isUsed, moveKey } from '../../access/idempotency.ts';
import type { Database, Queries } from '../../database/database.ts';
import type { Link } from '../../link/link.ts';
import { callerIsGone } from '../answers.ts';
import type { Command } from '../command.ts';
import type { InsertedTogether, InsertGroup } from '../insert-batch.ts';
import * as store from '../store.ts';
import { decidedUnheard, isNumberDisputed } from '../tried-before.ts';
import type { CommandRequest } from './call.ts';
import { findDisputed, findUntold } from './content-store.ts';
import { otherRequestUnderKey } from './keyed-calls.ts';
import type { Reception } from './reception.ts';

export interface FirstCommits {
  begin(request: CommandRequest, id: string): Promise<Command | undefined>;
  /** Ends a command that expired by a wrong clock, and begins it once more under a new id, in one transaction. */
  beginAgain(expired: Command, reason: string | undefined, request: CommandRequest, id: string): Promise<Command | undefined>;
}

class LostRace extends Error {}

interface Deps {
  database: Database;
  link: Link;
  instanceId: string;
  reception: Pick<Reception, 'noteOn'>;
  insertGroup: InsertGroup;
}

export function createFirstCommits({ database, link, instanceId, reception, insertGroup }: Deps): FirstCommits {
  function freshCommand(request: CommandRequest, id: string): InsertedTogether {
    const isUnheard = request.recipient?.hasLeft();
    const journalId = link.presence.journalOf(request.deviceId, request.journalId);
    return { ...request, id, instanceId, isUnheard, journalId };
  }

  async function transactionOrLost(work: (queries: Queries) => Promise<Command | undefined>): Promise<Command | undefined> {
    try {
      return await database.transaction(work);
    } catch (error) {
      if (error instanceof LostRace) return undefined;
      throw error;
    }
  }

  /** An equal command may have begun and ended since it was looked for, and left its caller without the outcome. */
  async function refuseIfRepeat(queries: Queries, request: CommandRequest, exceptId?: string): Promise<void> {
    const { merchantId, deviceId, requestHash, idempotency } = request;
    if (requestHash === undefined || idempotency) return;
    if (await findDisputed(queries, { merchantId, deviceId, requestHash })) throw new LostRace();
    const untold = await findUntold(queries, { merchantId, deviceId, requestHash, exceptId });
    if (untold && reception.noteOn(untold.command.id) !== 'told') throw new LostRace();
  }

  /**
   * Read under the device's lock, that is, after the insert: one that was just being closed has made the insert wait, and no other command can
   * end it from here on. Without a lock of its own, which whoever holds the document and waits for the device would be locked out by.
   */
  async function refuseIfEnded(queries: Queries, { findsTarget, needsOpenTarget }: CommandRequest, { targetId }: Command): Promise<void> {
    if (!findsTarget && !needsOpenTarget) return;
    const target = targetId === null ? undefined : await store.findCommand(queries, targetId);
    if (target?.documentState !== 'open') throw new LostRace();
  }

  function insertUnderLocks(fresh: store.NewCommand, request: CommandRequest): Promise<Command | undefined> {
    const { merchantId, idempotency, hold, guard } = request;
    return transactionOrLost(async (queries) => {
      refuseIfGone(request);
      await hold?.(queries);
      await refuseIfRepeat(queries, request);
      await guard?.(queries);
      await refuseIfDisputed(queries, fresh);
      const command = await store.insertSent(queries, fresh);
      // Looked at once more under the device's lock: nothing equal can begin from here on, and what began since the first look is seen.
      if (command) await refuseIfRepeat(queries, request, command.id);
      if (command) await refuseIfEnded(queries, request, command);
      if (command) await refuseIfUnheard(queries, request);
      if (command) await request.writeBeside?.(queries, command.id);
      refuseIfGone(request);
      if (!command || !idempotency) return command;
      const claim = { merchantId, ...idempotency, subjectKind: 'command', subjectId: fresh.id } as const;
      const claimed = await claimKey(queries, claim);
      if (claimed.kind === 'other') throw otherRequestUnderKey();
      if (claimed.kind === 'same') {
        // Only a command that was never sent leaves its key to the next attempt; anything else was found before.
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
      // Whoever brings a key is not recognised by what he asks [D58].
      const goesAlong = !hold && !guard && (idempotency !== undefined || request.requestHash === undefined);
      if (!goesAlong) return insertUnderLocks(fresh, request);
      // `fresh` has what else the plan says about the insert.
      const command = await insertGroup.add(fresh);
      // A key that stands for something, or did a day ago, is judged by itself; but whoever has looked for nothing yet looks first.
      if (command || !idempotency || isFirstTry) return command;
      if (await isUsed(database.queries, merchantId, idempotency.key)) return insertUnderLocks(fresh, request);
      // Perhaps the key alone stood in the way, and what it stood for has let it go since.
      return insertGroup.add(fresh);
    },
    beginAgain: (expired, reason, request, id) =>
      transactionOrLost(async (queries) => {
        await request.hold?.(queries);
        const settlement = { state: 'never', by: 'answer', outcome: 'expired', report: undefined, reason, reissuedAs: id } as const;
        const settled = await store.settle(queries, expired, settlement);
        // Somebody else settled it, or it is to be aborted: then it is not to be tried again.
        if (settled?.abortRequestedAtMs !== null) throw new LostRace();
        const again = freshCommand(request, id);
        // The first insert may have found the target by itself.
        const targetId = settled.targetId ?? undefined;
        const fresh = await store.insertSent(queries, { ...again, targetId, isUnheard: again.isUnheard || settled.unheardAtMs !== null });
        if (!fresh) throw new LostRace();
        await refuseIfEnded(queries, request, fresh);
        await request.writeBeside?.(queries, id);
        if (request.idempotency) await moveKey(queries, request.merchantId, request.idempotency.key, expired.id, id);
        return fresh;
      }),
  };
}

/** Its number became disputed since it was looked for [D143]. */
async function refuseIfDisputed(queries: Queries, fresh: store.NewCommand): Promise<void> {
  if (await isNumberDisputed(queries, fresh)) throw new LostRace();
}

/** A person settled the same as not done since its device was asked, or while the insert waited for it [D129]. */
async function refuseIfUnheard(queries: Queries, request: CommandRequest): Promise<void> {
  if ((await decidedUnheard(queries, request, request.heardUntilMs)).length > 0) throw new LostRace();
}

/**
 * A request that nothing names, of a caller who is gone, is not begun: while it lay here (the process stood still) he may have repeated it
 * at another gateway, where it was done and he was told, so that nothing would show that this is the same [D117]. From here on the
 * device's lock and the time to begin keep it from being done twice.
 */
function refuseIfGone({ requestHash, idempotency, recipient }: CommandRequest): void {
  if (requestHash !== undefined && !idempotency && recipient?.hasLeft()) throw callerIsGone();
}
