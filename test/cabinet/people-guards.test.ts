// Protection of accounts: links and codes, raised roles, e-mails shared by several merchants, and wrong attempts from elsewhere.
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

describe.each(engines)('accounts on %s', (engine) => {
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

  it('keeps one-time codes on when a password is set by a link, and requires one', async () => {
    const olga = await settle({ role: 'operator', email: 'olga@tillgate.md' });
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const { secret } = (await ana.post('/me/totp')) as unknown as { secret: string };
    const code = () => totpCode(secret, Math.floor(clock.now() / 30_000));
    await ana.post('/me/totp/confirm', { code: code() });
    await clock.advance(30_000);
    const token = tokenOf(await olga.post(`/users/${ana.id}/link`));
    const thief = openBrowser(cabinet.url);
    expect(await thief.post('/links/read', { token })).toMatchObject({ needsCode: true });
    const use = { token, password: 'something quite new' };
    expect(await thief.post('/links/use', use)).toMatchObject({ needsCode: true, setCookie: null });
    const codes = [];
    for (let count = 0; count < 12; count += 1) codes.push((await thief.post('/links/use', { ...use, code: '000000' })).errorCode);
    expect(codes).toEqual([...Array<number>(10).fill(10), 41, 41]);
    await clock.advance(60_000);
    expect(await thief.post('/links/use', { ...use, code: code() })).toMatchObject({ errorCode: 0, user: { hasTotp: true } });
    expect((await again('ana@shop.md', { password: use.password })).answer).toMatchObject({ needsCode: true });
    // The app is lost: an operator disables the codes, which ends the sessions.
    expect(await olga.patch(`/users/${ana.id}`, { totp: false })).toMatchObject({ errorCode: 0, user: { hasTotp: false } });
    expect(await thief.get('/devices')).toMatchObject({ status: 401 });
    const bob = await settle({ role: 'merchant', email: 'bob@shop.md', merchantId });
    expect(await bob.patch(`/users/${ana.id}`, { totp: false })).toMatchObject({ status: 403 });
  });

  it('clears password, codes and sessions of a user who gets more rights, and returns a new link', async () => {
    const olga = await settle({ role: 'operator', email: 'olga@tillgate.md' });
    const other = String((await cabinet.post('/merchants', { name: 'Other shop' })).id);
    const raises: [string, object, object][] = [
      ['viewer to merchant', { role: 'viewer', merchantId }, { role: 'merchant' }],
      ['merchant to operator', { role: 'merchant', merchantId }, { role: 'operator' }],
      ['one merchant to all', { role: 'viewer', merchantId }, { allMerchants: true }],
      ['another merchant', { role: 'viewer', merchantId }, { merchantId: other }],
    ];
    for (const [index, [name, from, to]] of raises.entries()) {
      const email = `future${index}@shop.md`;
      const hijacker = await settle({ role: '', email, ...from });
      const raised = await olga.patch(`/users/${hijacker.id}`, to);
      expect(raised, name).toMatchObject({ errorCode: 0, link: expect.any(String), user: { state: 'invited' } });
      expect(await hijacker.get('/devices'), name).toMatchObject({ status: 401 });
      expect((await again(email)).answer, name).toMatchObject({ status: 401 });
      const owner = openBrowser(cabinet.url);
      const used = await owner.post('/links/use', { token: tokenOf(raised), password: 'chosen by the owner' });
      expect(used, name).toMatchObject({ errorCode: 0, user: { state: 'active' } });
    }
    const lowered = await settle({ role: 'merchant', email: 'lower@shop.md', merchantId });
    const answer = await olga.patch(`/users/${lowered.id}`, { role: 'viewer' });
    expect(answer).toMatchObject({ errorCode: 0, user: { state: 'active' } });
    expect(answer).not.toHaveProperty('link');
    expect((await again('lower@shop.md')).answer).toMatchObject({ errorCode: 0 });
  });

  it('reveals to no merchant whether an e-mail is known to another, and the password decides which account opens', async () => {
    const other = String((await cabinet.post('/merchants', { name: 'Other shop' })).id);
    const olga = await settle({ role: 'operator', email: 'olga@tillgate.md' });
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const eve = await settle({ role: 'merchant', email: 'eve@other.md', merchantId: other });
    const invite = (email: string) => eve.post('/users', { email, name: 'Somebody', role: 'viewer' });
    const shape = (answer: Answer) => [answer.status, answer.errorCode, Object.keys(answer).sort()];
    const unknown = shape(await invite('nobody@shop.md'));
    const known = await invite('ana@shop.md');
    expect(shape(known)).toEqual(unknown);
    expect(shape(await invite('olga@tillgate.md'))).toEqual(unknown);
    // Within the own merchant the e-mail is known.
    expect(await invite('ana@shop.md')).toMatchObject({ errorCode: 22 });
    const double = openBrowser(cabinet.url);
    const hers = 'the password of the double';
    expect(await double.post('/links/use', { token: tokenOf(known), password: hers })).toMatchObject({ errorCode: 0 });
    expect((await again('ana@shop.md')).answer).toMatchObject({ user: { id: ana.id, merchantId } });
    expect((await again('ana@shop.md', { password: hers })).answer).toMatchObject({ user: { merchantId: other } });
    // The audit log distinguishes them from an operator with the same e-mail.
    expect(await eve.post(`/users/ana@shop.md/link`)).toMatchObject({ status: 403 });
    expect(await olga.post(`/users/ana@shop.md/link`)).toMatchObject({ errorCode: 22 });
    expect(await olga.patch(`/users/${ana.id}`, { merchantId: other })).toMatchObject({ errorCode: 22 });
    const first = await cabinet.get('/users?limit=2');
    const second = await cabinet.get(`/users?limit=9&cursor=${encodeURIComponent(String(first['next']))}`);
    const emails = [first, second].flatMap((page) => (page['users'] as { email: string }[]).map(({ email }) => email));
    expect(emails).toEqual(['ana@shop.md', 'ana@shop.md', 'eve@other.md', 'nobody@shop.md', 'olga@tillgate.md', 'olga@tillgate.md']);
  });

  it.each(['A<b', 'a>', 'Ana\u202e', '\u2066Ana', 'A\u200fna'])('refuses the name %j', async (name) => {
    const answer = await cabinet.post('/users', { email: 'ana@shop.md', name, role: 'viewer', merchantId });
    expect(answer).toMatchObject({ errorCode: 40, errorMessage: expect.stringContaining('name must not contain') });
  });

  it('records confirmations in the audit log', async () => {
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    await ana.post('/session/confirm', { password });
    expect(await cabinet.audit()).toContain('session.confirm');
  });

  it('lets an operator end all sessions at once', async () => {
    const olga = await settle({ role: 'operator', email: 'olga@tillgate.md' });
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    expect(await ana.delete('/sessions')).toMatchObject({ status: 403 });
    expect(await olga.delete('/sessions')).toMatchObject({ errorCode: 0, ended: 2 });
    for (const browser of [olga, ana]) expect(await browser.get('/devices')).toMatchObject({ status: 401 });
    expect(await cabinet.audit()).toContain('session.end-all');
  });

  it('does not block a known browser because of wrong attempts from elsewhere, and a new one only until it has used a link', async () => {
    const olga = await settle({ role: 'operator', email: 'olga@tillgate.md' });
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    await ana.delete('/session');
    const guess = () => openBrowser(cabinet.url).post('/session', { email: 'ana@shop.md', password: 'wrong wrong wrong' });
    for (let count = 0; count < 11; count += 1) await guess();
    expect(await guess()).toMatchObject({ errorCode: 41 });
    expect(await ana.post('/session', { email: 'ana@shop.md', password })).toMatchObject({ errorCode: 0 });
    // The cookie of another user, or a forged one, does not count.
    const stranger = openBrowser(cabinet.url);
    for (const known of [olga.known, `${ana.known?.slice(0, -2)}xx`, 'nonsense']) {
      stranger.known = known;
      expect(await stranger.post('/session', { email: 'ana@shop.md', password })).toMatchObject({ errorCode: 41 });
    }
    // A known browser has ten attempts as well, counted separately.
    const codes = [];
    for (let count = 0; count < 12; count += 1)
      codes.push((await ana.post('/session', { email: 'ana@shop.md', password: `wrong wrong ${count}` })).errorCode);
    expect(codes).toEqual([...Array<number>(10).fill(10), 41, 41]);
    const fresh = openBrowser(cabinet.url);
    const reset = await olga.post(`/users/${ana.id}/link`);
    expect(await fresh.post('/links/use', { token: tokenOf(reset), password })).toMatchObject({ errorCode: 0 });
  });

  it('recognises a browser on another gateway and after a restart', async () => {
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const second = await openCabinet(engine, { clock, database: cabinet.database });
    const guess = () => openBrowser(second.url).post('/session', { email: 'ana@shop.md', password: 'wrong wrong wrong' });
    for (let count = 0; count < 11; count += 1) await guess();
    expect(await guess()).toMatchObject({ errorCode: 41 });
    const there = openBrowser(second.url);
    there.known = ana.known;
    expect(await there.post('/session', { email: 'ana@shop.md', password })).toMatchObject({ errorCode: 0 });
    await second.server.stop(0);
    second.access.stop();
    second.people.stop();
    second.devices.stop();
  });

  it('ends a session that was not used for two hours, even if an idle page keeps polling', async () => {
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    await clock.advance(119 * 60_000);
    expect(await ana.get('/devices')).toMatchObject({ errorCode: 0 });
    await expect
      .poll(async () => (await cabinet.database.queries.selectFrom('sessions').select('used_at').execute())[0]?.used_at)
      .toBe(clock.now());
    const byItself = () =>
      fetch(`${cabinet.url}/cabinet/api/devices`, { headers: { cookie: `tillgate_session=${ana.cookie}`, 'x-tillgate-idle': '1' } });
    await clock.advance(119 * 60_000);
    expect((await byItself()).status).toBe(200);
    await clock.advance(60_001);
    expect((await byItself()).status).toBe(401);
    expect(await ana.get('/devices')).toMatchObject({ status: 401, errorCode: 10 });
    const { browser } = await again('ana@shop.md');
    expect((await browser.get('/sessions'))['sessions']).toHaveLength(1);
  });

  it('allows a user twenty sessions, and ends the oldest for the next', async () => {
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    for (let count = 0; count < 20; count += 1) {
      await clock.advance(1_000);
      await again('ana@shop.md');
    }
    const rows = await cabinet.database.queries.selectFrom('sessions').select('id').execute();
    expect(rows).toHaveLength(20);
    expect(await ana.get('/devices')).toMatchObject({ status: 401 });
  });
});
