// A request from its headers to its handler, hook by hook: when it is counted, which slot it takes, why it is refused, and when it ends.
import { EventEmitter } from 'node:events';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Admission, type AdmissionDeps, createAdmission } from '../../src/http/admission.ts';
import { type Access, keyFor, knownAs, open } from '../../src/http/authentication.ts';
import { defaultLimits } from '../../src/http/limits.ts';
import { factsOf } from '../../src/http/request-facts.ts';
import type { Caller } from '../../src/kernel/callers.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const base = '/tillgate';
const keys = { one: '11111111-1111-4111-8111-111111111111', other: '22222222-2222-4222-8222-222222222222' };

type Hooks = {
  onRequest(request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void): void;
  preValidation(request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void): void;
  onSend(request: FastifyRequest, reply: FastifyReply, payload: unknown, next: (error?: Error, changed?: unknown) => void): void;
};

let clock: VirtualClock;
let logger: RecordingLogger;
let observed: unknown[][];
let told: unknown[][];
let refusal: GatewayError | undefined;
let admission: Admission;
let hooks: Hooks;
beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  logger = recordingLogger();
  [observed, told, refusal] = [[], [], undefined];
  create();
});

const findAny: AdmissionDeps['findCaller'] = async (key) => ({
  merchantId: key === keys.one ? 'one' : 'other',
  keyId: key,
  modules: new Set(['POS'] as const),
});

function create(limits: Partial<AdmissionDeps['limits']> = {}, findCaller = findAny): void {
  admission = createAdmission({
    ...{
      basePath: base,
      clock,
      logger,
      rateLimitPerS: 1_000,
      merchantRatePerS: 1_000,
      isAdminToken: () => false,
      findDevice: async () => undefined,
    },
    findCaller,
    metrics: { observeRequest: (...args: unknown[]) => void observed.push(args) } as unknown as AdmissionDeps['metrics'],
    limits: { ...defaultLimits, ...limits },
    unauthenticated: {
      ...{
        attach: () => {},
        cutHandshakes: () => {},
        count: 0,
        loggedIn: (socket) => void told.push(['logged in', socket]),
        ownerOf: () => undefined,
      },
      busy: (socket, isBusy) => void told.push([isBusy ? 'busy' : 'idle', socket]),
    },
    whyNot: () => refusal,
  });
  const added: Record<string, unknown> = {};
  admission.attach({
    addHook: (name: string, hook: unknown) => (added[name] = hook),
    server: new EventEmitter(),
  } as unknown as FastifyInstance);
  hooks = added as unknown as Hooks;
}

interface Given {
  url?: string;
  access?: Access | undefined;
  isLongLived?: boolean;
  is404?: boolean;
  query?: object;
  params?: object | undefined;
  ip?: string;
  key?: string;
}

function call(given: Given = {}) {
  const { url = '/Device/Pay', access = open, is404 = false, query = {}, params, ip = '192.0.2.1', key } = given;
  const raw = Object.assign(new EventEmitter(), { statusCode: 200, writableFinished: true });
  const socket = { of: ip, destroy: () => void told.push(['cut', ip]) };
  const request = {
    ...{ id: 'r', method: 'POST', is404, query, params, ip, body: {}, raw: { socket } },
    headers: key === undefined ? {} : { 'x-api-key': key },
    routeOptions: { url: `${base}${url}`, config: { access: 'access' in given ? given.access : access, isLongLived: given.isLongLived } },
  } as unknown as FastifyRequest;
  const reply = { raw } as unknown as FastifyReply;
  const begin = () => {
    let hasGoneOn = false;
    hooks.onRequest(request, reply, (error) => {
      if (error !== undefined) throw error;
      hasGoneOn = true;
    });
    return hasGoneOn;
  };
  const comeIn = () =>
    new Promise<void>((resolve, reject) => hooks.preValidation(request, reply, (error) => (error ? reject(error) : resolve())));
  const send = () => {
    let passedOn: unknown[] | undefined;
    hooks.onSend(request, reply, 'an answer', (...args) => (passedOn = args));
    // The hook does not change the answer.
    expect(passedOn).toEqual([]);
  };
  return { request, raw, socket, begin, comeIn, send };
}

