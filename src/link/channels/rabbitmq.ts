// The queue channel over RabbitMQ. A command is transient, mandatory, confirmed and expires: it reaches the device's queue now or comes back.
// amqplib restores the connection, not its channels: they are made anew in `setup`. What was unconfirmed when a connection broke is unclear, never sent again.
import { type ChannelModel, type ConfirmChannel, type ConsumeMessage, connect, type RecoveringChannelModel } from 'amqplib';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';
import { reconnectDelayMs } from '../backoff.ts';
import { type Channel, ChannelDown, type ChannelListener, DeviceNotOnChannel, SendUnclear } from '../channel.ts';
import { isDeviceId, readAnswer, readPresence } from '../messages.ts';
import { queueNames } from '../protocol.ts';

export interface RabbitmqChannelOptions {
  /** amqp://user:password@host:port/vhost or amqps://... */
  url: string;
  gatewayId: string;
  clock: Clock;
  random: Random;
  logger: Logger;
}

const heartbeatS = 10;
const connectWithinMs = 10_000;
const confirmWithinMs = 3_000;
const closeWithinMs = 2_000;
/** The gateway's own inbox, bounded in case the gateway hangs. */
const maxInbox = { answers: 100_000, presences: 20_000 };

interface Unconfirmed {
  deviceId: string;
  isReturned: boolean;
  settle(error?: Error): void;
}

