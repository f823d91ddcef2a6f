// What the ledger is asked for: who calls and how a repeat of the call is recognised, and what goes out if it repeats nothing.
import type { Queries } from '../../database/database.ts';
import type { Recipient } from '../../http/recipient.ts';
import type { ChannelName } from '../../link/channel.ts';
import type { Numbers } from '../claims.ts';
import type { Command } from '../command.ts';
import type { Beside } from '../device-lock.ts';
import type { NewCommand } from '../store.ts';

/** Who asks, and how a repeat of it is recognised: all that is looked at before the device [D60]. */
export interface CommandCall {
  merchantId: string;
  deviceId: string;
  idempotency?: { key: string; requestHash: string } | undefined;
  /** What was asked, for calls that are recognised by it when they bring no key [D58]. */
  requestHash?: string | undefined;
  /** The connection that waits for the answer; undefined: the caller is there for certain. */
  recipient?: Recipient | undefined;
  origin?: NewCommand['origin'];
  /**
   * The insert of a second one beside the command that this call repeats would be refused (by an index, or because its target's document must
   * be open): then that one is looked for only when it was [D103].
   */
  insertRejectsDuplicates?: boolean | undefined;
  /** The command that this request repeats; throws when it contradicts that one. */
  findEarlier?: ((queries: Queries) => Promise<Command | undefined>) | undefined;
}

/** What goes out for a call that repeats nothing. */
export interface CommandPlan
  extends Omit<NewCommand, 'id' | 'instanceId' | 'merchantId' | 'deviceId' | 'requestHash' | 'isOutcomeMissed' | 'origin'> {
  /** The journal as stored with the device; what the device itself says now wins. */
  journalId: string | undefined;
  /** The channel that is tried first. */
  preferredChannel: ChannelName;
  /** The numbers that it takes [D13, D31]. */
  claims?: Numbers | undefined;
  /** What may be on the device when it begins; absent: nothing [D14]. */
  beside?: Beside | undefined;
  /** Nothing was looked for. */
  isFirstTry?: boolean | undefined;
  /** Until when the device was asked about what operators settled as not done [D129]. */
  confirmedUntilMs?: number | undefined;
  /** Nothing was looked for, so the insert must see that its documentNr is no invoice's OID: a payment of one needs `hold` [D142]. */
  isOfNoInvoice?: boolean | undefined;
  /** Locks what it is about before anything of it is written, also when it is issued once more; throws to refuse. */
  hold?: ((queries: Queries) => Promise<void>) | undefined;
  /** Checks inside the insert's transaction, under its locks; throws to refuse. */
  guard?(queries: Queries): Promise<void>;
  /** Written in the transaction of the command's row, and again under its new id when it is issued once more. Only with a guard. */
  writeBeside?(queries: Queries, id: string): Promise<void>;
}

export interface CommandRequest extends CommandCall, CommandPlan {}
