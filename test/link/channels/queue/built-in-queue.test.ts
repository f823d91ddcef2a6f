// The built-in queue on fake sockets: which handshakes become a WebSocket, the guarantees of a send, and which frames are accepted.
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { duplexPair } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocketServer } from 'ws';
import type { GatewayError } from '../../../../src/kernel/error-codes.ts';
import type { ChannelListener, OfferedMessage } from '../../../../src/link/channel.ts';
import { BuiltInQueue } from '../../../../src/link/channels/queue/built-in-queue.ts';
import { maxFrameBytes } from '../../../../src/link/messages.ts';
import { answerTo, command, deviceA, deviceB } from '../../../contract/channel.ts';
import { type RecordingLogger, recordingLogger } from '../../../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../../../support/virtual-clock.ts';

const { deviceId } = deviceA;

class FakeSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  bufferedAmount = 0;
  readonly sent: { text: string; done(error?: Error): void }[] = [];
  readonly done: unknown[][] = [];
  close = (...args: unknown[]) => void this.done.push(['close', ...args]);
  terminate = () => void this.done.push(['terminate']);
  ping = () => void this.done.push(['ping']);

  send(text: string, done: (error?: Error) => void): void {
    this.sent.push({ text, done });
  }

  say(frame: unknown, isBinary = false): void {
    this.emit('message', Buffer.from(typeof frame === 'string' ? frame : JSON.stringify(frame)), isBinary);
  }
}

let clock: VirtualClock;
let logger: RecordingLogger;
let told: unknown[][];
let offered: OfferedMessage[];
let isReading: boolean;
let listener: ChannelListener;
let queue: BuiltInQueue;

beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  logger = recordingLogger();
  told = [];
  offered = [];
  isReading = true;
  const tell =
    (what: string) =>
    (...args: unknown[]) =>
      void told.push([what, ...args]);
  listener = {
    offer(_channel, _deviceId, message) {
      offered.push(message);
      if (isReading) message.read();
    },
    ...{ answer: tell('answer'), presence: tell('presence'), gone: tell('gone'), up: tell('up'), down: tell('down') },
    dropped: tell('dropped'),
  };
  queue = new BuiltInQueue({ clock, logger, deviceLogins: 2, maxDevices: 2 });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await queue.stop();
});

const goodHeaders = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

/** A handshake as the HTTP server passes it on, checked by the library itself. */
function knock(headers: Record<string, string> = {}, of = deviceId) {
  const [socket, far] = duplexPair();
  const refused: GatewayError[] = [];
  const heard: Buffer[] = [];
  far.on('data', (chunk: Buffer) => heard.push(chunk));
  const request = { method: 'GET', headers: { ...goodHeaders, ...headers } } as unknown as IncomingMessage;
  queue.handleUpgrade({ request, socket, head: Buffer.alloc(0), deviceId: of, merchantId: 'm', refuse: (error) => refused.push(error) });
  return { socket, far, refused, heard: () => Buffer.concat(heard).toString('latin1') };
}

async function up(): Promise<void> {
  await queue.start(listener);
  told.length = 0;
}

/** Adds a connected WebSocket of a device. */
function arrive(of = deviceId): FakeSocket {
  const webSocket = new FakeSocket();
  const take = vi.spyOn(WebSocketServer.prototype, 'handleUpgrade').mockImplementation((_request, _socket, _head, done) => {
    done(webSocket, undefined);
  });
  knock({}, of);
  take.mockRestore();
  return webSocket;
}

const errorOf = (sent: Promise<void>) => sent.then(() => 'sent').catch(({ name }: Error) => name);

