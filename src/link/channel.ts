// The port to one way of reaching devices. Two are running in a gateway: `mqtt` (outside broker or embedded) and `queue` (RabbitMQ or built in).
// What always holds: nothing is stored for later. A send either reaches a live connection now or is rejected.
import type { DropDetail, DropReason } from './messages.ts';
import type { AnswerMessage, CommandMessage, PresenceMessage } from './wire-schemas.ts';

export const channelNames = ['mqtt', 'queue'] as const;
export type ChannelName = (typeof channelNames)[number];

export interface Channel {
  readonly name: ChannelName;
  /** True while a send has a chance: connected, and subscribed to answers. */
  readonly isConnected: boolean;
  /** True if `send` rejects with DeviceNotOnChannel when the device is away. An outside MQTT broker cannot tell. */
  readonly tellsAbsence: boolean;
  /** Resolves when the channel works or has begun to reconnect by itself; rejects only on what no retry can mend (a taken port). */
  start(listener: ChannelListener): Promise<void>;
  /** Closes everything; afterwards the listener is never called again and no timer is left. */
  stop(): Promise<void>;
  /**
   * Resolves when the command was handed to a live connection (RabbitMQ: confirmed).
   * Rejects with ChannelDown or DeviceNotOnChannel (certainly not delivered, now or later) or SendUnclear (it may have been).
   */
  send(deviceId: string, command: CommandMessage, expiresInMs: number): Promise<void>;
  /** Ends the device's connection, for one that was disabled or got a new secret. */
  disconnectDevice?(deviceId: string): void;
}

/** An unparsed message. */
export interface OfferedMessage {
  kind: 'answer' | 'presence';
  bytes: Uint8Array;
  read(): void;
}

/** What a channel tells. Every call is made only after the sender was established: by topic, AMQP user or socket, never by the payload. */
export interface ChannelListener {
  /** Every message comes in by this; `read` parses it and makes one of the calls below, at once, somewhat later, or never. */
  offer(channel: ChannelName, deviceId: string, message: OfferedMessage): void;
  answer(channel: ChannelName, deviceId: string, answer: AnswerMessage): void;
  presence(channel: ChannelName, deviceId: string, presence: PresenceMessage): void;
  /** The device's own connection to this channel ended: a will, a closed socket, a queue that went away. */
  gone(channel: ChannelName, deviceId: string): void;
  /** The gateway's own connection to the broker. */
  up(channel: ChannelName): void;
  down(channel: ChannelName): void;
  /** A message was ignored, and why. `deviceId` where the sender is established. */
  dropped(channel: ChannelName, reason: DropReason, deviceId?: string, detail?: DropDetail): void;
}

/** The gateway has no connection to the broker: nothing went out. */
export class ChannelDown extends Error {
  constructor(channel: ChannelName) {
    super(`The gateway has no connection on the channel ${channel}.`);
    this.name = 'ChannelDown';
  }
}

/** The broker, or the open sockets, say that no device listens: nothing was sent. */
export class DeviceNotOnChannel extends Error {
  constructor(channel: ChannelName) {
    super(`The device is not connected on the channel ${channel}.`);
    this.name = 'DeviceNotOnChannel';
  }
}

/** The connection broke, or the broker did not confirm: the command may have reached the device. */
export class SendUnclear extends Error {
  constructor(channel: ChannelName, cause?: unknown) {
    super(`It is not known whether the command left on the channel ${channel}.`, cause === undefined ? undefined : { cause });
    this.name = 'SendUnclear';
  }
}

/** True for the two rejections that promise that nothing went out. */
export function isCertainlyNotSent(error: unknown): boolean {
  return error instanceof ChannelDown || error instanceof DeviceNotOnChannel;
}

/** The preferred channel first. */
export function inOrder(channels: readonly Channel[], preferred: ChannelName): Channel[] {
  return [...channels].sort((a, b) => Number(b.name === preferred) - Number(a.name === preferred));
}
