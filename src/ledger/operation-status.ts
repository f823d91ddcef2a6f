// Device/Operation/Status [D64]: the answer about an operation, without starting anything. If the outcome is unknown, the device may be
// asked once more (Recall, which starts nothing either).

import { findKey } from '../access/idempotency.ts';
import type { Database, Queries } from '../database/database.ts';
import type { Recipient } from '../http/recipient.ts';
import type { Module } from '../kernel/callers.ts';
import { GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import { answerOf, type DeviceAnswer } from './answers.ts';
import { findClaimant } from './claims.ts';
import { type Command, commandColumns, paymentsOnly, toCommand } from './command.ts';
import type { Ledger } from './ledger.ts';
import { mayHaveHappened } from './standing.ts';
import { findCommand, followersOf, lastIssueOf } from './store.ts';

/** Exactly one is given. */
export interface OperationNames {
  oid?: string | undefined;
  documentNr?: string | undefined;
  receiptUid?: string | undefined;
  idempotencyKey?: string | undefined;
}

export interface StatusRequest extends OperationNames {
  merchantId: string;
  modules: ReadonlySet<Module>;
  recipient?: Recipient | undefined;
}

const unknownName = 'No operation of this merchant is known by that name; nothing was begun under it.';
/** Keys expire, so the absence of one proves nothing about an old call. */
const unknownKey =
  'No operation of this merchant is known by that Idempotency-Key. A key expires 24 hours after its operation has ended, so this proves nothing about an older call: ask by its OID, documentNr or ReceiptUid.';

/** The new core answers it by itself [D300]. */
export type AskStatus = (request: StatusRequest) => Promise<DeviceAnswer>;

interface StatusDeps {
  database: Database;
  ledger: Pick<Ledger, 'findHolder' | 'lookAgain' | 'moduleOf' | 'outcomeDelivery'> & { status?: AskStatus };
}

export async function operationStatus({ database, ledger }: StatusDeps, request: StatusRequest): Promise<DeviceAnswer> {
  if (ledger.status) return ledger.status(request);
  const found = await findOperation(database.queries, request);
  if (found?.merchantId !== request.merchantId) {
    throw new GatewayError('Record_not_exist', request.idempotencyKey === undefined ? unknownName : unknownKey);
  }
  const module = ledger.moduleOf(found);
  if (!request.modules.has(module)) throw new GatewayError('API_Key_Wrong_Product', `APIKey does not open the module ${module}.`);
  // A repeat under the key of a try that was not done gets the outcome of the command that has its number now [D125].
  const holder = request.idempotencyKey === undefined || mayHaveHappened(found) ? undefined : await ledger.findHolder(found);
  const command = await ledger.lookAgain(await lastIssueOf(database.queries, holder ?? found));
  ledger.outcomeDelivery.sent(command, request.recipient);
  const followers = await followersOf(database.queries, command);
  return answerOf(command, { followers, further: { Operation: command.name } });
}

function findOperation(queries: Queries, { merchantId, ...names }: OperationNames & { merchantId: string }): Promise<Command | undefined> {
  const { oid, documentNr, receiptUid, idempotencyKey } = names;
  const given = [oid, documentNr, receiptUid, idempotencyKey].filter((name) => name !== undefined);
  if (given.length !== 1) throw invalidRequest('Exactly one of OID, documentNr, ReceiptUid and IdempotencyKey must be given.');
  if (oid !== undefined) return findCommand(queries, oid);
  if (documentNr !== undefined) return newestUnder(queries, merchantId, 'document_nr', documentNr);
  if (receiptUid !== undefined) return newestUnder(queries, merchantId, 'receipt_uid', receiptUid);
  return findByKey(queries, merchantId, idempotencyKey ?? '');
}

async function findByKey(queries: Queries, merchantId: string, key: string): Promise<Command | undefined> {
  const entry = await findKey(queries, merchantId, key);
  return entry?.subjectKind === 'command' ? findCommand(queries, entry.subjectId) : undefined;
}

/** The command that has the number, a register's card charge included [D146]; otherwise the newest attempt. */
export async function newestUnder(
  queries: Queries,
  merchantId: string,
  column: 'document_nr' | 'receipt_uid',
  name: string,
): Promise<Command | undefined> {
  const holder = await findClaimant(queries, merchantId, column === 'document_nr' ? 'document' : 'receipt', name);
  if (holder) return holder;
  const ofName = queries.selectFrom('commands').select(commandColumns).where('merchant_id', '=', merchantId).where(column, '=', name);
  const named = column === 'document_nr' ? ofName.where(paymentsOnly) : ofName;
  const newest = await named.orderBy('issued_at', 'desc').limit(1).executeTakeFirst();
  return newest && toCommand(newest);
}
