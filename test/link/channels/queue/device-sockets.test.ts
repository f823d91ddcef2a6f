// The sockets of the built-in queue, one per device: replaced, pinged, rate-limited and closed, in virtual time on fake sockets.
import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { DeviceSockets, type Frame } from '../../../../src/link/channels/queue/device-sockets.ts';
import { maxMessageBytes } from '../../../../src/link/protocol.ts';
import { quietLogger } from '../../../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../../../support/virtual-clock.ts';

class FakeSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  bufferedAmount = 0;
  readonly done: unknown[][] = [];
  readonly #note =
    (name: string) =>
    (...args: unknown[]) =>
      void this.done.push([name, ...args]);
  readonly close = this.#note('close');
  readonly ping = this.#note('ping');
  readonly pong = this.#note('pong');
  readonly pause = this.#note('pause');
  readonly resume = this.#note('resume');
  readonly terminate = this.#note('terminate');
  readonly raw = new EventEmitter();
  asSocket = () => this as unknown as WebSocket;
}

let clock: VirtualClock;
let sockets: DeviceSockets;
let told: string[];
let frames: Frame[];
beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  told = [];
  frames = [];
  sockets = new DeviceSockets({
    clock,
    logger: quietLogger,
    onFrame: (frame) => frames.push(frame),
    onTooLarge: (deviceId) => told.push(`too large ${deviceId}`),
    onGone: (deviceId) => told.push(`gone ${deviceId}`),
  });
});

function added(deviceId = 'a'): FakeSocket {
  const socket = new FakeSocket();
  sockets.add(deviceId, socket.asSocket(), socket.raw as Duplex);
  return socket;
}
const say = (socket: FakeSocket, text: string) => socket.emit('message', Buffer.from(text), false);

