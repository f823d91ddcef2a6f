// The access check: which credential counts, which secrets are kept out of the log, and which owner a slot is charged to.
import type { FastifyRequest } from 'fastify';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Access,
  type AccessOptions,
  callerOf,
  createAccessJudge,
  createTokenCheck,
  createUpgradeLogin,
  deviceCallerOf,
  keyFor,
  metricsOnly,
  open,
  optionalCallerOf,
  optionalKey,
  ownerOf,
} from '../../src/http/authentication.ts';
import { factsOf } from '../../src/http/request-facts.ts';
import { actorOf, adminViewer, optionalViewerOf, type Viewer, viewerOf } from '../../src/http/viewer.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const key = '11111111-1111-4111-8111-11111111111a';
const otherKey = '22222222-2222-4222-8222-222222222222';
const deviceId = '33333333-3333-4333-8333-33333333333c';
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const cabinet = (more: object = {}) =>
  ({ kind: 'cabinet', call: 'c', who: ['operator'], isConfirmed: false, ...more }) as Extract<Access, { kind: 'cabinet' }>;

let clock: VirtualClock;
let asked: unknown[];
let failedLogins: string[];
let viewer: Viewer | undefined;
beforeEach(() => {
  clock = createVirtualClock();
  asked = [];
  failedLogins = [];
  viewer = { name: 'Ana', actor: 'Ana <ana@shop.md>', role: 'operator', userId: 'u', sessionId: 's', confirmedUntilMs: 1_000 };
});

function judgeOf(options: Partial<AccessOptions> = {}) {
  return createAccessJudge({
    clock,
    rateLimitPerS: 100,
    merchantRatePerS: 1_000,
    async findCaller(apiKey) {
      asked.push(apiKey);
      return apiKey === key ? { merchantId: 'm', keyId: 'k', modules: new Set(['POS'] as const), sharePercent: 7 } : undefined;
    },
    async findDevice(id, secret) {
      asked.push([id, secret]);
      return secret === 'right:one' ? { deviceId: id, merchantId: 'dm', sharePercent: 9 } : undefined;
    },
    isAdminToken: (token) => token === 'admin',
    async findSession(token) {
      asked.push(token);
      return token === 'mine' ? viewer : undefined;
    },
    basePath: '/tillgate',
    onFailedLogin: ({ address }) => failedLogins.push(address),
    ...options,
  }).judge;
}

interface Given {
  method?: string;
  query?: unknown;
  body?: unknown;
  headers?: Record<string, string>;
}
const requestOf = ({ method = 'GET', query = {}, body, headers = {} }: Given = {}) =>
  ({ method, query, body, headers, ip: '2001:db8::7', host: 'gate.example', routeOptions: {} }) as unknown as FastifyRequest;

/** The error, or undefined if access is granted. */
async function refusal(access: Access, given: Given | FastifyRequest = {}, judge = judgeOf()) {
  const request = 'ip' in given ? given : requestOf(given);
  return judge(request, access).then(
    () => undefined,
    (error: { errorName: string; httpStatus: number; message: string }) => error,
  );
}
const nameOf = async (...args: Parameters<typeof refusal>) => (await refusal(...args))?.errorName;

