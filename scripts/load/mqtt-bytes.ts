// The few packets of MQTT 3.1.1 that a device needs, written by hand: ten thousand clients of a library would measure the library.

function lengthOf(value: number): Buffer {
  const digits: number[] = [];
  let rest = value;
  do {
    const digit = rest % 128;
    rest = Math.floor(rest / 128);
    digits.push(rest > 0 ? digit + 128 : digit);
  } while (rest > 0);
  return Buffer.from(digits);
}

function packet(firstByte: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from([firstByte]), lengthOf(body.length), body]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

const number = (value: number) => Buffer.from([value >> 8, value & 255]);

export const packetTypes = { connack: 2, publish: 3, suback: 9 } as const;

export function connectPacket(id: string, secret: string, keepAliveS: number): Buffer {
  const head = Buffer.concat([text('MQTT'), Buffer.from([4, 0xc2]), number(keepAliveS)]);
  return packet(0x10, Buffer.concat([head, text(id), text(id), text(secret)]));
}

export const subscribePacket = (topic: string): Buffer => packet(0x82, Buffer.concat([number(1), text(topic), Buffer.from([0])]));

/** At QoS 1, as devices do; the acknowledgement is not waited for. */
export const publishPacket = (topic: string, message: object, id: number): Buffer =>
  packet(0x32, Buffer.concat([text(topic), number(1 + (id % 65_535)), Buffer.from(JSON.stringify(message))]));

/** Calls with each whole packet's type and body. */
export function createPacketReader(onPacket: (type: number, body: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  function readOne(): boolean {
    for (let at = 1, length = 0, factor = 1; at < rest.length; at += 1, factor *= 128) {
      const digit = rest[at] ?? 0;
      length += (digit & 127) * factor;
      if (digit >= 128) continue;
      const end = at + 1 + length;
      if (rest.length < end) return false;
      const [type, body] = [(rest[0] ?? 0) >> 4, rest.subarray(at + 1, end)];
      rest = rest.subarray(end);
      onPacket(type, body);
      return true;
    }
    return false;
  }
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (readOne());
  };
}
