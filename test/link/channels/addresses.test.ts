// Addressing by MQTT topic and AMQP routing key: which messages are accepted, and for which reason the others are dropped.
import type { ConsumeMessage } from 'amqplib';
import { describe, expect, it } from 'vitest';
import type { ChannelListener } from '../../../src/link/channel.ts';
import { createLoginLimit } from '../../../src/link/channels/login-limit.ts';
import { deliverMqttMessage } from '../../../src/link/channels/mqtt/mqtt-inbox.ts';
import { deliverQueueMessage, openInbox } from '../../../src/link/channels/queue/rabbitmq-inbox.ts';
import { reconnectPauseMs } from '../../../src/link/channels/reconnect-pause.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { deviceId, gatewayId } from '../link-bench.ts';

const clock = '2026-01-15T09:00:00Z';
const answer = JSON.stringify({ v: 1, id: deviceId, device: deviceId, clock, outcome: 'done' });
const presence = JSON.stringify({ v: 1, device: deviceId, online: true, clock });

/** Records every call of the listener. */
function listening(): { listener: ChannelListener; told: unknown[][] } {
  const told: unknown[][] = [];
  const listener: ChannelListener = {
    offer: (channel, device, message) => {
      told.push(['offer', channel, device, message.kind]);
      message.read();
    },
    answer: (channel, device, { outcome }) => told.push(['answer', channel, device, outcome]),
    presence: (channel, device, { online }) => told.push(['presence', channel, device, online]),
    gone: (channel, device) => told.push(['gone', channel, device]),
    up: (channel) => told.push(['up', channel]),
    down: (channel) => told.push(['down', channel]),
    dropped: (...what) => told.push(['dropped', ...what]),
  };
  return { listener, told };
}

describe('a message over MQTT', () => {
  const told = (topic: string, payload: string, isRetained = false) => {
    const { listener, told: words } = listening();
    deliverMqttMessage(listener, gatewayId, { topic, payload: Buffer.from(payload), isRetained });
    return words;
  };
  const own = `tillgate/devices/${deviceId}`;

  it('is accepted as an answer to this gateway or as presence', () => {
    expect(told(`${own}/answers/${gatewayId}`, answer)).toEqual([
      ['offer', 'mqtt', deviceId, 'answer'],
      ['answer', 'mqtt', deviceId, 'done'],
    ]);
    expect(told(`${own}/presence`, presence)).toEqual([
      ['offer', 'mqtt', deviceId, 'presence'],
      ['presence', 'mqtt', deviceId, true],
    ]);
  });

  it.each([
    'else/devices/DEVICE/presence',
    'tillgate/others/DEVICE/presence',
    'tillgate/devices/somebody/presence',
    'tillgate/devices/DEVICE/answers/gateway-1/more',
    'tillgate/devices',
  ])('to %s is dropped as an unknown address', (topic) => {
    expect(told(topic.replace('DEVICE', deviceId), presence)).toEqual([['dropped', 'mqtt', 'unknown-address']]);
  });

  it.each([
    ['answers/gateway-2', 'answers/gateway-2'],
    ['presence/gateway-1', 'presence/gateway-1'],
    ['answers', 'answers/undefined'],
    ['elsewhere/gateway-1', 'elsewhere/gateway-1'],
    [`answers/${'x'.repeat(200)}`, `answers/${'x'.repeat(92)}`],
  ])('of a device to %s is reported with its address', (rest, field) => {
    expect(told(`${own}/${rest}`, answer)).toEqual([
      ['dropped', 'mqtt', 'unknown-address', deviceId, { field, why: 'no gateway of this name takes answers here' }],
    ]);
  });

  it('that was retained is dropped', () => {
    expect(told(`${own}/presence`, presence, true)).toEqual([['dropped', 'mqtt', 'retained', deviceId]]);
  });

  it.each(['answers/gateway-1', 'presence'])('that is no JSON is reported as dropped: %s', (rest) => {
    expect(told(`${own}/${rest}`, 'no JSON').at(-1)?.slice(0, 4)).toEqual(['dropped', 'mqtt', 'not-json', deviceId]);
  });
});