describe('a key', () => {
  it('is recorded as used if it is valid, unlike any other credential', async () => {
    const used: string[] = [];
    const judge = judgeOf({ onKeyUsed: (keyId) => used.push(keyId) });
    const present = (apiKey: string) => refusal(keyFor('POS'), { query: { APIKey: apiKey } }, judge);
    expect(await present(key)).toBeUndefined();
    expect(used).toEqual(['k']);
    expect(await present('99999999-9999-4999-8999-999999999999')).toMatchObject({ errorName: 'Invalid_API_Key' });
    expect(used).toEqual(['k']);
  });

  it('is read from the fields of its method, and removed from them', async () => {
    const [get, post] = [requestOf({ query: { APIKey: key, a: 1 } }), requestOf({ method: 'POST', body: { APIKey: key, a: 1 } })];
    for (const request of [get, post]) expect(await refusal(keyFor('POS'), request)).toBeUndefined();
    expect([get.query, post.body]).toEqual([{ a: 1 }, { a: 1 }]);
    expect(await nameOf(keyFor('POS'), { method: 'POST', query: { APIKey: key } })).toBe('Invalid_API_Key');
    expect(await nameOf(keyFor('POS'), { body: { APIKey: key } })).toBe('Invalid_API_Key');
  });

  it.each([undefined, null, ''])('that is %j in its field is read from the header', async (APIKey) => {
    expect(await refusal(keyFor('POS'), { query: { APIKey }, headers: { 'x-api-key': key } })).toBeUndefined();
  });

  it.each([null, undefined, 'text', 7])('is read from the header when the body is %j', async (body) => {
    expect(await refusal(keyFor('POS'), { method: 'POST', body, headers: { 'x-api-key': key } })).toBeUndefined();
  });

  it('on the prototype of the query is ignored', async () => {
    expect((await refusal(keyFor('POS'), { query: Object.create({ APIKey: key }) as object }))?.message).toContain('missing');
  });

  it.each([
    [{ APIKey: '' }, 'missing'],
    [{}, 'missing'],
    [{ APIKey: 'x' }, 'UUID'],
    [{ APIKey: 5 }, 'UUID'],
    [{ APIKey: otherKey }, 'unknown'],
  ])('%j is refused with a message that contains %s', async (query, sentence) => {
    expect(await refusal(keyFor('POS'), { query })).toMatchObject({
      errorName: 'Invalid_API_Key',
      message: expect.stringContaining(sentence),
    });
  });

  it('in an empty header counts as missing', async () => {
    expect((await refusal(keyFor('POS'), { headers: { 'x-api-key': '' } }))?.message).toContain('missing');
  });

  it('identifies its merchant, and is kept out of the log in both spellings', async () => {
    const request = requestOf({ query: { APIKey: key.toUpperCase() } });
    await refusal(keyFor('Fiscal', 'POS'), request);
    expect(factsOf(request)).toMatchObject({ presentedSecrets: [key.toUpperCase(), key], merchantId: 'm' });
    expect([callerOf(request).keyId, optionalCallerOf(request)?.keyId, deviceCallerOf(request)]).toEqual(['k', 'k', undefined]);
    expect(ownerOf(request)).toEqual({ name: 'merchant m', sharePercent: 7 });
    const wrong = requestOf({ query: { APIKey: 'secret' } });
    await refusal(keyFor('POS'), wrong);
    expect(factsOf(wrong).presentedSecrets).toEqual(['secret']);
    const number = requestOf({ query: { APIKey: 5 } });
    await refusal(keyFor('POS'), number);
    expect(factsOf(number).presentedSecrets).toEqual([]);
    expect(() => callerOf(number)).toThrow('without a key');
  });

  it('has access to its own modules only, and the refusal names the module', async () => {
    expect(await refusal(keyFor('QR', 'Fiscal'), { query: { APIKey: key } })).toMatchObject({
      errorName: 'API_Key_Wrong_Product',
      message: 'APIKey does not open the module QR or Fiscal.',
    });
  });

  it('has a rate limit, of at least one request', async () => {
    const judge = judgeOf({ rateLimitPerS: 2 });
    const ask = () => nameOf(keyFor('POS'), { query: { APIKey: key } }, judge);
    expect([await ask(), await ask(), await ask()]).toEqual([undefined, undefined, 'Too_Many_Requests']);
    await clock.advance(500);
    expect([await ask(), await ask()]).toEqual([undefined, 'Too_Many_Requests']);
    // A call refused for its module counts as well.
    const wrongModule = judgeOf({ rateLimitPerS: 2 });
    const askFor = (module: 'POS' | 'QR') => nameOf(keyFor(module), { query: { APIKey: key } }, wrongModule);
    expect([await askFor('QR'), await askFor('QR'), await askFor('POS')]).toEqual([
      ...['API_Key_Wrong_Product', 'API_Key_Wrong_Product', 'Too_Many_Requests'],
    ]);
    const slow = judgeOf({ rateLimitPerS: 0.5 });
    expect(await nameOf(keyFor('POS'), { query: { APIKey: key } }, slow)).toBeUndefined();
  });
});

