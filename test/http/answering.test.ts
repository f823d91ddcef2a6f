// Headers, envelope and log line of every answer, failure and success alike, on fake replies.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { beforeEach, describe, expect, it } from 'vitest';
import { answerFailure, answerInEnvelope } from '../../src/http/answering.ts';
import { keyFor } from '../../src/http/authentication.ts';
import { factsOf } from '../../src/http/request-facts.ts';
import { logCrash, logRequest, routeOf, subjectsOf } from '../../src/http/request-log.ts';
import { createRouteTable } from '../../src/http/route-table.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';

const uuid = (digit: string) => `${digit.repeat(8)}-${digit.repeat(4)}-4${digit.repeat(3)}-8${digit.repeat(3)}-${digit.repeat(12)}`;

class FakeReply {
  readonly headers: Record<string, string> = { connection: 'keep-alive' };
  status = 0;
  body: unknown;
  raw = { statusCode: 200, writableFinished: true };
  header = (name: string, value: string) => {
    this.headers[name] = value;
    return this;
  };
  hasHeader = (name: string) => name in this.headers;
  removeHeader = (name: string) => void delete this.headers[name];
  code(status: number) {
    this.status = status;
    return this;
  }
  type = (value: string) => this.header('content-type', value);
  serializer = () => this;
  send = (body: unknown) => void (this.body = body);
  asReply = () => this as unknown as FastifyReply;
}

const requestOf = (more: object = {}) =>
  ({
    ...{ id: 'r-1', method: 'GET', protocol: 'http', is404: false, headers: {}, url: '/x', body: undefined, query: {} },
    routeOptions: { url: '/tillgate/Device/Pay', config: { access: keyFor('POS') } },
    ...more,
  }) as unknown as FastifyRequest;

let logger: RecordingLogger;
let reply: FakeReply;
beforeEach(() => {
  logger = recordingLogger();
  reply = new FakeReply();
});

function fail(thrown: unknown, request = requestOf()) {
  answerFailure(logger, thrown, request, reply.asReply());
  return { facts: factsOf(request), headers: reply.headers };
}

