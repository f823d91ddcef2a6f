// Users of the cabinet over HTTP: sign-in, the end of sessions, and which roles a user may grant.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { totpCode } from '../../src/access/people/totp.ts';
import { engines } from '../support/engines.ts';
import { useQuickPasswords } from '../support/quick-passwords.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { type Answer, type Browser, openBrowser } from './browser.ts';
import { openCabinet, type RunningCabinet } from './running-cabinet.ts';

const password = 'bread and butter';
const tokenOf = (answer: Record<string, unknown>) => String(answer['link']).split('#')[1] ?? '';
const userOf = (answer: Answer) => answer['user'] as { id: string; email: string; role: string; state: string; merchantId?: string };

useQuickPasswords();

describe.each(engines)('users on %s', (engine) => {
  let clock: VirtualClock;
  let cabinet: RunningCabinet;
  let merchantId: string;
  beforeEach(async () => {
    clock = createVirtualClock();
    cabinet = await openCabinet(engine, { clock });
    merchantId = String((await cabinet.post('/merchants', { name: 'Corner shop' })).id);
  });
  afterEach(() => cabinet.close());

  /** A new user who has used their link and is signed in. */
  async function settle(wanted: {
    role: string;
    email: string;
    merchantId?: string;
    allMerchants?: boolean;
  }): Promise<Browser & { id: string }> {
    const invited = await cabinet.post('/users', { name: 'Somebody', ...wanted });
    const browser = openBrowser(cabinet.url);
    const used = await browser.post('/links/use', { token: tokenOf(invited), password });
    expect(used).toMatchObject({ errorCode: 0, user: { state: 'active' } });
    return Object.assign(browser, { id: userOf(used).id });
  }
  const again = async (email: string, more: object = {}) => {
    const browser = openBrowser(cabinet.url);
    return { browser, answer: await browser.post('/session', { email, password, ...more }) };
  };

  it('admits the first operator by a link, with name and e-mail, once and within an hour', async () => {
    const first = await cabinet.post('/users/first-operator');
    expect(first.link).toMatch(/\/tillgate\/cabinet\/link#[\w-]{43}$/);
    const second = await cabinet.post('/users/first-operator');
    const browser = openBrowser(cabinet.url);
    expect(await browser.post('/links/read', { token: tokenOf(first) })).toMatchObject({ errorCode: 20 });
    const read = await browser.post('/links/read', { token: tokenOf(second) });
    expect(read).toMatchObject({ errorCode: 0, purpose: 'invitation' });
    expect(read).not.toHaveProperty('email');
    expect(await browser.post('/links/use', { token: tokenOf(second), password })).toMatchObject({ errorCode: 40 });
    const named = { token: tokenOf(second), password, name: 'Olga', email: 'Olga@Tillgate.md' };
    expect(await browser.post('/links/use', { ...named, password: 'short' })).toMatchObject({ errorCode: 40 });
    const used = await browser.post('/links/use', named);
    expect(used).toMatchObject({ errorCode: 0, user: { email: 'olga@tillgate.md', role: 'operator', state: 'active' } });
    expect(used.setCookie).toMatch(/^tillgate_session=[\w-]{43}; Path=\/tillgate; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    expect(await browser.get('/session')).toMatchObject({ user: { name: 'Olga' }, isSandbox: false, version: '1.2.3' });
    expect(await openBrowser(cabinet.url).post('/links/use', named)).toMatchObject({ errorCode: 20 });
    expect(await cabinet.post('/users/first-operator')).toMatchObject({ errorCode: 22 });
    expect(await browser.get('/users')).toMatchObject({ users: [{ email: 'olga@tillgate.md' }] });
  });

  it('refuses an expired link of the first operator, and stores only a hash of it', async () => {
    const { link } = await cabinet.post('/users/first-operator');
    const rows = await cabinet.database.queries.selectFrom('user_links').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(tokenOf({ link }));
    await clock.advance(3_600_001);
    const late = { token: tokenOf({ link }), password, name: 'Olga', email: 'olga@tillgate.md' };
    expect(await openBrowser(cabinet.url).post('/links/use', late)).toMatchObject({ errorCode: 20 });
  });

  it('refuses the link of the first operator once there is an operator, however that happened', async () => {
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const use = (answer: Record<string, unknown>) =>
      openBrowser(cabinet.url).post('/links/use', { token: tokenOf(answer), password, name: 'Eve', email: 'eve@evil.example' });
    const promoted = await cabinet.post('/users/first-operator');
    const standing = { role: 'operator', merchant_id: null } as const;
    await cabinet.database.queries.updateTable('users').set(standing).where('id', '=', ana.id).execute();
    expect(await use(promoted)).toMatchObject({ errorCode: 20 });
    await cabinet.database.queries.updateTable('users').set({ password_hash: null }).where('id', '=', ana.id).execute();
    const invited = await cabinet.post('/users/first-operator');
    await settle({ role: 'operator', email: 'olga@tillgate.md' });
    expect(await use(invited)).toMatchObject({ errorCode: 20 });
    expect((await cabinet.get('/users')).users).toHaveLength(2);
  });

  it('signs in by password, does not reveal which part was wrong, and stores only hashes', async () => {
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const good = await again('ANA@shop.md ');
    expect(good.answer).toMatchObject({ errorCode: 0, user: { email: 'ana@shop.md', merchantId, merchantName: 'Corner shop' } });
    const wrong = [
      { email: 'ana@shop.md', password: 'wrong wrong wrong' },
      { email: 'nobody@shop.md', password },
    ];
    const answers = [];
    for (const body of wrong) answers.push(await openBrowser(cabinet.url).post('/session', body));
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toMatchObject({ status: 401, errorCode: 10, setCookie: null });
    const stored = JSON.stringify([
      await cabinet.database.queries.selectFrom('users').selectAll().execute(),
      await cabinet.database.queries.selectFrom('sessions').selectAll().execute(),
      await cabinet.get('/audit'),
      cabinet.logger.lines,
    ]);
    for (const secret of [password, ana.cookie, good.browser.cookie]) expect(stored).not.toContain(secret);
    expect(stored).toContain('$argon2id$');
  });

  it('limits wrong attempts, even if the next one is right', async () => {
    await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const browser = openBrowser(cabinet.url);
    const codes = [];
    for (let count = 0; count < 12; count += 1)
      codes.push((await browser.post('/session', { email: 'ana@shop.md', password: `wrong password ${count}` })).errorCode);
    expect(codes).toEqual([...Array<number>(10).fill(10), 41, 41]);
    const refused = await browser.post('/session', { email: 'ana@shop.md', password });
    expect(refused).toMatchObject({ status: 429, errorCode: 41 });
    await clock.advance(61_000);
    expect(await browser.post('/session', { email: 'ana@shop.md', password })).toMatchObject({ errorCode: 0 });
  });

  it('ends a session after 12 hours, at sign-out and at the next sign-in in the same browser', async () => {
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const before = ana.cookie;
    expect(await ana.post('/session', { email: 'ana@shop.md', password })).toMatchObject({ errorCode: 0 });
    const stale = openBrowser(cabinet.url);
    stale.cookie = before;
    expect(ana.cookie).not.toBe(before);
    expect(await stale.get('/devices')).toMatchObject({ status: 401 });
    expect(await ana.delete('/session')).toMatchObject({ errorCode: 0 });
    expect(ana.cookie).toBeUndefined();
    const { browser } = await again('ana@shop.md');
    for (let hour = 0; hour < 11; hour += 1) {
      await clock.advance(3_600_000);
      // A confirmation does not extend the session.
      expect(await browser.post('/session/confirm', { password })).toMatchObject({ errorCode: 0 });
    }
    await clock.advance(3_600_000 - 10_000);
    expect(await browser.get('/devices')).toMatchObject({ errorCode: 0 });
    await clock.advance(10_001);
    expect(await browser.get('/devices')).toMatchObject({ status: 401, errorCode: 10 });
    expect(await browser.delete('/session')).toMatchObject({ errorCode: 0 });
  });

  it('ends sessions at once when the user, role, merchant or password changes', async () => {
    const other = String((await cabinet.post('/merchants', { name: 'Other shop' })).id);
    await settle({ role: 'operator', email: 'olga@tillgate.md' });
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const cases: [name: string, act: () => Promise<unknown>][] = [
      ['role', () => patch(ana.id, { role: 'viewer' })],
      [
        'merchant',
        async () => {
          const { link } = await patch(ana.id, { merchantId: other });
          expect((await again('ana@shop.md')).answer).toMatchObject({ status: 401 });
          await openBrowser(cabinet.url).post('/links/use', { token: tokenOf({ link }), password });
        },
      ],
      ['disabled', () => patch(ana.id, { isActive: false })],
    ];
    async function patch(id: string, body: object) {
      const response = await fetch(`${cabinet.url}/cabinet/api/users/${id}`, {
        method: 'PATCH',
        headers: { authorization: 'Bearer canary-admin-token-of-the-cabinet', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const answer = (await response.json()) as { errorCode: number; link?: string };
      expect(answer).toMatchObject({ errorCode: 0 });
      return answer;
    }
    for (const [name, act] of cases) {
      const { browser, answer } = await again('ana@shop.md');
      expect(answer, name).toMatchObject({ errorCode: 0 });
      expect(await browser.get('/devices'), name).toMatchObject({ errorCode: 0 });
      await act();
      expect(await browser.get('/devices'), name).toMatchObject({ status: 401, errorCode: 10 });
    }
    expect((await again('ana@shop.md')).answer).toMatchObject({ status: 401 });
    await patch(ana.id, { isActive: true });
    const one = await again('ana@shop.md');
    const two = await again('ana@shop.md');
    expect(await one.browser.post('/me/password', { current: 'not this one', next: 'a better one!' })).toMatchObject({ status: 401 });
    expect(await one.browser.post('/me/password', { current: password, next: 'a better one!' })).toMatchObject({ errorCode: 0 });
    expect(await one.browser.get('/devices')).toMatchObject({ errorCode: 0 });
    expect(await two.browser.get('/devices')).toMatchObject({ status: 401 });
    expect((await again('ana@shop.md')).answer).toMatchObject({ status: 401 });
    expect((await again('ana@shop.md', { password: 'a better one!' })).answer).toMatchObject({ errorCode: 0 });
  });

  it('asks for the password again after 15 minutes, and then replaces the cookie', async () => {
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const makeKey = () => ana.post('/keys', { merchantId, name: 'ERP', modules: ['QR'] });
    expect(await makeKey()).toMatchObject({ errorCode: 0 });
    await clock.advance(15 * 60_000);
    expect(await makeKey()).toMatchObject({ status: 403, errorCode: 10, needsConfirmation: true });
    expect(await ana.get('/keys')).toMatchObject({ errorCode: 0 });
    expect(await ana.post('/session/confirm', {})).toMatchObject({ errorCode: 40 });
    expect(await ana.post('/session/confirm', { password: 'not the password' })).toMatchObject({ status: 401, errorCode: 10 });
    const stolen = openBrowser(cabinet.url);
    stolen.cookie = ana.cookie;
    expect(await ana.post('/session/confirm', { password })).toMatchObject({ errorCode: 0, confirmedUntil: '2026-01-15T09:30:00.000Z' });
    expect(await makeKey()).toMatchObject({ errorCode: 0 });
    // Requests in progress with the old cookie are still served for a moment, but not as confirmed.
    expect(await stolen.get('/keys')).toMatchObject({ errorCode: 0 });
    expect(await stolen.post('/keys', { merchantId, name: 'thief', modules: ['QR'] })).toMatchObject({ needsConfirmation: true });
    await clock.advance(10_001);
    expect(await stolen.get('/keys')).toMatchObject({ status: 401 });
    expect(await ana.get('/keys')).toMatchObject({ errorCode: 0 });
  });

  it('accepts one-time codes, each once, for sign-in and for confirmation', async () => {
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const { secret, uri } = (await ana.post('/me/totp')) as unknown as { secret: string; uri: string };
    expect(uri).toContain(secret);
    const code = (away = 0) => totpCode(secret, Math.floor(clock.now() / 30_000) + away);
    expect((await again('ana@shop.md')).answer).toMatchObject({ errorCode: 0, user: { hasTotp: false } });
    expect(await ana.post('/me/totp/confirm', { code: '000000' })).toMatchObject({ errorCode: 40 });
    expect(await ana.post('/me/totp/confirm', { code: code() })).toMatchObject({ errorCode: 0 });
    expect((await again('ana@shop.md')).answer).toMatchObject({ errorCode: 0, needsCode: true, setCookie: null });
    expect((await again('ana@shop.md', { code: code() })).answer).toMatchObject({ status: 401, errorCode: 10 });
    await clock.advance(30_000);
    const used = code();
    expect((await again('ana@shop.md', { code: used, password: 'wrong wrong wrong' })).answer).toMatchObject({ status: 401 });
    const both = await Promise.all([again('ana@shop.md', { code: used }), again('ana@shop.md', { code: used })]);
    expect(both.map(({ answer }) => answer.errorCode).toSorted((one, other) => one - other)).toEqual([0, 10]);
    await clock.advance(15 * 60_000);
    expect(await ana.delete('/me/totp')).toMatchObject({ needsConfirmation: true });
    expect(await ana.post('/session/confirm', { code: code() })).toMatchObject({ errorCode: 0 });
    expect(await ana.delete('/me/totp')).toMatchObject({ errorCode: 0 });
    expect((await again('ana@shop.md')).answer).toMatchObject({ errorCode: 0, user: { hasTotp: false } });
  });

  it('lets an operator reset a forgotten password, which invalidates the old one', async () => {
    const olga = await settle({ role: 'operator', email: 'olga@tillgate.md' });
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const bob = await settle({ role: 'merchant', email: 'bob@shop.md', merchantId });
    expect(await bob.post(`/users/${ana.id}/link`)).toMatchObject({ status: 403, errorCode: 11 });
    const reset = await olga.post('/users/ANA@shop.md/link');
    expect(reset).toMatchObject({ errorCode: 0 });
    expect((await again('ana@shop.md')).answer).toMatchObject({ errorCode: 0 });
    const browser = openBrowser(cabinet.url);
    expect(await browser.post('/links/read', { token: tokenOf(reset) })).toMatchObject({ purpose: 'reset', email: 'ana@shop.md' });
    const use = { token: tokenOf(reset), password: 'something quite new' };
    const twice = await Promise.all([browser.post('/links/use', use), openBrowser(cabinet.url).post('/links/use', use)]);
    expect(twice.map(({ errorCode }) => errorCode).toSorted((one, other) => one - other)).toEqual([0, 20]);
    expect(await ana.get('/devices')).toMatchObject({ status: 401 });
    expect((await again('ana@shop.md')).answer).toMatchObject({ status: 401 });
    // A lost invitation is renewed by a user who could have created it.
    const invited = await bob.post('/users', { email: 'new@shop.md', name: 'New', role: 'viewer' });
    const renewed = await bob.post(`/users/${userOf(invited).id}/link`);
    expect(renewed).toMatchObject({ errorCode: 0 });
    expect(await browser.post('/links/read', { token: tokenOf(invited) })).toMatchObject({ errorCode: 20 });
    expect(await browser.post('/links/read', { token: tokenOf(renewed) })).toMatchObject({ purpose: 'invitation' });
  });

  it('refuses to grant a role above the own one or outside the own merchant', async () => {
    const other = String((await cabinet.post('/merchants', { name: 'Other shop' })).id);
    const olga = await settle({ role: 'operator', email: 'olga@tillgate.md' });
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const eve = await settle({ role: 'viewer', email: 'eve@shop.md', merchantId });
    const user = { email: 'new@shop.md', name: 'New' };
    for (const wanted of [{ role: 'operator' }, { role: 'viewer', allMerchants: true }])
      expect(await ana.post('/users', { ...user, ...wanted }), JSON.stringify(wanted)).toMatchObject({ status: 403, errorCode: 11 });
    expect(await ana.post('/users', { ...user, role: 'viewer', merchantId: other })).toMatchObject({ errorCode: 20 });
    expect(await eve.post('/users', { ...user, role: 'viewer' })).toMatchObject({ status: 403, errorCode: 11 });
    for (const change of [{ role: 'operator' }, { role: 'viewer', allMerchants: true }])
      expect(await ana.patch(`/users/${eve.id}`, change), JSON.stringify(change)).toMatchObject({ status: 403, errorCode: 11 });
    expect(await ana.patch(`/users/${eve.id}`, { merchantId: other })).toMatchObject({ errorCode: 20 });
    for (const method of ['PATCH', 'DELETE'])
      expect(await ana.call(method, `/users/${olga.id}`, method === 'PATCH' ? { name: 'x' } : undefined)).toMatchObject({ errorCode: 20 });
    expect(await ana.post(`/users/${olga.id}/link`)).toMatchObject({ errorCode: 20 });
    const made = await ana.post('/users', { ...user, role: 'viewer' });
    expect(made).toMatchObject({ errorCode: 0, user: { merchantId, state: 'invited' } });
    expect(await ana.patch(`/users/${userOf(made).id}`, { role: 'merchant' })).toMatchObject({ user: { role: 'merchant', merchantId } });
    expect(await ana.delete(`/users/${userOf(made).id}`)).toMatchObject({ errorCode: 0 });
    expect(await ana.get('/users')).toMatchObject({ users: [{ email: 'ana@shop.md' }, { email: 'eve@shop.md' }] });
    const raised = await olga.patch(`/users/${eve.id}`, { allMerchants: true });
    expect(raised).toMatchObject({ errorCode: 0 });
    expect(userOf(raised)).not.toHaveProperty('merchantId');
    for (const body of [
      { ...user, role: 'merchant' },
      { ...user, role: 'operator', merchantId },
      { ...user, role: 'merchant', merchantId, allMerchants: true },
      { ...user, role: 'viewer', email: 'no e-mail', merchantId },
      { ...user, role: 'king' },
    ])
      expect(await olga.post('/users', body), JSON.stringify(body)).toMatchObject({ status: 400, errorCode: 40 });
    expect(await olga.post('/users', { ...user, email: 'ANA@shop.md', role: 'viewer', merchantId })).toMatchObject({ errorCode: 22 });
  });

  it('keeps the last operator, even if two remove each other at once', async () => {
    const olga = await settle({ role: 'operator', email: 'olga@tillgate.md' });
    expect(await olga.patch(`/users/${olga.id}`, { isActive: false })).toMatchObject({ errorCode: 22 });
    expect(await olga.patch(`/users/${olga.id}`, { role: 'viewer', allMerchants: true })).toMatchObject({ errorCode: 22 });
    expect(await olga.delete(`/users/${olga.id}`)).toMatchObject({ errorCode: 22 });
    // An invited operator who has not set a password does not count.
    await olga.post('/users', { email: 'later@tillgate.md', name: 'Later', role: 'operator' });
    expect(await olga.delete(`/users/${olga.id}`)).toMatchObject({ errorCode: 22 });
    const oleg = await settle({ role: 'operator', email: 'oleg@tillgate.md' });
    const acts = await Promise.all([olga.delete(`/users/${oleg.id}`), oleg.patch(`/users/${olga.id}`, { isActive: false })]);
    expect(acts.filter(({ errorCode }) => errorCode === 0)).toHaveLength(1);
    const operators = await cabinet.database.queries
      .selectFrom('users')
      .select('email')
      .where('role', '=', 'operator')
      .where('disabled_at', 'is', null)
      .where('password_hash', 'is not', null)
      .execute();
    expect(operators).toHaveLength(1);
  });

  it('lists sessions, and ends them individually', async () => {
    const olga = await settle({ role: 'operator', email: 'olga@tillgate.md' });
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const { browser: second } = await again('ana@shop.md');
    const listed = (await ana.get('/sessions'))['sessions'] as { id: string; isThis: boolean; address: string }[];
    expect(listed).toHaveLength(2);
    expect(listed.filter(({ isThis }) => isThis)).toHaveLength(1);
    expect(JSON.stringify(listed)).not.toContain(ana.cookie);
    const own = (await olga.get('/sessions'))['sessions'] as { id: string }[];
    expect(await ana.delete(`/sessions/${own[0]?.id}`)).toMatchObject({ errorCode: 20 });
    expect((await ana.get(`/sessions?userId=${olga.id}`))['sessions']).toHaveLength(2);
    const other = listed.find(({ isThis }) => !isThis);
    expect(await ana.delete(`/sessions/${other?.id}`)).toMatchObject({ errorCode: 0 });
    expect(await second.get('/devices')).toMatchObject({ status: 401 });
    const seen = (await olga.get(`/sessions?userId=${ana.id}`))['sessions'] as { id: string }[];
    expect(await olga.delete(`/sessions/${seen[0]?.id}`)).toMatchObject({ errorCode: 0 });
    expect(await ana.get('/devices')).toMatchObject({ status: 401 });
    expect(await olga.get('/devices')).toMatchObject({ errorCode: 0 });
  });

  it('records every change in the audit log, with an unambiguous actor', async () => {
    const olga = await settle({ role: 'operator', email: 'olga@tillgate.md' });
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    await olga.patch(`/users/${ana.id}`, { name: 'admin token' });
    const { browser } = await again('ana@shop.md');
    await browser.post('/keys', { merchantId, name: 'ERP', modules: ['QR'] });
    await browser.delete('/session');
    await olga.delete(`/users/${ana.id}`);
    const { audit } = (await cabinet.get('/audit')) as unknown as { audit: { actor: string; action: string }[] };
    expect(audit.map(({ actor, action }) => `${actor}: ${action}`).reverse()).toEqual([
      'admin token: merchant.create',
      'admin token: user.create',
      'Somebody <olga@tillgate.md>, operator: user.password-by-link',
      'admin token: user.create',
      'Somebody <ana@shop.md>: user.password-by-link',
      'Somebody <olga@tillgate.md>, operator: user.change',
      'admin token <ana@shop.md>: session.start',
      'admin token <ana@shop.md>: key.create',
      'admin token <ana@shop.md>: session.end',
      'Somebody <olga@tillgate.md>, operator: user.delete',
    ]);
  });

  it('lists users in pages', async () => {
    for (const name of ['a', 'b', 'c']) await cabinet.post('/users', { email: `${name}@shop.md`, name, role: 'viewer', merchantId });
    const first = await cabinet.get('/users?limit=2');
    expect(first).toMatchObject({
      users: [{ email: 'a@shop.md' }, { email: 'b@shop.md' }],
      next: expect.stringMatching(/^b@shop.md [\w-]{36}$/),
    });
    const second = await cabinet.get(`/users?limit=2&cursor=${encodeURIComponent(String(first['next']))}`);
    expect(second).toMatchObject({ users: [{ email: 'c@shop.md' }] });
    expect(second).not.toHaveProperty('next');
  });

  it('has the sandbox sign-in only in the sandbox, and its user nowhere else', async () => {
    const visitor = openBrowser(cabinet.url);
    expect(await visitor.post('/session/sandbox')).toMatchObject({ status: 404, errorCode: 40 });
    const sandbox = await openCabinet(engine, { clock, isSandbox: true, database: cabinet.database });
    const player = openBrowser(sandbox.url);
    expect(await player.post('/session/sandbox')).toMatchObject({ errorCode: 0, user: { name: 'Sandbox', role: 'operator' } });
    await clock.advance(3_600_000);
    expect(await player.post('/merchants', { name: 'Played' })).toMatchObject({ errorCode: 0 });
    expect(await player.get('/session')).toMatchObject({ isSandbox: true });
    visitor.cookie = player.cookie;
    expect(await visitor.get('/merchants')).toMatchObject({ status: 401 });
    expect(await cabinet.post('/users/first-operator')).toMatchObject({ errorCode: 0 });
    expect((await player.get('/users'))['users']).toHaveLength(1);
    expect((await cabinet.get('/users')).users).toEqual([]);
    await sandbox.server.stop(0);
    sandbox.access.stop();
    sandbox.people.stop();
    sandbox.devices.stop();
  });
});