describe('a merchant', () => {
  const findCaller = async (apiKey: string) => ({
    ...{ merchantId: apiKey === otherKey ? 'other' : 'm', keyId: apiKey, modules: new Set(['POS'] as const) },
  });

  it('has a rate limit for all its keys together, separate from other merchants', async () => {
    const judge = judgeOf({ rateLimitPerS: 2, merchantRatePerS: 3, findCaller });
    const keys = [key, key.replace(/^./, 'a'), key.replace(/^./, 'b'), otherKey];
    const ask = (apiKey = '') => refusal(keyFor('POS'), { query: { APIKey: apiKey } }, judge);
    expect([await ask(keys[0]), await ask(keys[0]), await ask(keys[1])]).toEqual([undefined, undefined, undefined]);
    const message = 'The keys of the merchant have used up their requests for this second.';
    expect(await ask(keys[2])).toMatchObject({ errorName: 'Too_Many_Requests', retryAfterS: 1, message });
    expect(await ask(otherKey)).toBeUndefined();
    await clock.advance(334);
    expect(await ask(keys[2])).toBeUndefined();
  });

  it('has as many for its devices and for its users, counted separately, so that a flood of one kind does not affect the others', async () => {
    const judge = judgeOf({
      ...{ rateLimitPerS: 1, merchantRatePerS: 2, findCaller },
      findDevice: async (deviceId) => ({ deviceId, merchantId: 'm' }),
      findSession: async (token) => ({ ...adminViewer, role: 'merchant', merchantId: 'm', sessionId: token, userId: token.slice(0, 3) }),
    });
    const asDevice = (id: string) => refusal(optionalKey('QR', true), { headers: { authorization: basic(`${id}:secret`) } }, judge);
    const asUser = (session: string) =>
      refusal(cabinet({ who: ['merchant'] }), { headers: { cookie: `tillgate_session=${session}` } }, judge);
    expect(await asDevice(deviceId)).toBeUndefined();
    expect(await asDevice(deviceId)).toMatchObject({ message: 'The device has used up its requests for this second.' });
    expect(await asDevice(deviceId.replace(/^./, 'a'))).toBeUndefined();
    expect((await asDevice(deviceId.replace(/^./, 'b')))?.message).toMatch(/^The devices of the merchant have used up/);
    expect(await asUser('one')).toBeUndefined();
    expect(await asUser('one again')).toMatchObject({ message: 'You have used up your requests for this second.' });
    expect(await asUser('two')).toBeUndefined();
    expect((await asUser('three'))?.message).toMatch(/^The users of the merchant have used up/);
    expect(await refusal(keyFor('POS'), { query: { APIKey: key } }, judge)).toBeUndefined();
  });
});

describe('an optional key', () => {
  it('may be absent unless a credential is required', async () => {
    const request = requestOf();
    expect(await refusal(optionalKey('POS', false), request)).toBeUndefined();
    expect([optionalCallerOf(request), deviceCallerOf(request), ownerOf(request)]).toEqual([undefined, undefined, undefined]);
    expect(await refusal(optionalKey('POS', true))).toMatchObject({
      errorName: 'Invalid_API_Key',
      message: expect.stringContaining('needed'),
    });
    expect(await refusal(optionalKey('POS', true), { query: { APIKey: key } })).toBeUndefined();
    expect(await nameOf(optionalKey('QR', false), { query: { APIKey: key } })).toBe('API_Key_Wrong_Product');
    expect(asked).toEqual([key, key]);
  });

  it('may be a device’s credential, which is charged to its merchant and kept out of the log', async () => {
    const authorization = basic(`${deviceId.toUpperCase()}:right:one`);
    const request = requestOf({ headers: { authorization } });
    expect(await refusal(optionalKey('QR', true), request)).toBeUndefined();
    expect(asked).toEqual([[deviceId, 'right:one']]);
    expect([deviceCallerOf(request)?.deviceId, ownerOf(request)]).toEqual([deviceId, { name: 'merchant dm', sharePercent: 9 }]);
    expect(factsOf(request)).toMatchObject({ merchantId: 'dm', presentedSecrets: [authorization.slice(6), 'right:one'] });
  });

  it.each([
    [basic(`${deviceId}:wrong`), 1],
    [basic('x:right:one'), 0],
    [basic(deviceId), 0],
    [basic(':right:one'), 0],
    ['Basic', 0],
    ['basic   !!!', 0],
  ])('that is a wrong credential (%s) is refused, and ignored beside a valid key [D147]', async (authorization, questions) => {
    const request = requestOf({ headers: { authorization } });
    expect(await refusal(optionalKey('POS', false), request)).toMatchObject({
      errorName: 'Invalid_API_Key',
      message: expect.stringContaining('credential'),
    });
    expect([asked.length, factsOf(request).merchantId]).toEqual([questions, undefined]);
    const beside = requestOf({ query: { APIKey: key }, headers: { authorization } });
    expect(await refusal(optionalKey('POS', true), beside)).toBeUndefined();
    expect([optionalCallerOf(beside)?.keyId, deviceCallerOf(beside)]).toEqual(['k', undefined]);
    expect(await nameOf(optionalKey('POS', false), { query: { APIKey: otherKey }, headers: { authorization } })).toBe('Invalid_API_Key');
  });

  it('is unaffected by a Bearer token', async () => {
    expect(await refusal(optionalKey('POS', false), { headers: { authorization: 'Bearer x' } })).toBeUndefined();
  });
});

