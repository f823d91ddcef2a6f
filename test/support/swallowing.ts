// Brokers that swallow: a proxy in front of a real one that drops chosen messages and says that they have arrived, as a broker does that
// loses its queue after it has confirmed. MQTT: PUBLISH is answered with PUBACK; AMQP: a publish is confirmed if the channel wants that.
import type { Socket } from 'node:net';
import { type Between, startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** True: this message never arrives. `text` is its topic or key, and what it says. */
export type IsSwallowed = (text: string) => boolean;

/** Cuts a stream into its frames; `sizeOf` tells the length of the first one, undefined while that is not known. */
function inFrames(sizeOf: (bytes: Buffer) => number | undefined, onFrame: (frame: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const size = sizeOf(rest);
      if (size === undefined || rest.length < size) return;
      onFrame(rest.subarray(0, size));
      rest = rest.subarray(size);
    }
  };
}

function mqttPacketSize(bytes: Buffer): number | undefined {
  for (let at = 1, length = 0, factor = 1; at < bytes.length; at += 1, factor *= 128) {
    const digit = bytes[at] ?? 0;
    length += (digit & 127) * factor;
    if (digit < 128) return at + 1 + length;
  }
  return undefined;
}

function swallowMqtt(isSwallowed: IsSwallowed): Between {
  return (client, server) => {
    server.pipe(client);
    client.on(
      'data',
      inFrames(mqttPacketSize, (packet) => {
        const isPublish = (packet[0] ?? 0) >> 4 === 3;
        if (!isPublish || !isSwallowed(packet.toString('utf8'))) return void server.write(packet);
        const quality = ((packet[0] ?? 0) >> 1) & 3;
        const body = packet.subarray(1 + packet.subarray(1).findIndex((digit) => digit < 128) + 1);
        const idAt = 2 + body.readUInt16BE(0);
        if (quality === 1) client.write(Buffer.from([0x40, 2, body[idAt] ?? 0, body[idAt + 1] ?? 0]));
      }),
    );
  };
}

const frameEnd = 0xce;
const [method, header] = [1, 2];
const [confirmSelect, basicPublish, basicAck] = [(85 << 16) | 10, (60 << 16) | 40, (60 << 16) | 80];

function amqpFrameSize(bytes: Buffer): number | undefined {
  if (bytes.length >= 4 && bytes.toString('latin1', 0, 4) === 'AMQP') return 8;
  return bytes.length < 7 ? undefined : 8 + bytes.readUInt32BE(3);
}

/** One channel of a connection. A confirm names its message by number: after the first that was swallowed, all numbers are ours to give. */
interface AmqpChannel {
  confirms: boolean;
  published: number;
  message: Buffer[] | undefined;
  toCome: number;
}

function acknowledgement(channel: number, tag: number): Buffer {
  const frame = Buffer.alloc(21);
  frame.writeUInt8(method, 0);
  frame.writeUInt16BE(channel, 1);
  frame.writeUInt32BE(13, 3);
  frame.writeUInt32BE(basicAck, 7);
  frame.writeBigUInt64BE(BigInt(tag), 11);
  frame.writeUInt8(frameEnd, 20);
  return frame;
}

function swallowAmqp(isSwallowed: IsSwallowed): Between {
  return (client: Socket, server: Socket) => {
    const channels = new Map<number, AmqpChannel>();
    server.pipe(client);

    function ended(number: number, channel: AmqpChannel): void {
      const message = channel.message ?? [];
      channel.message = undefined;
      channel.published += 1;
      if (!isSwallowed(Buffer.concat(message).toString('latin1'))) for (const frame of message) server.write(frame);
      else if (channel.confirms) client.write(acknowledgement(number, channel.published));
    }

    client.on(
      'data',
      inFrames(amqpFrameSize, (frame) => {
        const [type, number] = [frame[0], frame.length > 8 ? frame.readUInt16BE(1) : 0];
        const channel = channels.get(number) ?? { confirms: false, published: 0, message: undefined, toCome: 0 };
        channels.set(number, channel);
        const called = type === method && frame.length >= 12 ? frame.readUInt32BE(7) : undefined;
        if (called === confirmSelect) channel.confirms = true;
        if (called === basicPublish) channel.message = [Buffer.from(frame)];
        else if (channel.message && number !== 0) {
          channel.message.push(Buffer.from(frame));
          channel.toCome = type === header ? Number(frame.readBigUInt64BE(11)) : channel.toCome - (frame.length - 8);
          if (channel.toCome === 0) ended(number, channel);
        } else server.write(frame);
      }),
    );
  };
}

export const startSwallowingMqtt = (port: number, isSwallowed: IsSwallowed): Promise<TcpProxy> =>
  startTcpProxy([port], swallowMqtt(isSwallowed));

/** To end the swallowing on a channel with confirms, `cut` the connections: their numbers no longer fit. */
export const startSwallowingAmqp = (port: number, isSwallowed: IsSwallowed): Promise<TcpProxy> =>
  startTcpProxy([port], swallowAmqp(isSwallowed));