describe('a failure', () => {
  it('has its envelope, its status and the headers of every answer', () => {
    const { facts, headers } = fail(new GatewayError('Device_Busy', 'It is.'));
    expect([reply.status, reply.body, facts.errorCode]).toEqual([200, { errorCode: 31, errorMessage: 'Device_Busy: It is.' }, 31]);
    expect(headers).toEqual({
      ...{ connection: 'keep-alive', 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' },
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      ...{ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'x-request-id': 'r-1' },
    });
    expect(logger.lines).toEqual([]);
  });

  it('keeps the cache and frame headers of its route, and has HSTS over HTTPS', () => {
    Object.assign(reply.headers, { 'cache-control': 'private', 'content-security-policy': 'mine' });
    const { headers } = fail(new GatewayError('Device_Busy', 'It is.'), requestOf({ protocol: 'https' }));
    expect(headers).toMatchObject({ 'cache-control': 'private', 'content-security-policy': 'mine' });
    expect(headers['strict-transport-security']).toBe('max-age=31536000');
  });

  it.each([
    [429, { 'retry-after': '7' }, new GatewayError('Too_Many_Requests', 'Wait.', { retryAfterS: 7 })],
    [401, { 'www-authenticate': 'Bearer' }, new GatewayError('Invalid_API_Key', 'No.', { httpStatus: 401 })],
    [408, { connection: 'close' }, new GatewayError('Invalid_Request', 'Slow.', { httpStatus: 408 })],
  ])('with %i has its own header, and no other', (status, expected, error) => {
    const { headers } = fail(error);
    expect(reply.status).toBe(status);
    expect(headers).toMatchObject(expected);
    const others = ['retry-after', 'www-authenticate'].filter((name) => !(name in expected));
    expect(Object.keys(headers).filter((name) => others.includes(name))).toEqual([]);
    if (status !== 408) expect(headers['connection']).toBe('keep-alive');
  });

  it('with 413 does not close the connection while the client still writes', () => {
    expect(fail(new GatewayError('Invalid_Request', 'Large.', { httpStatus: 413 })).headers).not.toHaveProperty('connection');
  });

  it('says what this request did not do where the code alone is ambiguous', () => {
    fail(new GatewayError('Too_Many_Requests', 'Wait.'));
    expect(reply.body).toMatchObject({ errorMessage: expect.stringContaining('an earlier one may have') });
  });

  it('records its OID for the log if it has one', () => {
    expect(fail(new GatewayError('Device_Busy', 'x', { fields: { OID: uuid('a') } })).facts.oid).toBe(uuid('a'));
    expect(fail(new GatewayError('Device_Busy', 'x', { fields: { OID: 5 } })).facts.oid).toBeUndefined();
    expect(fail(new GatewayError('Device_Busy', 'x', { fields: { other: 'x' } })).facts.oid).toBeUndefined();
  });

  it('that is unexpected is logged, and an expected one is not', () => {
    fail(new GatewayError('Internal_error', 'Meant.'));
    expect(logger.lines).toEqual([]);
    fail(new TypeError('odd'));
    expect(logger.lines).toMatchObject([{ level: 'error', fields: { requestId: 'r-1', stack: expect.stringContaining('odd') } }]);
    fail(Object.assign(new Error('large'), { code: 'FST_ERR_CTP_BODY_TOO_LARGE', statusCode: 413 }));
    expect(logger.lines).toHaveLength(1);
  });
});

describe('a success', () => {
  type Hook = (request: FastifyRequest, reply: FastifyReply, payload: unknown, next: (error: null, payload: unknown) => void) => void;
  let hooks: Record<string, Hook>;
  let isLast: boolean;
  let serialize: (body: unknown) => string;
  beforeEach(() => {
    [hooks, isLast] = [{}, false];
    const app = {
      setSerializerCompiler: (compiler: () => typeof serialize) => (serialize = compiler()),
      addHook: (name: string, hook: Hook) => (hooks[name] = hook),
    };
    answerInEnvelope(app as unknown as FastifyInstance, () => isLast);
  });
  const run = (name: string, request: FastifyRequest, payload: unknown) => {
    let sent: unknown = 'nothing';
    hooks[name]?.(request, reply.asReply(), payload, (_error, given) => (sent = given));
    return sent;
  };

  it('is put into the envelope once, and its OID is recorded', () => {
    const request = requestOf();
    const body = run('preSerialization', request, { OID: uuid('a'), x: 1 });
    expect(body).toEqual({ errorCode: 0, errorMessage: '', OID: uuid('a'), x: 1 });
    expect([factsOf(request), serialize({ a: 1 })]).toEqual([{ presentedSecrets: [], errorCode: 0, oid: uuid('a') }, '{"a":1}']);
    expect(run('preSerialization', request, 'as it is')).toBe('as it is');
  });

  it.each([null, undefined, 'text', [1]])('cannot be %j', (payload) => {
    expect(() => run('preSerialization', requestOf(), payload)).toThrow('must return an object');
  });

  it('has the headers of every answer, closes its connection only during a drain, and is counted even without an envelope', () => {
    const request = requestOf();
    expect(run('onSend', request, 'payload')).toBe('payload');
    expect([reply.headers['x-request-id'], reply.headers['connection'], factsOf(request).errorCode]).toEqual(['r-1', 'keep-alive', 0]);
    isLast = true;
    const failed = requestOf();
    factsOf(failed).errorCode = 31;
    run('onSend', failed, '');
    expect([reply.headers['connection'], factsOf(failed).errorCode]).toEqual(['close', 31]);
  });
});

describe('the log line of a request', () => {
  const logged = (request: FastifyRequest, more: object = {}) => {
    Object.assign(reply.raw, more);
    logRequest(logger, request, reply.asReply(), 12.3456);
    return logger.lines.at(-1);
  };

  it('has route, outcome and duration, and whether the client disconnected', () => {
    const request = requestOf();
    Object.assign(factsOf(request), { merchantId: 'm', errorCode: 31 });
    const fields = {
      requestId: 'r-1',
      method: 'GET',
      route: '/tillgate/Device/Pay',
      merchantId: 'm',
      httpStatus: 200,
      errorCode: 31,
      durationMs: 12.3,
    };
    expect(logged(request)).toEqual({ level: 'info', message: 'request', fields });
    expect(logged(request, { writableFinished: false })?.fields).toEqual({ ...fields, clientLeft: true });
  });

  it.each([
    [0, false, 'info'],
    [0, true, 'debug'],
    [1, true, 'warn'],
    [2, false, 'warn'],
    [3, true, 'info'],
  ])('of errorCode %i, with logsSuccessAtDebug %s, has level %s', (errorCode, logsSuccessAtDebug, level) => {
    const request = requestOf({ routeOptions: { url: '/x', config: { logsSuccessAtDebug } } });
    factsOf(request).errorCode = errorCode;
    expect(logged(request)?.level).toBe(level);
  });

  it('has the route pattern, never the path', () => {
    expect(routeOf(requestOf())).toBe('/tillgate/Device/Pay');
    expect(routeOf(requestOf({ is404: true }))).toBe('unmatched');
    expect(routeOf(requestOf({ routeOptions: {} }))).toBe('unmatched');
  });

  it('has device, document and operation if they are UUIDs and no secret of the caller', () => {
    const body = { DeviceID: uuid('a').toUpperCase(), documentNr: uuid('b'), OID: uuid('c') };
    expect(subjectsOf(requestOf({ body }))).toEqual({ deviceId: uuid('a'), documentNr: uuid('b'), oid: uuid('c') });
    expect(subjectsOf(requestOf({ query: body }))).toEqual({ deviceId: uuid('a'), documentNr: uuid('b'), oid: uuid('c') });
    expect(subjectsOf(requestOf({ body: { DeviceID: 'x', documentNr: 5 }, query: { OID: '' } }))).toEqual({});
    expect(subjectsOf(requestOf({ body: 'text', query: null }))).toEqual({});
    expect(subjectsOf(requestOf({ body: Object.create(body) as object }))).toEqual({});
    const request = requestOf({ body });
    Object.assign(factsOf(request), { presentedSecrets: [uuid('a').toUpperCase(), 'x'], oid: uuid('d') });
    expect(subjectsOf(request)).toEqual({ documentNr: uuid('b'), oid: uuid('d') });
  });

  it('of a crash contains neither secrets nor card numbers', () => {
    const request = requestOf();
    factsOf(request).presentedSecrets.push('canary', 'four', 'abc', '');
    const error = new Error('four abc 4111111111111111 canary', { cause: new Error('canary below') });
    logCrash(logger, request, error);
    const { stack, cause } = (logger.lines[0]?.fields ?? {}) as { stack?: string; cause?: string };
    expect(stack).toContain('[secret] abc 411111******1111 [secret]');
    expect([cause, logger.lines[0]?.fields]).toEqual(['[secret] below', { requestId: 'r-1', route: '/tillgate/Device/Pay', stack, cause }]);
    logCrash(logger, request, 'canary alone');
    expect(logger.lines[1]?.fields).toMatchObject({ stack: '[secret] alone', cause: undefined });
    const bare = Object.assign(new Error('bare'), { stack: undefined, cause: 'no error' });
    logCrash(logger, request, bare);
    expect(logger.lines[2]?.fields).toMatchObject({ stack: 'bare', cause: undefined });
  });
});

describe('an unknown path', () => {
  let table: ReturnType<typeof createRouteTable>;
  beforeEach(() => {
    table = createRouteTable('');
    table.add(['GET', 'HEAD'], '/base/things/:id');
    table.add(['DELETE', 'GET'], '/base/things/:id/');
    table.add(['POST'], '/base/a.b/*');
  });
  const refuse = (url: string, headers: object = {}) => {
    try {
      table.refuseUnknown(requestOf({ url, headers }), reply.asReply());
      return undefined;
    } catch (error) {
      const { httpStatus, message } = error as GatewayError;
      return [httpStatus, message];
    }
  };

  it('is 405 with the allowed methods if another method has it, in any case and spelling', () => {
    for (const url of ['/base/things/7', '/BASE/Things/7/', '/base/things/7?a=/b']) {
      expect(refuse(url)).toEqual([405, 'The method must be DELETE or GET or HEAD.']);
      expect(reply.headers['allow']).toBe('DELETE, GET, HEAD');
    }
    expect(refuse('/base/a.b/c/d')).toEqual([405, 'The method must be POST.']);
    expect(reply.headers['connection']).toBe('keep-alive');
  });

  it.each(['/base/things', '/base/things/7/8', '/base/axb/c', '/x/base/things/7', '/base/things/7//', ''])(
    'is 404 otherwise: %s',
    (url) => {
      expect(refuse(url)).toEqual([404, 'There is no such path.']);
      expect(reply.headers).not.toHaveProperty('allow');
    },
  );

  it('closes the connection of an upgrade request', () => {
    refuse('/nowhere', { upgrade: 'websocket' });
    expect(reply.headers['connection']).toBe('close');
  });
});