describe('the login of a device for a WebSocket', () => {
  const findDevice = async (id: string, secret: string) => (secret === 'right' ? { deviceId: id, merchantId: 'm' } : undefined);
  const logIn = createUpgradeLogin(findDevice);

  it('needs Basic credentials, and distinguishes missing from wrong ones', async () => {
    expect(await logIn(basic(`${deviceId}:right`))).toEqual({ deviceId, merchantId: 'm' });
    for (const none of [undefined, '', 'Bearer x']) await expect(logIn(none)).rejects.toThrow('must be Basic');
    for (const wrong of [basic(`${deviceId}:wrong`), basic('x:right'), 'Basic']) await expect(logIn(wrong)).rejects.toThrow('is wrong');
  });
});

describe('the cabinet', () => {
  const own = { 'x-tillgate-request': '1' };
  const cookie = { cookie: 'tillgate_session=mine' };

  it('accepts the admin token from any origin, and counts a wrong one for its network', async () => {
    const request = requestOf({ method: 'POST', headers: { authorization: 'bearer  admin', ...cookie } });
    expect(await refusal(cabinet({ isConfirmed: true }), request)).toBeUndefined();
    expect([viewerOf(request), factsOf(request).presentedSecrets, asked]).toEqual([adminViewer, ['admin'], []]);
    expect([actorOf(request), ownerOf(request)]).toEqual(['admin token', { name: 'person admin token', sharePercent: 20 }]);
    const wrong = requestOf({ headers: { authorization: 'Bearer wrong', ...cookie } });
    expect(await refusal(cabinet({ who: 'public' }), wrong)).toMatchObject({ errorName: 'Invalid_API_Key', httpStatus: 401 });
    expect([failedLogins, factsOf(wrong).presentedSecrets, asked]).toEqual([['2001:db8::'], ['wrong'], []]);
    const deaf = judgeOf({ onFailedLogin: undefined });
    expect(await refusal(cabinet(), { headers: { authorization: 'Bearer wrong' } }, deaf)).toMatchObject({ httpStatus: 401 });
  });

  it('accepts a session cookie, keeps it out of the log, and names its user', async () => {
    const request = requestOf({ headers: cookie });
    expect(await refusal(cabinet(), request)).toBeUndefined();
    expect([viewerOf(request), factsOf(request).presentedSecrets]).toEqual([viewer, ['mine']]);
    expect([factsOf(request).merchantId, ownerOf(request), actorOf(request)]).toEqual([
      undefined,
      { name: 'person u', sharePercent: 20 },
      'Ana <ana@shop.md>',
    ]);
    viewer = { ...(viewer as Viewer), merchantId: 'shop' };
    const ofMerchant = requestOf({ headers: cookie });
    await refusal(cabinet(), ofMerchant);
    expect(factsOf(ofMerchant).merchantId).toBe('shop');
    // All users of a merchant share one owner: with one share per user, two could take all slots.
    expect(ownerOf(ofMerchant)).toEqual({ name: 'people of shop', sharePercent: 20 });
  });

  it.each([{}, { cookie: 'tillgate_session=unknown' }])('has no viewer for %j', async (headers: { cookie?: string }) => {
    const request = requestOf({ headers });
    expect(await refusal(cabinet(), request)).toMatchObject({ errorName: 'Invalid_API_Key', httpStatus: 401 });
    expect(() => viewerOf(request)).toThrow('without sign-in');
    // Without a cookie there is no look-up, and no secret to keep out of the log.
    const token = headers.cookie?.split('=')[1];
    expect([asked, factsOf(request).presentedSecrets]).toEqual(token === undefined ? [[], []] : [[token], [token]]);
    const door = requestOf({ headers });
    expect(await refusal(cabinet({ who: 'public', isConfirmed: true }), door)).toBeUndefined();
    expect(optionalViewerOf(door)).toBeUndefined();
  });

  it('refuses a session if there are no sessions', async () => {
    expect(await refusal(cabinet(), { headers: cookie }, judgeOf({ findSession: undefined }))).toMatchObject({ httpStatus: 401 });
  });

  it('accepts changes from its own page only, and reads from any', async () => {
    expect(await refusal(cabinet(), { method: 'POST', headers: cookie })).toMatchObject({ errorName: 'Invalid_Request', httpStatus: 403 });
    expect(await refusal(cabinet({ who: 'public' }), { method: 'DELETE' })).toMatchObject({ httpStatus: 403 });
    expect(await refusal(cabinet(), { method: 'POST', headers: { ...cookie, ...own } })).toBeUndefined();
    expect(await refusal(cabinet({ who: 'public' }), { method: 'POST', headers: own })).toBeUndefined();
    const elsewhere = { ...cookie, ...own, origin: 'https://pay.example' };
    expect(await refusal(cabinet(), { method: 'POST', headers: elsewhere })).toMatchObject({ httpStatus: 403 });
    expect(
      await refusal(
        cabinet(),
        { method: 'POST', headers: { ...elsewhere, cookie: '__Host-tillgate_session=mine' } },
        judgeOf({ publicUrl: 'https://pay.example/x' }),
      ),
    ).toBeUndefined();
  });

  it('checks the role of a user, and that the confirmation has not expired', async () => {
    expect(await refusal(cabinet({ who: ['merchant', 'viewer'] }), { headers: cookie })).toMatchObject({
      errorName: 'API_Key_Wrong_Product',
      httpStatus: 403,
    });
    expect(await refusal(cabinet({ who: ['merchant', 'operator'], isConfirmed: true }), { headers: cookie })).toBeUndefined();
    await clock.advance(999);
    expect(await refusal(cabinet({ isConfirmed: true }), { headers: cookie })).toBeUndefined();
    await clock.advance(1);
    expect(await refusal(cabinet({ isConfirmed: true }), { headers: cookie })).toMatchObject({
      ...{ errorName: 'Invalid_API_Key', httpStatus: 403, fields: { needsConfirmation: true } },
    });
    expect(await refusal(cabinet(), { headers: cookie })).toBeUndefined();
    expect(await refusal(cabinet({ who: 'public', isConfirmed: true }), { headers: cookie })).toBeUndefined();
  });

  it('limits the rate of a session, but not of the admin token', async () => {
    const judge = judgeOf({ rateLimitPerS: 1 });
    expect(await nameOf(cabinet(), { headers: cookie }, judge)).toBeUndefined();
    expect(await nameOf(cabinet(), { headers: cookie }, judge)).toBe('Too_Many_Requests');
    for (let count = 0; count < 3; count += 1)
      expect(await nameOf(cabinet(), { headers: { authorization: 'Bearer admin' } }, judge)).toBeUndefined();
  });
});