/** Admits a request up to its handler. */
async function admitted(given: Given = {}) {
  const one = call(given);
  expect(one.begin()).toBe(true);
  await one.comeIn();
  return one;
}
const refused = async (given: Given = {}) => {
  const one = call(given);
  one.begin();
  return one.comeIn().then(
    () => 'let in',
    (error: GatewayError) => error.message,
  );
};

describe('a request', () => {
  it('ends when its answer is sent and its handler has returned: then it is logged and measured with its duration', async () => {
    await clock.advance(5_000);
    const { request, raw } = await admitted();
    factsOf(request).errorCode = 31;
    await clock.advance(250);
    raw.emit('close');
    expect([logger.lines, observed]).toEqual([[], []]);
    await clock.advance(50);
    admission.workEnded(request);
    expect(logger.lines).toMatchObject([{ message: 'request', fields: { route: `${base}/Device/Pay`, durationMs: 300, errorCode: 31 } }]);
    expect(observed).toEqual([['POST', `${base}/Device/Pay`, 31, 300]]);
  });

  it('that never reached its handler ends with its answer', () => {
    const { begin, raw } = call();
    begin();
    raw.emit('close');
    expect(observed).toHaveLength(1);
  });

  it('that is long-lived does not count as in flight', async () => {
    const { request, raw } = await admitted({ isLongLived: true });
    await admission.drained(1_000);
    admission.workEnded(request);
    raw.emit('close');
    expect([observed, clock.pending]).toEqual([[], 0]);
  });

  it('is awaited when the gateway stops', async () => {
    const { request, raw } = await admitted();
    let isDrained = false;
    const drained = admission.drained(1_000).then(() => (isDrained = true));
    raw.emit('close');
    await clock.settle();
    expect(isDrained).toBe(false);
    admission.workEnded(request);
    await drained;
    expect(clock.pending).toBe(0);
  });

  it('marks its connection as busy from its body until its answer is ready, read or not', async () => {
    const { begin, comeIn, send, socket } = call();
    begin();
    expect(told).toEqual([]);
    await comeIn();
    expect(told).toEqual([['busy', socket]]);
    send();
    send();
    expect(told).toEqual([
      ['busy', socket],
      ['idle', socket],
    ]);
  });

  it('with a valid key marks its connection as authenticated, and one to an open route does not', async () => {
    const keyed = await admitted({ access: keyFor('POS'), key: keys.one });
    expect(told).toContainEqual(['logged in', keyed.socket]);
    const stranger = await admitted({ ip: '192.0.2.2' });
    expect(told).not.toContainEqual(['logged in', stranger.socket]);
  });
});

describe('a request is refused', () => {
  it('while the gateway stops, except for health and metrics', () => {
    refusal = new GatewayError('Too_Many_Requests', 'The gateway is stopping.');
    expect(() => call().begin()).toThrow('stopping');
    expect(() => call({ url: '/healthy' }).begin()).toThrow('stopping');
    expect(() => call({ url: '/metrics/x' }).begin()).toThrow('stopping');
    for (const url of ['/health/live', '/health/ready', '/metrics']) expect(call({ url }).begin()).toBe(true);
  });

  it('with U+0000 in its query or path', () => {
    expect(() => call({ query: { a: 'x\0' } }).begin()).toThrow('U+0000');
    expect(() => call({ params: { file: 'a', id: 'x\0' } }).begin()).toThrow('There is no such path.');
    expect(call({ params: { file: 'a', id: 7 } }).begin()).toBe(true);
    expect(call({ params: undefined }).begin()).toBe(true);
  });

  it('without a valid key, except on open routes', async () => {
    expect(await refused({ access: keyFor('POS') })).toBe('APIKey is missing.');
    expect(await refused({ access: keyFor('POS'), is404: true })).toBe('let in');
    expect(await refused({ access: undefined })).toBe('let in');
  });
});

