// Commands published to RabbitMQ and not confirmed yet. Each settles once: confirmed, returned because the device has no queue, or unclear
// because the connection broke or no confirmation arrived in time. An unclear command is never sent again.
import type { ConfirmChannel } from 'amqplib';
import type { Clock } from '../../../kernel/clock.ts';
import { ChannelDown, DeviceNotOnChannel, SendUnclear } from '../../channel.ts';
import { queueNames } from '../../protocol.ts';
import type { CommandMessage } from '../../wire-schemas.ts';

const confirmWithinMs = 3_000;

interface Unconfirmed {
  isReturned: boolean;
  settle(error?: Error): void;
}

export type Confirms = ReturnType<typeof createConfirms>;

/** `onAbsent`: the broker reports that this device has no queue. */
export function createConfirms(clock: Clock, onAbsent: (deviceId: string) => void) {
  const unconfirmed = new Map<string, Unconfirmed>();
  let nextMessageId = 0;

  /** Registers a message; `settled` settles with it. */
  function enter(messageId: string): { call: Unconfirmed; settled: Promise<void> } {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancel = clock.after(confirmWithinMs, () => call.settle(new SendUnclear('queue')));
    const call: Unconfirmed = {
      isReturned: false,
      settle(error) {
        cancel();
        unconfirmed.delete(messageId);
        if (error) reject(error);
        else resolve();
      },
    };
    unconfirmed.set(messageId, call);
    return { call, settled: promise };
  }

  return {
    /** As Channel.send; `outbox` must have been given to `watchReturns`. */
    publish(outbox: ConfirmChannel, deviceId: string, command: CommandMessage, expiresInMs: number): Promise<void> {
      nextMessageId += 1;
      const messageId = String(nextMessageId);
      const { call, settled } = enter(messageId);
      const options = {
        mandatory: true,
        persistent: false,
        expiration: String(Math.max(1, Math.ceil(expiresInMs))),
        messageId,
        contentType: 'application/json',
      };
      try {
        outbox.publish('', queueNames.commands(deviceId), Buffer.from(JSON.stringify(command)), options, (error) => {
          // The return of an unroutable message always arrives before its confirm.
          if (call.isReturned) {
            call.settle(new DeviceNotOnChannel('queue'));
            onAbsent(deviceId);
          } else call.settle(error ? new SendUnclear('queue', error) : undefined);
        });
      } catch {
        // On a closed channel amqplib throws before it writes anything.
        call.settle(new ChannelDown('queue'));
      }
      return settled;
    },

    /** Records messages that the broker returns. */
    watchReturns(outbox: ConfirmChannel): void {
      outbox.on('return', (message) => {
        const call = unconfirmed.get(String(message.properties.messageId));
        if (call) call.isReturned = true;
      });
    },

    /** The connection broke: unconfirmed messages settle as unclear. */
    leaveUnclear(): void {
      for (const call of [...unconfirmed.values()]) call.settle(new SendUnclear('queue'));
    },
  };
}
