// Access to the cabinet by a session cookie: origin, role, and confirmation by password.
import { afterEach, describe, expect, it } from 'vitest';
import type { HttpServerOptions } from '../../src/http/server.ts';
import type { Viewer } from '../../src/http/viewer.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { adminToken, base, createSample, type Sample } from './sample-server.ts';

const clock = createVirtualClock();
const person = (role: Viewer['role']): Viewer => ({
  name: role,
  actor: `${role} <${role}@shop.md>`,
  role,
  userId: role,
  sessionId: role,
  confirmedUntilMs: clock.elapsed() + 1_000,
});
const samples: Sample[] = [];
afterEach(() => Promise.all(samples.splice(0).map(({ server }) => server.stop(0))));

function start(overrides: Partial<HttpServerOptions> = {}) {
  const asked: string[] = [];
  const sample = createSample({
    clock,
    async findSession(token) {
      asked.push(token);
      return token === 'operator' || token === 'merchant' || token === 'viewer' ? person(token) : undefined;
    },
    ...overrides,
  });
  samples.push(sample);
  const call = async (method: 'POST' | 'DELETE', path: string, headers: Record<string, string>) => {
    const payload = method === 'POST' ? { payload: { name: 'a' } } : {};
    const response = await sample.server.app.inject({ method, url: `${base}/cabinet/api${path}`, headers, ...payload });
    return { ...response.json<Record<string, unknown> & { errorCode: number }>(), status: response.statusCode };
  };
  return { asked, create: (headers: Record<string, string>) => call('POST', '/things', headers), call };
}
const cookie = (token: string) => ({ cookie: `other=1; tillgate_session=${token}`, 'x-tillgate-request': '1' });

describe('a session', () => {
  it('is found by its cookie, and its user is the actor', async () => {
    const { create } = start();
    expect(await create(cookie('operator'))).toMatchObject({ errorCode: 0, actor: 'operator <operator@shop.md>' });
    expect(await create(cookie('unknown'))).toMatchObject({ status: 401, errorCode: 10 });
    expect(await create(cookie(''))).toMatchObject({ status: 401, errorCode: 10 });
    expect(await create({ 'x-tillgate-request': '1' })).toMatchObject({ status: 401, errorCode: 10 });
  });

  it('does not replace a wrong token', async () => {
    const { create, asked } = start();
    expect(await create({ ...cookie('operator'), authorization: 'Bearer wrong' })).toMatchObject({ status: 401, errorCode: 10 });
    expect(asked).toEqual([]);
  });

  it('has access to the calls of its role only', async () => {
    const { create, call } = start();
    expect(await create(cookie('merchant'))).toMatchObject({ errorCode: 0 });
    expect(await create(cookie('viewer'))).toMatchObject({ status: 403, errorCode: 11 });
    expect(await call('DELETE', '/things/1', cookie('merchant'))).toMatchObject({ status: 403, errorCode: 11 });
    expect(await call('DELETE', '/things/1', cookie('operator'))).toMatchObject({ errorCode: 0, isDeleted: true });
  });

  it('needs a new confirmation for confirmed calls once it has expired; the admin token does not', async () => {
    const late = { ...person('operator'), confirmedUntilMs: clock.elapsed() };
    const { call, create } = start({ findSession: async () => late });
    const refused = await call('DELETE', '/things/1', cookie('operator'));
    expect(refused).toMatchObject({ status: 403, errorCode: 10, needsConfirmation: true });
    expect(refused).not.toHaveProperty('isDeleted');
    expect(await create(cookie('operator'))).toMatchObject({ errorCode: 0 });
    expect(await call('DELETE', '/things/1', { authorization: `Bearer ${adminToken}` })).toMatchObject({ errorCode: 0 });
  });

  it('has the rate limit of a key', async () => {
    const { create } = start({ rateLimitPerS: 2 });
    const answers = [];
    for (let count = 0; count < 3; count += 1) answers.push((await create(cookie('operator'))).errorCode);
    expect(answers).toEqual([0, 0, 41]);
    expect(await create(cookie('merchant'))).toMatchObject({ errorCode: 0 });
  });
});

describe('a change from another site', () => {
  const refused = { status: 403, errorCode: 40 };

  it('is refused without the header X-Tillgate-Request, which a foreign page cannot send', async () => {
    const { create, call } = start();
    expect(await create({ cookie: 'tillgate_session=operator' })).toMatchObject(refused);
    expect(await create({ ...cookie('operator'), 'x-tillgate-request': '0' })).toMatchObject(refused);
    expect(await call('DELETE', '/things/1', { cookie: 'tillgate_session=operator' })).toMatchObject(refused);
  });

  it('is refused when its Origin differs from the host', async () => {
    const { create } = start();
    for (const origin of ['https://evil.example', 'null', 'https://localhost:80.evil.example', 'http://localhost:81'])
      expect(await create({ ...cookie('operator'), origin }), origin).toMatchObject(refused);
    for (const origin of ['http://localhost:80', 'http://localhost'])
      expect(await create({ ...cookie('operator'), host: new URL(origin).host, origin }), origin).toMatchObject({ errorCode: 0 });
  });

  it('is distinguished from one of the public URL, through a proxy', async () => {
    const { create } = start({ publicUrl: 'https://pay.example.md/tillgate' });
    const operator = { ...cookie('operator'), cookie: '__Host-tillgate_session=operator' };
    expect(await create({ ...operator, origin: 'https://pay.example.md' })).toMatchObject({ errorCode: 0 });
    for (const origin of ['https://pay.example', 'http://pay.example.md'])
      expect(await create({ ...operator, origin }), origin).toMatchObject(refused);
  });

  it('cannot sign a user in either: public calls have the same checks', async () => {
    const { call } = start();
    expect(await call('POST', '/door', {})).toMatchObject(refused);
    expect(await call('POST', '/door', { 'x-tillgate-request': '1' })).toEqual({ status: 200, errorCode: 0, errorMessage: '' });
    expect(await call('POST', '/door', cookie('viewer'))).toMatchObject({ visitor: 'viewer' });
    expect(await call('POST', '/door', cookie('unknown'))).toMatchObject({ errorCode: 0 });
  });
});