describe('metrics', () => {
  it('accept the admin token and their own token, which has no other access', async () => {
    const judge = judgeOf({ isMetricsToken: (token) => token === 'metrics' });
    const ask = (authorization?: string, by = judge) =>
      refusal(metricsOnly, { headers: authorization === undefined ? {} : { authorization } }, by);
    expect([await ask('Bearer admin'), await ask('Bearer metrics'), await ask('Bearer admin', judgeOf())]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    for (const wrong of [undefined, 'Bearer', 'Bearer x', 'Basic metrics'])
      expect(await ask(wrong)).toMatchObject({ errorName: 'Invalid_API_Key', httpStatus: 401 });
    expect(await ask('Bearer metrics', judgeOf())).toMatchObject({ httpStatus: 401 });
    expect(await refusal(cabinet(), { headers: { authorization: 'Bearer metrics' } }, judge)).toMatchObject({ httpStatus: 401 });
    const request = requestOf({ headers: { authorization: 'Bearer metrics' } });
    await judge(request, metricsOnly);
    expect(factsOf(request).presentedSecrets).toEqual(['metrics']);
    const bare = requestOf();
    await refusal(metricsOnly, bare);
    expect(factsOf(bare).presentedSecrets).toEqual([]);
  });
});

it('an unchecked request has no owner', () => {
  const request = requestOf();
  expect([optionalCallerOf(request), deviceCallerOf(request), ownerOf(request)]).toEqual([undefined, undefined, undefined]);
});

it('a token check accepts the exact token only, and nothing if no token is configured', () => {
  const isToken = createTokenCheck('secret');
  expect(['secret', 'secre', 'Secret', ''].map(isToken)).toEqual([true, false, false, false]);
  for (const none of [undefined, '']) expect(['', 'undefined', 'x'].map(createTokenCheck(none))).toEqual([false, false, false]);
});

it('an open route neither checks nor removes a credential', async () => {
  const request = requestOf({ query: { APIKey: 'x' } });
  expect(await refusal(open, request)).toBeUndefined();
  expect([request.query, factsOf(request).presentedSecrets]).toEqual([{ APIKey: 'x' }, []]);
});
