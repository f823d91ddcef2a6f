// The command of an Idempotency-Key [D13]: same key and body, same command; other body, 22.

import { claimKey, findKey, moveKey, releaseKey } from '../../access/idempotency.ts';
import type { Database } from '../../database/database.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Command } from '../command.ts';
import { findCommand } from '../store.ts';

export interface KeyedCall {
  merchantId: string;
  idempotency?: { key: string; requestHash: string } | undefined;
}

export interface KeyedCalls {
  /** The command of the call's Idempotency-Key; throws 22 if the key belongs to another request. */
  findByKey(call: KeyedCall): Promise<Command | undefined>;
  /** Assigns the call's Idempotency-Key to this command, unless it belongs to another command that is not `never`. */
  keepKey(call: KeyedCall, commandId: string): Promise<void>;
  /** Only commands that were sent keep their key [D13]. If the release fails, the next attempt takes the key over. Never rejects. */
  dropKeyOfNever(call: KeyedCall, command: Command): Promise<void>;
}

export function createKeyedCalls({ database, logger }: { database: Database; logger: Logger }): KeyedCalls {
  return {
    async findByKey({ merchantId, idempotency }) {
      if (!idempotency) return undefined;
      const entry = await findKey(database.queries, merchantId, idempotency.key);
      if (entry && entry.requestHash !== idempotency.requestHash) throw otherRequestUnderKey();
      return entry && findCommand(database.queries, entry.subjectId);
    },
    async keepKey({ merchantId, idempotency }, commandId) {
      if (!idempotency) return;
      const claim = { merchantId, ...idempotency, subjectKind: 'command', subjectId: commandId } as const;
      const claimed = await claimKey(database.queries, claim);
      if (claimed.kind === 'other') throw otherRequestUnderKey();
      if (claimed.kind !== 'same') return;
      const holder = await findCommand(database.queries, claimed.subjectId);
      if (holder && holder.state !== 'never') return;
      await moveKey(database.queries, merchantId, idempotency.key, claimed.subjectId, commandId);
    },
    async dropKeyOfNever({ merchantId, idempotency }, { id: commandId, state }) {
      if (state !== 'never' || !idempotency) return;
      await releaseKey(database.queries, merchantId, idempotency.key, commandId).catch((error: unknown) =>
        logger.warn({ err: error, commandId }, 'the Idempotency-Key of a command that never began could not be released'),
      );
    },
  };
}

export function otherRequestUnderKey(): GatewayError {
  return new GatewayError('The_status_cannot_be_applied', 'The Idempotency-Key was used for a different request; use a new key.');
}
