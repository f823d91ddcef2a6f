// One send to RabbitMQ settles once, and never says more than the broker did.
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

/** The broker's side: what was published lies here until the test confirms it or gives it back. */
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

  /** As the library's own; only what is used here is there. */
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

  /** How the send ended, once it has. */
  function send(expiresInMs = 10_000): { ended: Promise<unknown>; published: Published | undefined } {
    const ended = confirms.publish(outbox.asChannel(), 'device-1', command(), expiresInMs).then(
      () => 'sent',
      (error: unknown) => error,
    );
    return { ended, published: outbox.published.at(-1) };
  }

  it('go out transient, mandatory and with an end, to the queue of their device', async () => {
    const { ended, published } = send(1_234.5);
    expect(published?.queue).toBe('tillgate.device.device-1');
    expect(published?.options).toMatchObject({ mandatory: true, persistent: false, expiration: '1235' });
    published?.confirm();
    expect(await ended).toBe('sent');
    expect(clock.pending).toBe(0);
  });

  it('were not sent when the broker gives them back before it confirms', async () => {
    const { ended, published } = send();
    if (published) outbox.giveBack(published);
    expect(absent).toEqual([]);
    published?.confirm();
    expect(await ended).toBeInstanceOf(DeviceNotOnChannel);
    expect(absent).toEqual(['device-1']);
  });

  it('are distinguished: what is returned says nothing about its neighbour', async () => {
    const one = send();
    const other = send();
    if (one.published) outbox.giveBack(one.published);
    other.published?.confirm();
    expect(await other.ended).toBe('sent');
    one.published?.confirm();
    expect(await one.ended).toBeInstanceOf(DeviceNotOnChannel);
  });

  it('are unclear when the confirm does not come, and stay so when it comes late', async () => {
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

  it('were certainly not sent when the channel is closed already', async () => {
    outbox.isClosed = true;
    expect(await send().ended).toBeInstanceOf(ChannelDown);
    expect(clock.pending).toBe(0);
  });
});