export function createRabbitmqChannel(options: RabbitmqChannelOptions): Channel {
  const { gatewayId, clock, random, logger } = options;
  const unconfirmed = new Map<string, Unconfirmed>();
  let listener: ChannelListener | undefined;
  let connection: RecoveringChannelModel | undefined;
  let publisher: ConfirmChannel | undefined;
  let isUp = false;
  let isBlocked = false;
  let nextMessageId = 0;

  async function setUp(model: ChannelModel): Promise<void> {
    // Until the recovery listens itself, an error without a listener would end the process.
    model.on('error', (error) => logger.warn({ err: error, channel: 'queue' }, 'the RabbitMQ connection has trouble'));
    // A channel that the broker closed cannot be used again; a fresh connection brings fresh channels.
    const startOver = () => void model.close().catch(() => {});
    const inbox = await model.createChannel();
    inbox.on('error', (error) => logger.warn({ err: error, channel: 'queue' }, 'the RabbitMQ inbox has trouble'));
    await inbox.assertExchange(queueNames.answersExchange, 'topic', { durable: true });
    // Answers and presence lie in queues of their own: a flood of presence can push out nothing but presence, the oldest first.
    for (const [key, longest] of [
      [queueNames.answerKey('*', gatewayId), maxInbox.answers],
      [queueNames.presenceKey('*'), maxInbox.presences],
    ] as const) {
      const { queue } = await inbox.assertQueue('', { exclusive: true, autoDelete: true, durable: false, maxLength: longest });
      await inbox.bindQueue(queue, queueNames.answersExchange, key);
      await inbox.consume(queue, (message) => (message === null ? startOver() : received(message)), { noAck: true });
    }
    const outbox = await model.createConfirmChannel();
    outbox.on('error', (error) => logger.warn({ err: error, channel: 'queue' }, 'the RabbitMQ outbox has trouble'));
    outbox.on('return', (message) => {
      const call = unconfirmed.get(String(message.properties.messageId));
      if (call) call.isReturned = true;
    });
    inbox.on('close', startOver);
    outbox.on('close', startOver);
    publisher = outbox;
  }

  function received(message: ConsumeMessage): void {
    if (listener === undefined) return;
    const [deviceId, address, ...more] = message.fields.routingKey.split('.');
    if (!isDeviceId(deviceId) || more.length > 0) return listener.dropped('queue', 'unknown-address');
    // RabbitMQ holds user-id to the login, so it is the one proof of who is talking.
    if (message.properties.userId !== deviceId) return listener.dropped('queue', 'unknown-sender', deviceId);
    const { content: bytes } = message;
    const read = () => {
      if (address === gatewayId) {
        const reading = readAnswer(bytes, deviceId);
        if (reading.message === undefined) listener?.dropped('queue', reading.problem, deviceId);
        else listener?.answer('queue', deviceId, reading.message);
      } else {
        const reading = readPresence(bytes, deviceId);
        if (reading.message === undefined) listener?.dropped('queue', reading.problem, deviceId);
        else listener?.presence('queue', deviceId, reading.message);
      }
    };
    listener.offer('queue', deviceId, { kind: address === gatewayId ? 'answer' : 'presence', bytes, read });
  }

  /** Up is: connected and not blocked. What a blocked broker is sent waits in the socket and would leave at some other time. */
  function changeState(change: () => void): void {
    const before = isUp && !isBlocked;
    change();
    const after = isUp && !isBlocked;
    if (before && !after) {
      for (const call of [...unconfirmed.values()]) call.settle(new SendUnclear('queue'));
      listener?.down('queue');
    }
    if (!before && after) listener?.up('queue');
  }

  async function open(): Promise<RecoveringChannelModel> {
    const url = new URL(options.url);
    if (!url.searchParams.has('heartbeat')) url.searchParams.set('heartbeat', String(heartbeatS));
    const opened = await connect(url.href, {
      noDelay: true,
      timeout: connectWithinMs,
      clientProperties: { connection_name: `tillgate-${gatewayId}` },
      recovery: { waitForConnect: false, setup: setUp, calculateDelay: (attempt) => reconnectDelayMs(attempt, random) },
    });
    opened.on('error', (error) => logger.warn({ err: error, channel: 'queue' }, 'the RabbitMQ connection has trouble'));
    opened.on('handler-error', (error) => logger.error({ err: error, channel: 'queue' }, 'a message from RabbitMQ could not be handled'));
    opened.on('connect', () =>
      changeState(() => {
        isUp = true;
        isBlocked = false;
      }),
    );
    opened.on('disconnect', () => {
      publisher = undefined;
      changeState(() => {
        isUp = false;
      });
    });
    opened.on('blocked', () =>
      changeState(() => {
        isBlocked = true;
      }),
    );
    opened.on('unblocked', () =>
      changeState(() => {
        isBlocked = false;
      }),
    );
    return opened;
  }

  return {
    name: 'queue',
    tellsAbsence: true,
    get isConnected() {
      return isUp && !isBlocked;
    },

    async start(given) {
      listener = given;
      const opened = await open();
      connection = opened;
      await new Promise<void>((resolve) => {
        opened.once('connect', () => resolve());
        opened.once('connect-failed', (error: Error) => {
          logger.warn({ err: error, channel: 'queue' }, 'RabbitMQ cannot be reached; the gateway keeps trying');
          resolve();
        });
      });
    },

    async stop() {
      listener = undefined;
      isUp = false;
      publisher = undefined;
      for (const call of [...unconfirmed.values()]) call.settle(new SendUnclear('queue'));
      const closing = connection;
      connection = undefined;
      if (closing === undefined) return;
      // A broker that hangs must not hold up the end of the gateway.
      await new Promise<void>((resolve) => {
        const cancel = clock.after(closeWithinMs, resolve);
        void closing
          .close()
          .catch(() => {})
          .finally(() => {
            cancel();
            resolve();
          });
      });
    },

    send(deviceId, command, expiresInMs) {
      const outbox = publisher;
      if (outbox === undefined || !isUp || isBlocked) return Promise.reject(new ChannelDown('queue'));
      return new Promise<void>((resolve, reject) => {
        nextMessageId += 1;
        const messageId = String(nextMessageId);
        const cancel = clock.after(confirmWithinMs, () => call.settle(new SendUnclear('queue')));
        const call: Unconfirmed = {
          deviceId,
          isReturned: false,
          settle(error) {
            cancel();
            unconfirmed.delete(messageId);
            if (error) reject(error);
            else resolve();
          },
        };
        unconfirmed.set(messageId, call);
        try {
          outbox.publish(
            '',
            queueNames.commands(deviceId),
            Buffer.from(JSON.stringify(command)),
            {
              mandatory: true,
              persistent: false,
              expiration: String(Math.max(1, Math.ceil(expiresInMs))),
              messageId,
              contentType: 'application/json',
            },
            (error) => {
              // The return of an unroutable message always comes before its confirm.
              if (call.isReturned) {
                call.settle(new DeviceNotOnChannel('queue'));
                listener?.gone('queue', deviceId);
              } else call.settle(error ? new SendUnclear('queue', error) : undefined);
            },
          );
        } catch {
          // amqplib refuses on a closed channel before it writes anything.
          call.settle(new ChannelDown('queue'));
        }
      });
    },
  };
}
