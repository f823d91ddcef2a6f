// An MQTT connection with limits on packet size and rate. aedes calls `read` for each chunk and again after processing it. So `read` can check
// every byte before it is parsed, and returns nothing for a moment if the client sends too fast.
import type { Socket } from 'node:net';
import type { Clock } from '../../../kernel/clock.ts';
import { TokenBucket } from '../../../kernel/token-bucket.ts';
import { paceReading } from '../reading-pace.ts';
import { createPacketGuard, type PacketLimits } from './packet-guard.ts';

/** Pings, subscriptions, acknowledgements: no device needs more, and each causes an answer. */
const controlPackets = { burst: 500, perS: 20 };

/** A chunk of fewer bytes costs as much time as a packet, even if it ends none. */
const smallBytes = 512;

export function holdSocket(
  socket: Socket,
  options: { clock: Clock; limits: PacketLimits; messagesPerS?: number | undefined; cut(why: 'too-large' | 'over-budget'): void },
): void {
  const { clock, limits, messagesPerS, cut } = options;
  const count = createPacketGuard(limits);
  const pace = paceReading(clock, socket, messagesPerS, {
    off() {},
    // Data may have arrived, and its event may have been emitted, during the pause.
    on() {
      if (!socket.destroyed) socket.emit('readable');
    },
  });
  const control = new TokenBucket({ clock, ...controlPackets });
  const read = socket.read.bind(socket);

  socket.read = (size?: number) => {
    if (pace.isResting || socket.destroyed) return null;
    const chunk = read(size) as Buffer | null;
    if (chunk === null) return null;
    const counted = count(chunk);
    if (counted === undefined) return end('too-large');
    if (counted.controlPackets > controlPackets.burst || !control.take(counted.controlPackets)) return end('over-budget');
    pace.count(chunk.length < smallBytes ? Math.max(1, counted.packets) : counted.packets, chunk.length);
    return chunk;
  };

  function end(why: 'too-large' | 'over-budget'): null {
    cut(why);
    socket.destroy();
    return null;
  }
}