describe('request slots', () => {
  const keyed = { access: keyFor('POS'), key: keys.one };

  it('are released when the request has ended', async () => {
    create({ requestsInFlight: 1 });
    for (const given of [{}, keyed]) {
      const first = await admitted(given);
      const refusal = given === keyed ? 'The gateway is overloaded.' : 'Too many requests without a key are in flight.';
      expect(await refused({ ...given, ip: '192.0.2.2' })).toBe(refusal);
      first.raw.emit('close');
      expect(await refused({ ...given, ip: '192.0.2.2' })).toBe(refusal);
      admission.workEnded(first.request);
      const next = await admitted({ ...given, ip: '192.0.2.2' });
      next.raw.emit('close');
      admission.workEnded(next.request);
    }
  });

  it('are not needed by health, metrics and long-lived requests', async () => {
    create({ requestsInFlight: 0 });
    expect(await refused()).toMatch(/Too many requests/);
    for (const url of ['/health/live', '/metrics']) expect(await refused({ url })).toBe('let in');
    expect(await refused({ isLongLived: true })).toBe('let in');
    expect(await refused({ ...keyed, isLongLived: true })).toBe('let in');
  });

  it('are refused with Retry-After', async () => {
    create({ requestsInFlight: 0 });
    for (const given of [{}, keyed]) {
      const { begin, comeIn } = call(given);
      begin();
      await expect(comeIn()).rejects.toMatchObject({ errorName: 'Too_Many_Requests', retryAfterS: 1 });
    }
  });

  it('are charged to the merchant of the key: above its share it is refused, and another merchant is not', async () => {
    create({ requestsInFlight: 20, merchantSharePercent: 10 });
    const ask = (key: string) => refused({ access: keyFor('POS'), key, ip: `192.0.2.${(asked += 1)}` });
    let asked = 0;
    const answers: string[] = [];
    for (let count = 0; count < 16; count += 1) answers.push(await ask(keys.one));
    expect(answers.slice(0, 15)).toEqual(Array<string>(15).fill('let in'));
    expect(answers[15]).toContain('as its share allows');
    expect(await ask(keys.other)).toBe('let in');
  });

  it('of anonymous callers are separate: when all are taken, requests with a key and known programs are still served', async () => {
    create({ requestsInFlight: 40 });
    let anonymousSlots = 0;
    while ((await refused({ ip: `192.0.2.${anonymousSlots % 4}` })) === 'let in') anonymousSlots += 1;
    expect(anonymousSlots).toBe(20);
    expect(await refused({ ...keyed, ip: '192.0.2.1' })).toBe('let in');
    const broker = call();
    broker.begin();
    knownAs(broker.request, 'broker');
    await broker.comeIn();
    expect(told).toContainEqual(['logged in', broker.socket]);
  });

  it('of anonymous callers with unread answers are reclaimed by closing the connection; those still in progress are not', async () => {
    create({ requestsInFlight: 1 });
    const first = await admitted();
    expect(await refused({ ip: '192.0.2.2' })).toMatch(/Too many requests/);
    first.send();
    const second = await admitted({ ip: '192.0.2.2' });
    expect(told).toContainEqual(['cut', '192.0.2.1']);
    // The first request releases nothing again when it closes.
    admission.workEnded(first.request);
    first.raw.emit('close');
    expect(await refused({ ip: '192.0.2.3' })).toMatch(/Too many requests/);
    expect(told).not.toContainEqual(['cut', '192.0.2.2']);
    second.raw.emit('close');
  });

  it('are not taken during a credential look-up: above the limit the longest waiting request is refused, once', async () => {
    const lookUps: (() => void)[] = [];
    const wait = new Promise<void>((resolve) => lookUps.push(resolve));
    const known: Caller = { merchantId: 'one', keyId: keys.one, modules: new Set(['POS']) };
    create({ requestsInFlight: 2 }, async (key) => (key === keys.one ? known : wait.then(() => undefined)));
    const flood = [1, 2, 3].map((number) => refused({ access: keyFor('POS'), key: keys.other, ip: `192.0.2.${number}` }));
    expect(await flood[0]).toBe('Too many credentials are being looked up.');
    // A cached key is checked at once, and served.
    const till = await admitted(keyed);
    expect(await flood[1]).toBe('Too many credentials are being looked up.');
    admission.workEnded(till.request);
    till.raw.emit('close');
    lookUps[0]?.();
    expect(await flood[2]).toBe('APIKey is unknown, expired or revoked.');
    await clock.settle();
    expect(await refused(keyed)).toBe('let in');
  });
});
