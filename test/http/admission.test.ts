// A request from its headers to its handler, hook by hook: when it is counted, whose slot it takes, what refuses it, and when it is over.
import { EventEmitter } from 'node:events';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Admission, type AdmissionDeps, createAdmission } from '../../src/http/admission.ts';
import { type Access, keyFor, open } from '../../src/http/authentication.ts';
import { defaultLimits } from '../../src/http/limits.ts';
import { factsOf } from '../../src/http/request-facts.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const base = '/tillgate';
const keys = { one: '11111111-1111-4111-8111-111111111111', other: '22222222-2222-4222-8222-222222222222' };

type Hooks = {
  onRequest(request: FastifyRequest, reply: FastifyReply, next: () => void): void;
  preValidation(request: FastifyRequest, reply: FastifyReply): Promise<void>;
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

function create(limits: Partial<AdmissionDeps['limits']> = {}): void {
  admission = createAdmission({
    ...{ basePath: base, clock, logger, rateLimitPerS: 1_000, isAdminToken: () => false, findDevice: async () => undefined },
    findCaller: async (key) => ({ merchantId: key === keys.one ? 'one' : 'other', keyId: key, modules: new Set(['POS'] as const) }),
    metrics: { observeRequest: (...args: unknown[]) => void observed.push(args) } as unknown as AdmissionDeps['metrics'],
    limits: { ...defaultLimits, ...limits },
    newcomers: {
      ...{ attach: () => {}, count: 0, loggedIn: (socket) => void told.push(['logged in', socket]) },
      busy: (socket, isBusy) => void told.push([isBusy ? 'busy' : 'idle', socket]),
    },
    whyNot: () => refusal,
  });
  const added: Record<string, unknown> = {};
  admission.attach({ addHook: (name: string, hook: unknown) => (added[name] = hook) } as unknown as FastifyInstance);
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
  const socket = { of: ip };
  const request = {
    ...{ id: 'r', method: 'POST', is404, query, params, ip, body: {}, raw: { socket } },
    headers: key === undefined ? {} : { 'x-api-key': key },
    routeOptions: { url: `${base}${url}`, config: { access: 'access' in given ? given.access : access, isLongLived: given.isLongLived } },
  } as unknown as FastifyRequest;
  const reply = { raw } as unknown as FastifyReply;
  const begin = () => {
    let hasGoneOn = false;
    hooks.onRequest(request, reply, () => {
      hasGoneOn = true;
    });
    return hasGoneOn;
  };
  return { request, raw, socket, begin, comeIn: () => hooks.preValidation(request, reply) };
}

/** Let in as far as its handler. */
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
  it('is over when its answer is out and the work has ended: then it is logged and measured with its time', async () => {
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

  it('that never came to its handler is over with its answer', () => {
    const { begin, raw } = call();
    begin();
    raw.emit('close');
    expect(observed).toHaveLength(1);
  });

  it('that stays open for hours is no request under way', async () => {
    const { request, raw } = await admitted({ isLongLived: true });
    await admission.drained(1_000);
    admission.workEnded(request);
    raw.emit('close');
    expect([observed, clock.pending]).toEqual([[], 0]);
  });

  it('is waited for when the gateway stops', async () => {
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

  it('makes its connection busy from its body on until its answer is out', async () => {
    const { begin, comeIn, raw, socket } = call();
    begin();
    expect(told).toEqual([]);
    await comeIn();
    expect(told).toEqual([['busy', socket]]);
    raw.emit('close');
    expect(told.at(-1)).toEqual(['idle', socket]);
  });

  it('whose key was good makes its connection known, and one that is open to all does not', async () => {
    const keyed = await admitted({ access: keyFor('POS'), key: keys.one });
    expect(told).toContainEqual(['logged in', keyed.socket]);
    const stranger = await admitted({ ip: '192.0.2.2' });
    expect(told).not.toContainEqual(['logged in', stranger.socket]);
  });
});

describe('what refuses a request', () => {
  it('is a stop, for all but the probes of whoever watches it', () => {
    refusal = new GatewayError('Too_Many_Requests', 'The gateway is stopping.');
    expect(() => call().begin()).toThrow('stopping');
    expect(() => call({ url: '/healthy' }).begin()).toThrow('stopping');
    expect(() => call({ url: '/metrics/x' }).begin()).toThrow('stopping');
    for (const url of ['/health/live', '/health/ready', '/metrics']) expect(call({ url }).begin()).toBe(true);
  });

  it('is a sign that no text may have, in its query or in its path', () => {
    expect(() => call({ query: { a: 'x\0' } }).begin()).toThrow('U+0000');
    expect(() => call({ params: { file: 'a', id: 'x\0' } }).begin()).toThrow('There is no such path.');
    expect(call({ params: { file: 'a', id: 7 } }).begin()).toBe(true);
    expect(call({ params: undefined }).begin()).toBe(true);
  });

  it('is its key, and nothing where nobody is to be judged', async () => {
    expect(await refused({ access: keyFor('POS') })).toBe('APIKey is missing.');
    expect(await refused({ access: keyFor('POS'), is404: true })).toBe('let in');
    expect(await refused({ access: undefined })).toBe('let in');
  });
});

describe('slots', () => {
  it('are taken by the address and given back when the request is over', async () => {
    create({ requestsInFlight: 1 });
    const first = await admitted();
    expect(await refused({ ip: '192.0.2.2' })).toBe('The gateway is overloaded.');
    first.raw.emit('close');
    expect(await refused({ ip: '192.0.2.2' })).toBe('The gateway is overloaded.');
    admission.workEnded(first.request);
    expect(await refused({ ip: '192.0.2.2' })).toBe('let in');
  });

  it('are not needed by probes and by what stays open', async () => {
    create({ requestsInFlight: 0 });
    expect(await refused()).toBe('The gateway is overloaded.');
    for (const url of ['/health/live', '/metrics']) expect(await refused({ url })).toBe('let in');
    expect(await refused({ isLongLived: true })).toBe('let in');
    expect(await refused({ isLongLived: true, access: keyFor('POS'), key: keys.one })).toBe('let in');
  });

  it('say when to come again', async () => {
    create({ requestsInFlight: 0 });
    const { begin, comeIn } = call();
    begin();
    await expect(comeIn()).rejects.toMatchObject({ errorName: 'Too_Many_Requests', retryAfterS: 1 });
  });

  it('are a merchant’s once its key is known: over its share it is refused, and its neighbour is not', async () => {
    create({ requestsInFlight: 20, merchantSharePercent: 10 });
    const ask = (key: string) => refused({ access: keyFor('POS'), key, ip: `192.0.2.${(asked += 1)}` });
    let asked = 0;
    const answers: string[] = [];
    for (let count = 0; count < 16; count += 1) answers.push(await ask(keys.one));
    expect(answers.slice(0, 15)).toEqual(Array<string>(15).fill('let in'));
    expect(answers[15]).toContain('as its share allows');
    expect(await ask(keys.other)).toBe('let in');
  });
});
