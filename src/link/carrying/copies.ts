// The copies of one command on the channels: at most one per channel, all identical, and only to the journal of the command's row: behind
// a channel with another one is other hardware, and no copy is sent there [D304].
// No copy is sent after startBy: the deadline is checked in the same turn of the event loop in which the channel gets the copy [D65]. If the
// process stalls between the two, or the bytes wait in a socket, the copy still has the original startBy, which the device enforces.
import type { Clock } from '../../kernel/clock.ts';
import { type Channel, type ChannelName, isCertainlyNotSent } from '../channel.ts';
import type { PresenceBook } from '../presence.ts';
import type { CommandMessage } from '../wire-schemas.ts';
import { writeCommand } from './command.ts';
import { isStartOver, passedMs, startWithinMs } from './deadlines.ts';
import type { Delivery } from './delivery.ts';

/** `unclear`: it may or may not have been sent. */
export type CopyEnd = 'sent' | 'unclear' | 'not-sent';

interface Deps {
  clock: Clock;
  gatewayId: string;
  book: PresenceBook;
  /** In the order in which they are tried. */
  channels: readonly Channel[];
  /** Called once per copy. */
  onEnded(channel: ChannelName, end: CopyEnd, error?: unknown): void;
}

export class Copies {
  readonly #deps: Deps;
  readonly #delivery: Delivery;
  readonly #message: CommandMessage;
  readonly #states = new Map<ChannelName, CopyEnd | 'under-way'>();

  constructor(deps: Deps, delivery: Delivery) {
    const { id, name, args, deadlines } = delivery;
    this.#deps = deps;
    this.#delivery = delivery;
    this.#message = writeCommand({
      id,
      name,
      args,
      gatewayId: deps.gatewayId,
      nowMs: deadlines.issuedAtMs,
      clockOffsetMs: deadlines.clockOffsetMs,
      startInMs: startWithinMs,
      answerInMs: deadlines.answerWithinMs,
    });
  }

  stateOn(channel: ChannelName): CopyEnd | 'under-way' | undefined {
    return this.#states.get(channel);
  }

  get nothingSent(): boolean {
    return [...this.#states.values()].every((state) => state === 'not-sent');
  }

  /** Returns the reason if nothing is sent. */
  sendFirst(): string | undefined {
    const live = this.#deps.channels.filter((each) => this.#isLive(each));
    const channel = live.find((each) => this.#hasOurJournal(each));
    if (channel === undefined)
      return live.length === 0 ? 'The device is not live on any channel.' : 'Other hardware has connected under this DeviceID.';
    return this.#send(channel) ? undefined : 'The gateway was delayed until it was too late to send the command.';
  }

  /** True if a copy was sent on a channel without one. */
  sendOnOther(): boolean {
    const { book, channels } = this.#deps;
    const { deviceId, journalId } = this.#delivery;
    const isCertain = this.nothingSent;
    // A second copy while the first may still arrive: only the same journal ensures that the device executes one of them.
    if (!isCertain && (journalId === undefined || book.journalOf(deviceId, undefined) !== journalId)) return false;
    const other = channels.find((channel) => {
      if (this.#states.has(channel.name) || !channel.isConnected || !this.#hasOurJournal(channel)) return false;
      // While nothing was sent, a certain "not sent" is better than a copy on a channel where the device may be absent.
      return isCertain ? this.#isLive(channel) || channel.tellsAbsence : true;
    });
    return other !== undefined && this.#send(other);
  }

  /** The device has answered on this channel: stronger evidence than the broker's confirm, and possibly earlier. */
  hasArrived(channel: ChannelName): void {
    this.#end(channel, 'sent');
  }

  #isLive(channel: Channel): boolean {
    return channel.isConnected && this.#deps.book.isLive(this.#delivery.deviceId, channel.name);
  }

  #hasOurJournal({ name }: Channel): boolean {
    const { deviceId, journalId } = this.#delivery;
    return journalId === undefined || this.#deps.book.journalOn(deviceId, name, journalId) === journalId;
  }

  /** False, without sending, after startBy. */
  #send(channel: Channel): boolean {
    const { clock } = this.#deps;
    const { deviceId, deadlines } = this.#delivery;
    if (isStartOver(clock, deadlines)) return false;
    this.#states.set(channel.name, 'under-way');
    channel.send(deviceId, this.#message, startWithinMs - passedMs(clock, deadlines)).then(
      () => this.#end(channel.name, 'sent'),
      (error: unknown) => this.#end(channel.name, isCertainlyNotSent(error) ? 'not-sent' : 'unclear', error),
    );
    return true;
  }

  #end(channel: ChannelName, end: CopyEnd, error?: unknown): void {
    if (this.#states.get(channel) !== 'under-way') return;
    this.#states.set(channel, end);
    this.#deps.onEnded(channel, end, error);
  }
}
