// The interface of a channel to the devices. A gateway runs two: `mqtt` (external or embedded broker) and `queue` (RabbitMQ or built in).
// Invariant: nothing is stored for later. A send either reaches a live connection now or is rejected.
import type { DropDetail, DropReason } from './messages.ts';
import type { AnswerMessage, CommandMessage, PresenceMessage } from './wire-schemas.ts';

export const channelNames = ['mqtt', 'queue'] as const;
export type ChannelName = (typeof channelNames)[number];

export interface Channel {
  readonly name: ChannelName;
  /** True while it can send: connected, and subscribed to answers. */
  readonly isConnected: boolean;
  /** True if `send` rejects with DeviceNotOnChannel when the device is offline. An external MQTT broker cannot tell. */
  readonly tellsAbsence: boolean;
  /** Resolves when the channel works or is reconnecting; rejects only on errors that no retry can fix (a port in use). */
  start(listener: ChannelListener): Promise<void>;
  /** Closes everything; afterwards the listener is not called and no timer runs. */
  stop(): Promise<void>;
  /**
   * Resolves when the command was handed to a live connection (RabbitMQ: confirmed).
   * Rejects with ChannelDown or DeviceNotOnChannel (certainly not delivered, now or later) or SendUnclear (it may have been).
   */
  send(deviceId: string, command: CommandMessage, expiresInMs: number): Promise<void>;
  /** Ends the connection of a device that was disabled or got a new secret. */
  disconnectDevice?(deviceId: string): void;
}

/** An unparsed message. */
export interface OfferedMessage {
  kind: 'answer' | 'presence';
  bytes: Uint8Array;
  read(): void;
}

/** Events of a channel. The sender is always authenticated, by topic, AMQP user or socket, never by the payload. */
export interface ChannelListener {
  /** Called for every message; `read` parses it and makes one of the calls below, at once, later, or never. */
  offer(channel: ChannelName, deviceId: string, message: OfferedMessage): void;
  answer(channel: ChannelName, deviceId: string, answer: AnswerMessage): void;
  presence(channel: ChannelName, deviceId: string, presence: PresenceMessage): void;
  /** The device's connection to this channel ended: a will, a closed socket, a deleted queue. */
  gone(channel: ChannelName, deviceId: string): void;
  /** The gateway's own connection to the broker. */
  up(channel: ChannelName): void;
  down(channel: ChannelName): void;
  /** A message was ignored. `deviceId` is present if the sender is authenticated. */
  dropped(channel: ChannelName, reason: DropReason, deviceId?: string, detail?: DropDetail): void;
}

/** The gateway has no connection to the broker: nothing was sent. */
export class ChannelDown extends Error {
  constructor(channel: ChannelName) {
    super(`The gateway has no connection on the channel ${channel}.`);
    this.name = 'ChannelDown';
  }
}

/** The broker reports, or the open sockets show, that the device is not connected: nothing was sent. */
export class DeviceNotOnChannel extends Error {
  constructor(channel: ChannelName) {
    super(`The device is not connected on the channel ${channel}.`);
    this.name = 'DeviceNotOnChannel';
  }
}

/** The connection broke, or the broker did not confirm: the command may have reached the device. */
export class SendUnclear extends Error {
  constructor(channel: ChannelName, cause?: unknown) {
    super(`It is not known whether the command was sent on the channel ${channel}.`, cause === undefined ? undefined : { cause });
    this.name = 'SendUnclear';
  }
}

/** True for the two errors that guarantee that nothing was sent. */
export function isCertainlyNotSent(error: unknown): boolean {
  return error instanceof ChannelDown || error instanceof DeviceNotOnChannel;
}

/** The preferred channel first. */
export function inOrder(channels: readonly Channel[], preferred: ChannelName): Channel[] {
  return [...channels].sort((a, b) => Number(b.name === preferred) - Number(a.name === preferred));
}
