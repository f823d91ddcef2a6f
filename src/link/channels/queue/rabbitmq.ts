// The queue channel over RabbitMQ. A command is transient, mandatory, confirmed and expires: it reaches the device's queue now or is returned.
// amqplib restores the connection, not its channels: `#setUp` opens them again. A command that was unconfirmed when the connection broke is
// unclear and never sent again.
import type { ChannelModel, ConfirmChannel, connect, RecoveringChannelModel } from 'amqplib';
import { type Channel, ChannelDown, type ChannelListener } from '../../channel.ts';
import type { CommandMessage } from '../../wire-schemas.ts';
import type { BrokerOptions } from '../broker-options.ts';
import { reconnectPauseMs } from '../reconnect-pause.ts';
import { createTroubleLog, type TroubleLog } from '../trouble-log.ts';
import { type Confirms, createConfirms } from './confirms.ts';
import { deliverQueueMessage, openInbox } from './rabbitmq-inbox.ts';

type Options = BrokerOptions<typeof connect>;

const heartbeatS = 10;
const connectWithinMs = 10_000;
const closeWithinMs = 2_000;

export class RabbitmqChannel implements Channel {
  readonly name = 'queue';
  readonly tellsAbsence = true;
  readonly #options: Options;
  readonly #confirms: Confirms;
  readonly #troubles: TroubleLog;
  #listener: ChannelListener | undefined;
  #connection: RecoveringChannelModel | undefined;
  #outbox: ConfirmChannel | undefined;
  #isUp = false;
  #isBlocked = false;

  constructor(options: Options) {
    this.#options = options;
    this.#troubles = createTroubleLog(options, 'queue');
    this.#confirms = createConfirms(options.clock, (deviceId) => this.#listener?.gone('queue', deviceId));
  }

  /** False while the broker blocks publishing: a command would wait in the socket and be sent late. */
  get isConnected(): boolean {
    return this.#isUp && !this.#isBlocked;
  }

  async start(listener: ChannelListener): Promise<void> {
    this.#listener = listener;
    const connection = await this.#open();
    this.#connection = connection;
    await new Promise<void>((resolve) => {
      connection.once('connect', () => resolve());
      connection.once('connect-failed', () => resolve());
    });
  }

  async stop(): Promise<void> {
    this.#listener = undefined;
    this.#isUp = false;
    this.#outbox = undefined;
    this.#confirms.leaveUnclear();
    const closing = this.#connection;
    this.#connection = undefined;
    if (closing === undefined) return;
    // A broker that hangs must not delay the stop of the gateway.
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(closeWithinMs, resolve);
      void closing
        .close()
        .catch(() => {})
        .finally(() => {
          cancel();
          resolve();
        });
    });
  }

  send(deviceId: string, command: CommandMessage, expiresInMs: number): Promise<void> {
    if (this.#outbox === undefined || !this.isConnected) return Promise.reject(new ChannelDown('queue'));
    return this.#confirms.publish(this.#outbox, deviceId, command, expiresInMs);
  }

  async #open(): Promise<RecoveringChannelModel> {
    const { gatewayId, random, logger, library = () => import('amqplib') } = this.#options;
    const url = new URL(this.#options.url);
    if (!url.searchParams.has('heartbeat')) url.searchParams.set('heartbeat', String(heartbeatS));
    // Loaded on demand: a gateway without RabbitMQ does not need it.
    const { connect: open } = await library();
    const connection = await open(url.href, {
      noDelay: true,
      timeout: connectWithinMs,
      clientProperties: { connection_name: `tillgate-${gatewayId}` },
      recovery: {
        waitForConnect: false,
        setup: (model: ChannelModel) => this.#setUp(model),
        calculateDelay: (attempt) => reconnectPauseMs(attempt, random),
      },
    });
    connection.on('connect-failed', (error) => this.#troubles.note(error, 'RabbitMQ cannot be reached; the gateway keeps trying'));
    connection.on('error', (error) => this.#troubles.note(error, 'the RabbitMQ connection failed'));
    connection.on('handler-error', (error) =>
      logger.error({ err: error, channel: 'queue' }, 'a message from RabbitMQ could not be handled'),
    );
    connection.on('connect', () => this.#change({ isUp: true, isBlocked: false }));
    connection.on('disconnect', () => {
      this.#outbox = undefined;
      this.#change({ isUp: false });
    });
    connection.on('blocked', () => this.#change({ isBlocked: true }));
    connection.on('unblocked', () => this.#change({ isBlocked: false }));
    return connection;
  }

  async #setUp(model: ChannelModel): Promise<void> {
    // Until the recovery adds its listener, an error event without one would end the process.
    model.on('error', (error) => this.#troubles.note(error, 'the RabbitMQ connection failed'));
    // A channel that the broker closed cannot be reused, so the connection is opened again with new channels.
    const startOver = () => void model.close().catch(() => {});
    const { gatewayId } = this.#options;
    const inbox = await openInbox(model, {
      gatewayId,
      onError: (error) => this.#troubles.note(error, 'the RabbitMQ inbox failed'),
      onMessage: (message) => {
        if (this.#listener) deliverQueueMessage(this.#listener, gatewayId, message);
      },
      onCancelled: startOver,
    });
    const outbox = await model.createConfirmChannel();
    outbox.on('error', (error) => this.#troubles.note(error, 'the RabbitMQ outbox failed'));
    this.#confirms.watchReturns(outbox);
    inbox.on('close', startOver);
    outbox.on('close', startOver);
    this.#outbox = outbox;
  }

  #change({ isUp = this.#isUp, isBlocked = this.#isBlocked }: { isUp?: boolean; isBlocked?: boolean }): void {
    const wasConnected = this.isConnected;
    this.#isUp = isUp;
    this.#isBlocked = isBlocked;
    if (wasConnected && !this.isConnected) {
      this.#confirms.leaveUnclear();
      this.#listener?.down('queue');
    }
    if (wasConnected || !this.isConnected) return;
    this.#troubles.over();
    this.#listener?.up('queue');
  }
}
