// Limits the size of MQTT packets by their headers: the parser behind it buffers a whole packet before any check, up to 256 MiB from a
// client that has not logged in. Only a published message may be large; no device subscribes to thousands of topics. The parser keeps a packet
// as the chunks that arrived, and a chunk of one byte takes 0.5 KB: they are limited, too. Also counts packets, and those that are not messages.

export interface PacketLimits {
  /** Limit of the first packet, the login. */
  firstBytes: number;
  firstChunks: number;
  /** Limit of a message. */
  bytes: number;
  /** Limit of all other packets: subscriptions, acknowledgements, pings. */
  controlBytes: number;
  /** Limit of the chunks in which a packet after the login arrives. */
  chunks: number;
}

export interface PacketCount {
  packets: number;
  controlPackets: number;
}

const publish = 3;

/** Returns a function to call with each chunk; it returns undefined if a packet is too large or arrives in too many chunks, and then nothing more must be read. */
export function createPacketGuard(limits: PacketLimits): (chunk: Uint8Array) => PacketCount | undefined {
  let isFirst = true;
  let limit = limits.firstBytes;
  /** Remaining bytes of the current packet's body; undefined inside its header. */
  let bodyLeft: number | undefined;
  let headerBytes = 0;
  let length = 0;
  /** Of the current packet, which is incomplete. */
  let chunks = 0;

  return (chunk) => {
    chunks += 1;
    let at = 0;
    const count = { packets: 0, controlPackets: 0 };
    while (at < chunk.length) {
      if (bodyLeft !== undefined) {
        const skipped = Math.min(bodyLeft, chunk.length - at);
        at += skipped;
        bodyLeft -= skipped;
      } else {
        const byte = chunk[at] ?? 0;
        at += 1;
        headerBytes += 1;
        if (headerBytes === 1) {
          const isMessage = byte >> 4 === publish;
          if (!isFirst) limit = isMessage ? limits.bytes : limits.controlBytes;
          count.packets += 1;
          if (!isMessage) count.controlPackets += 1;
        }
        // Type and flags, then the length: seven bits a byte, the lowest first, at most four bytes.
        else length += (byte & 0x7f) * 128 ** (headerBytes - 2);
        if (headerBytes > 1 && ((byte & 0x80) === 0 || headerBytes === 5)) bodyLeft = length;
        if (length > limit) return undefined;
      }
      if (bodyLeft === 0) {
        isFirst = false;
        chunks = 0;
        bodyLeft = undefined;
        headerBytes = 0;
        length = 0;
      }
    }
    return chunks > (isFirst ? limits.firstChunks : limits.chunks) ? undefined : count;
  };
}
