// WebSocket upgrades on fake sockets: which requests are upgrades, which are accepted, and how the others are answered.
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { createUpgrades, type Upgrade, type Upgrades } from '../../src/http/upgrades.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';

class FakeSocket extends EventEmitter {
  destroyed = false;
  readonly timeouts: number[] = [];
  setTimeout = (ms: number) => void this.timeouts.push(ms);

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }

  asSocket = () => this as unknown as Duplex;
}

const good = {
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  authorization: 'Basic x',
};
const requestOf = (headers: Record<string, string | undefined> = {}, url: string | null = '/base/queue', method = 'GET') =>
  ({ method, url: url ?? undefined, headers: { ...good, ...headers } }) as unknown as IncomingMessage;
const head = Buffer.from('first bytes');

let upgrades: Upgrades;
let handed: Upgrade[];
let refused: { socket: unknown; error: GatewayError; headers: readonly string[] | undefined }[];
let failures: unknown[];
let loggedIn: unknown[];
let asked: unknown[];
let authenticate: () => Promise<{ deviceId: string; merchantId: string }>;
let reason: GatewayError | undefined;
let cutOffListeners: Set<(deviceId: string) => void>;

beforeEach(() => {
  [handed, refused, failures, loggedIn, asked, reason] = [[], [], [], [], [], undefined];
  cutOffListeners = new Set();
  authenticate = async () => ({ deviceId: 'd', merchantId: 'm' });
  upgrades = createUpgrades({
    authenticate(authorization) {
      asked.push(authorization);
      return authenticate();
    },
    onCutOff(listener) {
      cutOffListeners.add(listener);
      return () => cutOffListeners.delete(listener);
    },
    whyNot: () => reason,
    refuse: (socket, error, headers) => void refused.push({ socket, error, headers }),
    failed: (error) => void failures.push(error),
    loggedIn: (socket) => void loggedIn.push(socket),
  });
  upgrades.onUpgrade('/Base/Queue', (upgrade) => void handed.push(upgrade));
});

async function knock(request = requestOf(), meanwhile: (socket: FakeSocket) => void = () => {}): Promise<FakeSocket> {
  const socket = new FakeSocket();
  upgrades.upgrade(request, socket.asSocket(), head);
  meanwhile(socket);
  await new Promise((resolve) => setImmediate(resolve));
  return socket;
}

describe('a request', () => {
  it('is an upgrade only as a GET for a WebSocket at a registered path, in any case and spelling', () => {
    const isUpgrade = (...request: Parameters<typeof requestOf>) => upgrades.shouldUpgrade(requestOf(...request));
    expect(isUpgrade()).toBe(true);
    expect(isUpgrade({ upgrade: 'WebSocket' }, '/BASE/queue/?a=/b/')).toBe(true);
    expect(isUpgrade({ upgrade: 'h2c' })).toBe(false);
    expect(isUpgrade({ upgrade: undefined })).toBe(false);
    expect(isUpgrade({}, '/base/queue', 'POST')).toBe(false);
    for (const url of ['/base/other', '/base/queue//', '/', '', null]) expect(isUpgrade({}, url)).toBe(false);
    upgrades.onUpgrade('/', () => {});
    expect(isUpgrade({}, '/')).toBe(true);
  });
});