describe('a device’s socket', () => {
  it('is writable while it is open and its send buffer is not full', () => {
    const socket = added();
    expect(sockets.writable('a')).toBe(socket);
    expect(sockets.writable('b')).toBeUndefined();
    socket.bufferedAmount = 4 * maxMessageBytes;
    expect(sockets.writable('a')).toBe(socket);
    socket.bufferedAmount += 1;
    expect(sockets.writable('a')).toBeUndefined();
    socket.bufferedAmount = 0;
    socket.readyState = 2;
    expect(sockets.writable('a')).toBeUndefined();
  });

  it('passes on its frames, which tell whether it is still the current one of its device', () => {
    const first = added();
    say(first, 'hello');
    expect(frames).toMatchObject([{ deviceId: 'a', isBinary: false }]);
    expect([frames[0]?.data.toString(), frames[0]?.isFromCurrent()]).toEqual(['hello', true]);
    added();
    say(first, 'late');
    expect(frames.map((frame) => frame.isFromCurrent())).toEqual([false, false]);
  });

  it('is read slowly when its bytes exceed its share, whatever frames they are', async () => {
    const socket = added();
    socket.raw.emit('data', Buffer.alloc(8 * 1024 * 1024));
    expect(socket.done).toEqual([]);
    socket.raw.emit('data', Buffer.alloc(1024));
    expect(socket.done).toEqual([['pause']]);
    await clock.advance(1);
    expect(socket.done).toEqual([['pause'], ['resume']]);
  });

  it('is replaced by the next: reported as gone at once, closed, and terminated if it stays open', async () => {
    const first = added();
    const second = added();
    expect(told).toEqual(['gone a']);
    expect(first.done).toEqual([['close', 4000, 'A second connection of this device has replaced this one.']]);
    await clock.advance(999);
    expect(first.done).toHaveLength(1);
    await clock.advance(1);
    expect(first.done.at(-1)).toEqual(['terminate']);
    first.emit('close');
    expect([told, sockets.writable('a')]).toEqual([['gone a'], second]);
    second.emit('close');
    expect([told, sockets.writable('a')]).toEqual([['gone a', 'gone a'], undefined]);
  });

  it('that closes in time after being replaced is not terminated', async () => {
    const first = added();
    added();
    first.emit('close');
    expect(clock.pending).toBe(0);
    await clock.advance(2_000);
    sockets.stop();
    expect(first.done).toHaveLength(1);
  });

  it('is cut off by device id: reported as gone at once, closed, and terminated if it stays open', async () => {
    const socket = added();
    sockets.cutOff('a', 4001, 'enough');
    sockets.cutOff('b', 4001, 'nobody');
    expect(socket.done).toEqual([['close', 4001, 'enough']]);
    expect([told, sockets.writable('a')]).toEqual([['gone a'], undefined]);
    await clock.advance(999);
    expect(socket.done).toHaveLength(1);
    await clock.advance(1);
    expect(socket.done.at(-1)).toEqual(['terminate']);
    socket.emit('close');
    expect([told, clock.pending]).toEqual([['gone a'], 0]);
  });

  it('that is cut off is no longer read, nor is a replaced one of the same device', () => {
    const [replaced, current, other] = [added(), added(), added('b')];
    const ofOther = added('b');
    sockets.cutOff('a', 4001, 'enough');
    for (const socket of [replaced, current]) say(socket, 'I am still here');
    expect(frames).toEqual([]);
    for (const socket of [other, ofOther]) say(socket, 'nobody means me');
    expect(frames.map(({ deviceId }) => deviceId)).toEqual(['b', 'b']);
    const again = added();
    say(again, 'let in anew');
    expect(frames.at(-1)).toMatchObject({ deviceId: 'a' });
  });

  it('that sends too large a message is reported; another failure is not', () => {
    const socket = added();
    socket.emit('error', Object.assign(new Error('large'), { code: 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' }));
    expect(told).toEqual(['too large a']);
    socket.emit('error', new Error('broken'));
    expect(told).toEqual(['too large a']);
  });
});

describe('pings', () => {
  it('are sent every 15 s, and a socket that sends nothing until the next is terminated', async () => {
    sockets.start();
    const [silent, ponging, talking, asking] = ['a', 'b', 'c', 'd'].map((id) => added(id)) as [
      FakeSocket,
      FakeSocket,
      FakeSocket,
      FakeSocket,
    ];
    await clock.advance(15_000);
    ponging.emit('pong', Buffer.alloc(0));
    say(talking, 'I am here');
    asking.emit('ping', Buffer.from('?'));
    await clock.advance(15_000);
    expect(silent.done).toEqual([['ping'], ['terminate']]);
    expect(ponging.done).toEqual([['ping'], ['ping']]);
    expect(talking.done).toEqual([['ping'], ['ping']]);
    expect(asking.done).toEqual([['ping'], ['pong', Buffer.from('?')], ['ping']]);
    sockets.stop();
    expect(clock.pending).toBe(0);
  });

  it('of a socket that does not read are not answered: it is terminated', () => {
    const socket = added();
    socket.bufferedAmount = 4 * maxMessageBytes + 1;
    socket.emit('ping', Buffer.alloc(0));
    expect(socket.done).toEqual([['terminate']]);
  });
});

describe('a socket above its message rate', () => {
  it('is paused once, then resumed', async () => {
    const socket = added();
    for (let count = 0; count < 500; count += 1) say(socket, 'x');
    expect(socket.done).toEqual([]);
    for (let count = 0; count < 5; count += 1) say(socket, 'x');
    expect(socket.done).toEqual([['pause']]);
    expect(clock.pending).toBe(1);
    await clock.advance(10);
    expect(socket.done).toEqual([['pause'], ['resume']]);
    expect(socket.listenerCount('close')).toBe(1);
    say(socket, 'x');
    expect(socket.done.at(-1)).toEqual(['pause']);
    expect(frames).toHaveLength(506);
  });

  it('is not resumed after it closed', async () => {
    const socket = added();
    for (let count = 0; count < 510; count += 1) say(socket, 'x');
    socket.emit('close');
    expect(clock.pending).toBe(0);
    await clock.advance(1_000);
    expect(socket.done).toEqual([['pause']]);
  });
});

describe('stopping', () => {
  it('terminates all sockets, also replaced and cut-off ones, reports none as gone, and leaves no timer', async () => {
    sockets.start();
    const replaced = added();
    const current = added();
    const other = added('b');
    const cutOff = added('c');
    sockets.cutOff('c', 4001, 'enough');
    told.length = 0;
    sockets.stop();
    expect(clock.pending).toBe(0);
    for (const socket of [replaced, current, other, cutOff]) {
      expect(socket.done.slice(-2)).toEqual([['close', 1001, 'The gateway is stopping.'], ['terminate']]);
      socket.emit('close');
    }
    expect([told, sockets.writable('b')]).toEqual([[], undefined]);
  });
});
