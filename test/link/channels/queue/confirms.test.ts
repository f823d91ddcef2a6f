// A send to RabbitMQ settles once, and is never reported as more certain than the broker's confirms.
import { EventEmitter } from 'node:events';
import type { ConfirmChannel } from 'amqplib';
import { beforeEach, describe, expect, it } from 'vitest';
import { ChannelDown, DeviceNotOnChannel, SendUnclear } from '../../../../src/link/channel.ts';
import { type Confirms, createConfirms } from '../../../../src/link/channels/queue/confirms.ts';
import { command } from '../../../contract/channel.ts';
import { createVirtualClock, type VirtualClock } from '../../../support/virtual-clock.ts';

interface Published {
  queue: string;
  options: { messageId: string; mandatory: boolean; persistent: boolean; expiration: string };
  confirm(error?: Error): void;
}

/** The broker's side: holds published messages until the test confirms or returns them. */
class FakeOutbox extends EventEmitter {
  readonly published: Published[] = [];
  isClosed = false;

  publish(_exchange: string, queue: string, _bytes: Buffer, options: Published['options'], confirm: (error?: Error) => void): void {
    if (this.isClosed) throw new Error('The channel is closed.');
    this.published.push({ queue, options, confirm });
  }

  giveBack({ options: { messageId } }: Published): void {
    this.emit('return', { properties: { messageId } });
  }

  asChannel(): ConfirmChannel {
    return this as unknown as ConfirmChannel;
  }
}

describe('commands that RabbitMQ has not confirmed', () => {
  let clock: VirtualClock;
  let outbox: FakeOutbox;
  let confirms: Confirms;
  let absent: string[];

  beforeEach(() => {
    clock = createVirtualClock();
    outbox = new FakeOutbox();
    absent = [];
    confirms = createConfirms(clock, (deviceId) => absent.push(deviceId));
    confirms.watchReturns(outbox.asChannel());
  });

  /** `ended` resolves with 'sent' or the error. */
  function send(expiresInMs = 10_000): { ended: Promise<unknown>; published: Published | undefined } {
    const ended = confirms.publish(outbox.asChannel(), 'device-1', command(), expiresInMs).then(
      () => 'sent',
      (error: unknown) => error,
    );
    return { ended, published: outbox.published.at(-1) };
  }

  it('are published as transient, mandatory and expiring, to the queue of their device', async () => {
    const { ended, published } = send(1_234.5);
    expect(published?.queue).toBe('tillgate.device.device-1');
    expect(published?.options).toMatchObject({ mandatory: true, persistent: false, expiration: '1235' });
    published?.confirm();
    expect(await ended).toBe('sent');
    expect(clock.pending).toBe(0);
  });

  it('are not sent when the broker returns them before it confirms', async () => {
    const { ended, published } = send();
    if (published) outbox.giveBack(published);
    expect(absent).toEqual([]);
    published?.confirm();
    expect(await ended).toBeInstanceOf(DeviceNotOnChannel);
    expect(absent).toEqual(['device-1']);
  });

  it('are matched by id: a returned one does not affect another', async () => {
    const one = send();
    const other = send();
    if (one.published) outbox.giveBack(one.published);
    other.published?.confirm();
    expect(await other.ended).toBe('sent');
    one.published?.confirm();
    expect(await one.ended).toBeInstanceOf(DeviceNotOnChannel);
  });

  it('are unclear when the confirm is missing, and stay so when it arrives late', async () => {
    const { ended, published } = send();
    await clock.advance(3_000);
    expect(await ended).toBeInstanceOf(SendUnclear);
    if (published) outbox.giveBack(published);
    published?.confirm();
    expect(absent).toEqual([]);
  });

  it('are unclear when the broker refuses them, or when the connection breaks', async () => {
    const refused = send();
    refused.published?.confirm(new Error('nacked'));
    const broken = [send(), send()];
    confirms.leaveUnclear();
    for (const { ended } of [refused, ...broken]) expect(await ended).toBeInstanceOf(SendUnclear);
    expect(clock.pending).toBe(0);
  });

  it('are definitely not sent when the channel is already closed', async () => {
    outbox.isClosed = true;
    expect(await send().ended).toBeInstanceOf(ChannelDown);
    expect(clock.pending).toBe(0);
  });
});
