// The interface between a device and one channel: it connects, passes commands in and sends answers.
// It does not queue: if a message cannot be sent now, the device decides what to do.

import { growingPauseMs, spreadPauseMs } from '../../kernel/backoff.ts';
import type { Cancel } from '../../kernel/clock.ts';
import type { World } from '../../kernel/world.ts';
import type { AnswerMessage, PresenceMessage } from '../../link/wire-schemas.ts';

export type DeviceChannel = 'mqtt' | 'queue';

export interface ConnectorListener {
  connected(): void;
  disconnected(): void;
  command(bytes: Uint8Array): void;
}

export interface Connector {
  readonly channel: DeviceChannel;
  readonly isConnected: boolean;
  /** Connects, and connects again whenever the connection is lost, until `stop` or `drop`. */
  start(listener: ConnectorListener): void;
  /** False: there was no live connection and nothing was sent. */
  sendAnswer(answer: AnswerMessage, replyTo: string): boolean;
  sendPresence(presence: PresenceMessage): boolean;
  /** Disconnects with an offline presence. */
  stop(): Promise<void>;
  /** Simulates a power cut: no offline presence. */
  drop(): void;
}

/** A live connection of one channel. */
export interface Wire {
  sendAnswer(answer: AnswerMessage, replyTo: string): void;
  sendPresence(presence: PresenceMessage): void;
  close(): Promise<void>;
  destroy(): void;
}

export interface WireListener {
  /** The established connection was lost; called once. */
  lost(): void;
  command(bytes: Uint8Array): void;
}

export interface ConnectorOptions extends World {
  url: string;
  deviceId: string;
  secret: string;
}

export interface ReconnectDeps extends Omit<ConnectorOptions, 'url' | 'secret'> {
  channel: DeviceChannel;
  /** One attempt, with its own time-out. */
  connect(listener: WireListener): Promise<Wire>;
  /** The pause after this error, instead of the growing one. */
  waitAfter?(error: unknown): number | undefined;
}

const waits = { firstMs: 250, maxMs: 15_000 };
const goodbyeMs = 2_000;

/** A connector that reconnects for ever, with a back-off of up to 15 s and jitter. */
export function createReconnecting(deps: ReconnectDeps): Connector {
  const { clock, random, logger, deviceId, channel } = deps;
  let wire: Wire | undefined;
  let cancelWait: Cancel = () => {};
  let failures = 0;
  // Incremented by every start and stop; events of an older generation are ignored.
  let life = 0;

  async function attempt(ownLife: number, listener: ConnectorListener): Promise<void> {
    let isLost = false;
    try {
      const connected = await deps.connect({
        command: (bytes) => {
          if (life === ownLife) listener.command(bytes);
        },
        lost: () => {
          isLost = true;
          if (life !== ownLife || !wire) return;
          wire = undefined;
          listener.disconnected();
          again(ownLife, listener, undefined);
        },
      });
      if (life !== ownLife) return connected.destroy();
      if (isLost) throw new Error('The connection was lost at once.');
      wire = connected;
      failures = 0;
      listener.connected();
    } catch (error) {
      if (life !== ownLife) return;
      logger.debug({ deviceId, channel, err: error }, 'the virtual device could not connect');
      again(ownLife, listener, error);
    }
  }

  function again(ownLife: number, listener: ConnectorListener, error: unknown): void {
    failures += 1;
    const waitMs = deps.waitAfter?.(error) ?? spreadPauseMs(growingPauseMs(failures, waits), random);
    cancelWait = clock.after(waitMs, () => void attempt(ownLife, listener));
  }

  function end(): Wire | undefined {
    life += 1;
    cancelWait();
    failures = 0;
    const old = wire;
    wire = undefined;
    return old;
  }

  function trySend(send: (live: Wire) => void): boolean {
    if (!wire) return false;
    try {
      send(wire);
      return true;
    } catch (error) {
      logger.debug({ deviceId, channel, err: error }, 'the virtual device could not send');
      return false;
    }
  }

  return {
    channel,
    get isConnected() {
      return wire !== undefined;
    },
    start(listener) {
      end()?.destroy();
      void attempt(life, listener);
    },
    sendAnswer: (answer, replyTo) => trySend((live) => live.sendAnswer(answer, replyTo)),
    sendPresence: (presence) => trySend((live) => live.sendPresence(presence)),
    stop: async () => {
      const old = end();
      if (!old) return;
      // A peer that does not answer the disconnect must not delay the stop.
      await new Promise<void>((resolve) => {
        const cancel = clock.after(goodbyeMs, () => {
          old.destroy();
          resolve();
        });
        const over = () => {
          cancel();
          resolve();
        };
        old.close().then(over, over);
      });
    },
    drop: () => {
      end()?.destroy();
    },
  };
}