describe('a message over RabbitMQ', () => {
  const told = (routingKey: string, content: string, userId: string | undefined = deviceId) => {
    const { listener, told: words } = listening();
    deliverQueueMessage(listener, gatewayId, {
      fields: { routingKey },
      properties: { userId },
      content: Buffer.from(content),
    } as unknown as ConsumeMessage);
    return words;
  };

  it('is accepted as an answer to this gateway or as presence', () => {
    expect(told(`${deviceId}.${gatewayId}`, answer).at(-1)).toEqual(['answer', 'queue', deviceId, 'done']);
    expect(told(`${deviceId}.presence`, presence).at(-1)).toEqual(['presence', 'queue', deviceId, true]);
  });

  it('with another routing key is dropped as an unknown address', () => {
    expect(told('somebody.presence', presence)).toEqual([['dropped', 'queue', 'unknown-address']]);
    expect(told(`${deviceId}.${gatewayId}.more`, answer)).toEqual([['dropped', 'queue', 'unknown-address']]);
  });

  it('needs a user-id, verified by the broker, that equals the DeviceID', () => {
    for (const userId of [undefined, 'another']) {
      const words = userId === undefined ? told(`${deviceId}.presence`, presence, '') : told(`${deviceId}.presence`, presence, userId);
      expect(words).toEqual([
        ['dropped', 'queue', 'unknown-sender', deviceId, { field: 'user-id', why: 'the property user-id must be the DeviceID' }],
      ]);
    }
  });
});

describe('the inbox at RabbitMQ', () => {
  it('uses two exclusive, bounded queues, and reports when the broker cancels a consumer', async () => {
    const asked: unknown[][] = [];
    const consumers: ((message: ConsumeMessage | null) => void)[] = [];
    const channel = {
      on: (...what: unknown[]) => asked.push(['on', what[0]]),
      assertExchange: async (...what: unknown[]) => asked.push(['exchange', ...what]),
      assertQueue: async (...what: unknown[]) => {
        asked.push(['queue', ...what]);
        return { queue: `queue ${consumers.length}` };
      },
      bindQueue: async (...what: unknown[]) => asked.push(['bind', ...what]),
      consume: async (queue: string, take: (message: ConsumeMessage | null) => void, options: unknown) => {
        asked.push(['consume', queue, options]);
        consumers.push(take);
      },
    };
    const taken: unknown[] = [];
    await openInbox({ createChannel: async () => channel } as never, {
      gatewayId,
      onError: () => {},
      onMessage: (message) => taken.push(message),
      onCancelled: () => taken.push('cancelled'),
    });
    const queue = (maxLength: number) => ['queue', '', { exclusive: true, autoDelete: true, durable: false, maxLength }];
    expect(asked).toEqual([
      ['on', 'error'],
      ['exchange', 'tillgate.answers', 'topic', { durable: true }],
      queue(100_000),
      ['bind', 'queue 0', 'tillgate.answers', `*.${gatewayId}`],
      ['consume', 'queue 0', { noAck: true }],
      queue(20_000),
      ['bind', 'queue 1', 'tillgate.answers', '*.presence'],
      ['consume', 'queue 1', { noAck: true }],
    ]);
    const message = {} as ConsumeMessage;
    consumers[0]?.(message);
    consumers[1]?.(null);
    expect(taken).toEqual([message, 'cancelled']);
  });
});

describe('the reconnect back-off', () => {
  it('doubles from 0.2 to 10 s, half of it random', () => {
    const random = seededRandom(3);
    const longest = [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000];
    for (const [index, ms] of longest.entries()) {
      const pause = reconnectPauseMs(index + 1, random);
      expect([pause >= ms / 2, pause <= ms]).toEqual([true, true]);
    }
  });
});

describe('the login rate of one device', () => {
  it('allows a burst of sixty, or the configured number, and then one a second', async () => {
    const time = createVirtualClock(undefined, { settle: 'microtasks' });
    const limit = createLoginLimit(time);
    for (let count = 0; count < 60; count += 1) expect(limit.take(deviceId)).toBeUndefined();
    expect(limit.take(deviceId)).toBe(1);
    await time.advance(1_000);
    expect([limit.take(deviceId), limit.take(deviceId)]).toEqual([undefined, 1]);
    const strict = createLoginLimit(time, 1);
    expect([strict.take(deviceId), strict.take(deviceId)]).toEqual([undefined, 1]);
  });
});