describe('the built-in queue', () => {
  it('is up once it has started and down once it has stopped, and can detect absent devices', async () => {
    expect([queue.isConnected, queue.tellsAbsence]).toEqual([false, true]);
    await queue.start(listener);
    expect([queue.isConnected, told]).toEqual([true, [['up', 'queue']]]);
    expect(clock.pending).toBe(1);
    await queue.stop();
    expect([queue.isConnected, clock.pending]).toEqual([false, 0]);
  });

  it('limits the library to the frame size, without compression, client tracking and automatic pongs', async () => {
    await up();
    const take = vi.spyOn(WebSocketServer.prototype, 'handleUpgrade').mockImplementation(() => {});
    knock();
    const { options } = take.mock.contexts[0] as WebSocketServer;
    const bounds = { maxPayload: maxFrameBytes + 1024, perMessageDeflate: false, clientTracking: false, autoPong: false, noServer: true };
    expect(options).toMatchObject(bounds);
  });

  it('closes the socket of a device by its id, with a reason', async () => {
    await up();
    const socket = arrive();
    queue.disconnectDevice(deviceId);
    expect(socket.done).toEqual([['close', 4001, 'The device may no longer connect.']]);
  });

  it('reports disconnects and oversized messages, and nothing after the stop', async () => {
    await up();
    const socket = arrive();
    const tooLarge = Object.assign(new Error('large'), { code: 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' });
    socket.emit('error', tooLarge);
    socket.emit('close');
    expect(told).toEqual([
      ['dropped', 'queue', 'too-large', deviceId],
      ['gone', 'queue', deviceId],
    ]);
    const late = arrive();
    await queue.stop();
    late.emit('error', tooLarge);
    late.say({ answer: answerTo(command(), deviceId) });
    late.emit('close');
    expect([told.length, offered]).toEqual([2, []]);
  });
});

describe('a handshake', () => {
  it('that is valid becomes a WebSocket of its device', async () => {
    await up();
    const { heard, refused } = knock();
    await clock.settle();
    expect(heard()).toMatch(/^HTTP\/1\.1 101 /);
    expect(heard().toLowerCase()).not.toContain('extensions');
    expect(refused).toEqual([]);
    const sent = command();
    await queue.send(deviceId, sent, 1_000);
    await clock.settle();
    expect(heard()).toContain(JSON.stringify({ command: sent }));
  });

  it('is refused before the start and after the stop, as temporary', async () => {
    const refusal = { errorName: 'Internal_error', httpStatus: 503, retryAfterS: 1 };
    expect(knock().refused).toMatchObject([refusal]);
    await up();
    await queue.stop();
    expect(knock().refused).toMatchObject([refusal]);
    expect(told).toEqual([]);
  });

  it('above the login rate of its device is refused with Retry-After, and that of another device is accepted', async () => {
    await up();
    expect([knock().refused, knock().refused]).toEqual([[], []]);
    told.length = 0;
    const third = knock();
    expect(third.refused).toMatchObject([{ errorName: 'Too_Many_Requests', retryAfterS: 1 }]);
    await clock.settle();
    expect([third.heard(), told]).toEqual(['', [['dropped', 'queue', 'over-budget', deviceId]]]);
    expect(knock({}, deviceB.deviceId).refused).toEqual([]);
  });

  it('that is malformed is answered with the envelope', async () => {
    await up();
    const { refused, socket } = knock({ 'sec-websocket-key': 'short' });
    expect(refused).toMatchObject([
      { errorName: 'Invalid_Request', httpStatus: 400, message: expect.stringMatching(/^The WebSocket handshake/) },
    ]);
    expect(socket.destroyed).toBe(false);
  });

  it('that the library reports as failed without a listener is closed', async () => {
    await up();
    const take = vi.spyOn(WebSocketServer.prototype, 'handleUpgrade').mockImplementation(() => {});
    knock();
    const [socket] = duplexPair();
    (take.mock.contexts[0] as WebSocketServer).emit('wsClientError', new Error('odd'), socket, {});
    expect(socket.destroyed).toBe(true);
  });

  it('whose socket fails is only logged', async () => {
    const { socket } = knock();
    socket.emit('error', new Error('ECONNRESET'));
    expect(logger.lines).toMatchObject([{ level: 'debug', fields: { err: new Error('ECONNRESET') } }]);
  });
});

describe('a send', () => {
  it('resolves when the socket has written it', async () => {
    await up();
    const socket = arrive();
    const sent = command();
    let end = '';
    const ended = errorOf(queue.send(deviceId, sent, 1_000)).then((how) => (end = how));
    await clock.settle();
    expect([end, socket.sent.map(({ text }) => JSON.parse(text))]).toEqual(['', [{ command: sent }]]);
    socket.sent[0]?.done();
    expect(await ended).toBe('sent');
  });

  it('is unclear when the socket fails to write it', async () => {
    await up();
    const socket = arrive();
    const cause = new Error('EPIPE');
    const ended = queue.send(deviceId, command(), 1_000);
    socket.sent[0]?.done(cause);
    await expect(ended).rejects.toMatchObject({ name: 'SendUnclear', cause });
  });

  it('fails for a device that is offline, or while the queue is stopped', async () => {
    expect(await errorOf(queue.send(deviceId, command(), 1_000))).toBe('ChannelDown');
    await up();
    expect(await errorOf(queue.send(deviceId, command(), 1_000))).toBe('DeviceNotOnChannel');
    const socket = arrive();
    await queue.stop();
    expect(await errorOf(queue.send(deviceId, command(), 1_000))).toBe('ChannelDown');
    expect(socket.sent).toEqual([]);
  });
});

describe('a frame', () => {
  const presence = { v: 1 as const, device: deviceId, online: true, clock: '2026-01-15T09:00:00.000Z' };

  it('is accepted as an answer or presence of the device of its socket', async () => {
    await up();
    const socket = arrive();
    const answer = answerTo(command(), deviceId);
    socket.say({ answer });
    socket.say({ presence });
    expect(told).toEqual([
      ['answer', 'queue', deviceId, answer],
      ['presence', 'queue', deviceId, presence],
    ]);
    expect(offered.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual([JSON.stringify({ answer }), JSON.stringify({ presence })]);
  });

  it('is classified as presence by its first bytes, for the budget only', async () => {
    await up();
    const socket = arrive();
    const answer = answerTo(command(), deviceId);
    const frames = [
      JSON.stringify({ presence }),
      ` \n{ \n"presence" : ${JSON.stringify(presence)}}`,
      JSON.stringify({ answer }),
      `x{"presence":1}`,
      `{x"presence":1}`,
      `${' '.repeat(60)}{"presence":1}`,
    ];
    for (const frame of frames) socket.say(frame);
    expect(offered.map(({ kind }) => kind)).toEqual(['presence', 'presence', 'answer', 'answer', 'answer', 'answer']);
  });

  it('that is invalid is dropped with a reason', async () => {
    await up();
    const socket = arrive();
    socket.say('{');
    socket.say({ answer: answerTo(command(), deviceB.deviceId) });
    socket.say({ presence }, true);
    expect(told).toEqual([
      ['dropped', 'queue', 'not-json', deviceId, expect.objectContaining({ problem: 'not-json' })],
      ['dropped', 'queue', 'foreign-device', deviceId, expect.objectContaining({ problem: 'foreign-device' })],
      ['dropped', 'queue', 'not-json', deviceId, { why: 'it is a binary frame' }],
    ]);
    // A binary frame is dropped before it is offered.
    expect(offered).toHaveLength(2);
  });

  it('of a replaced socket is still accepted if it is an answer, but not if it is presence', async () => {
    await up();
    const first = arrive();
    const answer = answerTo(command(), deviceId);
    isReading = false;
    first.say({ answer });
    first.say({ presence });
    arrive();
    told.length = 0;
    for (const { read } of offered) read();
    expect(told).toEqual([['answer', 'queue', deviceId, answer]]);
  });

  it('that is read after the stop is ignored', async () => {
    await up();
    const socket = arrive();
    isReading = false;
    socket.say({ answer: answerTo(command(), deviceId) });
    socket.say({ presence });
    socket.say('{');
    await queue.stop();
    for (const { read } of offered) read();
    expect(told).toEqual([]);
  });
});

describe('the places of the queue', () => {
  const other = 'cccccccc-cccc-4ccc-8ccc-cccccccccccc';
  const [third, fourth, fifth] = ['d', 'e', 'f'].map((letter) => `${letter.repeat(8)}-dddd-4ddd-8ddd-dddddddddddd`);

  it('are refused to a device when all are taken, but not to one that connects again, and are free when a socket closes', async () => {
    await up();
    const one = knock({}, deviceId);
    knock({}, other);
    expect(knock({}, third).refused.map(({ errorName }) => errorName)).toEqual(['Too_Many_Requests']);
    const again = knock({}, deviceId);
    expect(again.refused).toEqual([]);
    one.socket.destroy();
    await once(one.socket, 'close');
    expect(knock({}, fourth).refused).toHaveLength(1);
    again.socket.destroy();
    await once(again.socket, 'close');
    expect(knock({}, fifth).refused).toEqual([]);
  });
});
