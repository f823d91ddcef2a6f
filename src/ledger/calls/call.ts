// The input of the ledger: the call, with everything that identifies a repeat of it, and the plan of the command if the call repeats
// nothing.
import type { Queries } from '../../database/database.ts';
import type { Recipient } from '../../http/recipient.ts';
import type { ChannelName } from '../../link/channel.ts';
import type { Numbers } from '../claims.ts';
import type { Command } from '../command.ts';
import type { Beside } from '../device-lock.ts';
import type { NewCommand } from '../store.ts';

/** The caller, and everything that identifies a repeat: all that is checked before the device [D60]. */
export interface CommandCall {
  merchantId: string;
  deviceId: string;
  idempotency?: { key: string; requestHash: string } | undefined;
  /** Hash of the request, for calls that are recognised by content if they have no key [D58]. */
  requestHash?: string | undefined;
  /** The connection that waits for the answer; undefined: the caller cannot disconnect. */
  recipient?: Recipient | undefined;
  origin?: NewCommand['origin'];
  /**
   * The insert rejects a second command beside the one that this call repeats (by an index, or because the target's document must be open):
   * so the earlier command is looked up only after a rejected insert [D103].
   */
  insertRejectsDuplicates?: boolean | undefined;
  /** The command that this request repeats; throws if the request contradicts it. */
  findEarlier?: ((queries: Queries) => Promise<Command | undefined>) | undefined;
}

/** The command of a call that repeats nothing. */
export interface CommandPlan
  extends Omit<NewCommand, 'id' | 'instanceId' | 'merchantId' | 'deviceId' | 'requestHash' | 'isOutcomeMissed' | 'origin'> {
  /** The journal as stored with the device; the one that the device reports now takes precedence. */
  journalId: string | undefined;
  /** Tried first. */
  preferredChannel: ChannelName;
  /** The numbers that it claims [D13, D31]. */
  claims?: Numbers | undefined;
  /** The open document that the device may have when the command begins; absent: none [D14]. */
  beside?: Beside | undefined;
  /** The short path: no earlier command was looked up. */
  isFirstTry?: boolean | undefined;
  /** Payments on the receipt that it prints [D146]: the device must confirm that it has not printed them before [D129]. */
  printedPayments?: readonly string[] | undefined;
  /** The device was asked about all decisions of operators up to this time [D129]. */
  confirmedUntilMs?: number | undefined;
  /** No lookup was made, so the insert checks that its documentNr is no invoice's OID: the payment of an invoice needs `hold` [D142]. */
  isOfNoInvoice?: boolean | undefined;
  /** Locks the rows that the command concerns before anything is written, also when it is issued again; throws to refuse. */
  hold?: ((queries: Queries) => Promise<void>) | undefined;
  /** Checks inside the insert's transaction, under its locks; throws to refuse. */
  guard?(queries: Queries): Promise<void>;
  /** Writes further rows in the insert's transaction, and again under the new id if the command is issued again. Only with a guard. */
  writeBeside?(queries: Queries, id: string): Promise<void>;
}

export interface CommandRequest extends CommandCall, CommandPlan {}