describe('an upgrade', () => {
  it('of a known device is passed on with its first bytes, and without a time-out', async () => {
    const request = requestOf();
    const socket = await knock(request);
    expect(handed).toMatchObject([{ deviceId: 'd' }]);
    expect([handed[0]?.request, handed[0]?.socket, handed[0]?.head]).toEqual([request, socket, head]);
    expect([asked, loggedIn, socket.timeouts, refused]).toEqual([['Basic x'], [socket], [0], []]);
    // An error of the socket is handled.
    socket.emit('error', new Error('ECONNRESET'));
  });

  it('of a device that is cut off during its login is refused as temporary; that of another device is not', async () => {
    const cutOff = (deviceId: string) => () => {
      for (const listener of cutOffListeners) listener(deviceId);
    };
    await knock(requestOf(), cutOff('d'));
    expect([handed, loggedIn, failures]).toEqual([[], [], []]);
    expect(refused).toMatchObject([{ error: { errorName: 'Internal_error', httpStatus: 503, retryAfterS: 1 }, headers: [] }]);
    await knock(requestOf(), cutOff('other'));
    expect([handed, cutOffListeners.size]).toEqual([[expect.objectContaining({ deviceId: 'd' })], 0]);
    authenticate = () => Promise.reject(new GatewayError('Invalid_API_Key', 'no'));
    await knock();
    expect(cutOffListeners.size).toBe(0);
  });

  it('may still be refused by its handler', async () => {
    const socket = await knock();
    const error = new GatewayError('Too_Many_Requests', 'Too often.');
    handed[0]?.refuse(error);
    expect(refused).toEqual([{ socket, error, headers: [] }]);
  });

  it.each([
    ['at another path', requestOf({}, '/base/other'), 404, undefined],
    ['of another version', requestOf({ 'sec-websocket-version': '8' }), 426, ['Sec-WebSocket-Version: 13']],
    ['without a key', requestOf({ 'sec-websocket-key': undefined }), 400, undefined],
    ['with a key that is too short', requestOf({ 'sec-websocket-key': 'AAAA==' }), 400, undefined],
    ['with a key that is too long', requestOf({ 'sec-websocket-key': `x${good['sec-websocket-key']}` }), 400, undefined],
    ['with characters after the key', requestOf({ 'sec-websocket-key': `${good['sec-websocket-key']}x` }), 400, undefined],
  ])('%s is refused before any lookup', async (_how, request, httpStatus, headers) => {
    const socket = await knock(request);
    expect(refused).toMatchObject([{ error: { errorName: 'Invalid_Request', httpStatus } }]);
    expect([refused[0]?.socket, refused[0]?.headers, asked, handed]).toEqual([socket, headers, [], []]);
    socket.emit('error', new Error('ECONNRESET'));
  });

  it('with a wrong login is answered with WWW-Authenticate', async () => {
    authenticate = () => Promise.reject(new GatewayError('Invalid_API_Key', 'Wrong.'));
    await knock();
    expect(refused).toMatchObject([{ error: { errorName: 'Invalid_API_Key', httpStatus: 401, message: 'Wrong.' } }]);
    expect([refused[0]?.headers, handed, loggedIn, failures]).toEqual([['WWW-Authenticate: Basic realm="tillgate"'], [], [], []]);
    expect(refused[0]?.error.cause).toBeInstanceOf(GatewayError);
  });

  it.each([
    ['while the database is down', new GatewayError('Error_Connection_Database', 'Away.'), 'Error_Connection_Database', 503, 0],
    ['because of a programming error', new TypeError('odd'), 'Internal_error', 503, 1],
    ['because of a rate limit', new GatewayError('Too_Many_Requests', 'Wait.'), 'Too_Many_Requests', 429, 0],
  ])('that cannot be checked %s is not reported as a wrong login', async (_why, thrown, errorName, httpStatus, failed) => {
    authenticate = () => Promise.reject(thrown);
    await knock();
    expect(refused).toMatchObject([{ error: { errorName, httpStatus }, headers: [] }]);
    expect(failures).toEqual(failed === 0 ? [] : [thrown]);
  });

  it('is refused when the gateway has started to stop during its login', async () => {
    reason = new GatewayError('Internal_error', 'Stopping.', { httpStatus: 503 });
    await knock();
    expect([refused.map(({ error }) => error), handed, loggedIn]).toEqual([[reason], [], []]);
  });

  it('whose device disconnected meanwhile is not passed on', async () => {
    await knock(requestOf(), (socket) => socket.destroy());
    expect([handed, loggedIn, refused]).toEqual([[], [], []]);
  });

  it('is closed with the gateway, unless it has already ended', async () => {
    const [first, second] = [await knock(), await knock()];
    first.destroy();
    first.destroyed = false;
    upgrades.end();
    expect([first.destroyed, second.destroyed]).toEqual([false, true]);
  });
});
