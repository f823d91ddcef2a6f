// What a merchant's user can do to colleagues and learn about operators: no link to an account that has a password, a bounded number of
// changes a day, and no operator's address.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { maxUserChangesPerDay } from '../../src/access/people/daily-bound.ts';
import { totpCode } from '../../src/access/people/totp.ts';
import { engines } from '../support/engines.ts';
import { useQuickPasswords } from '../support/quick-passwords.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { type Browser, openBrowser } from './browser.ts';
import { openCabinet, type RunningCabinet } from './running-cabinet.ts';

const password = 'bread and butter';
const tokenOf = (answer: Record<string, unknown>) => String(answer['link']).split('#')[1] ?? '';

useQuickPasswords();

describe.each(engines)('a merchant’s user on %s', (engine) => {
  let clock: VirtualClock;
  let cabinet: RunningCabinet;
  let merchantId: string;
  let olga: Browser & { id: string };
  let eve: Browser & { id: string };
  beforeEach(async () => {
    clock = createVirtualClock();
    cabinet = await openCabinet(engine, { clock });
    merchantId = String((await cabinet.post('/merchants', { name: 'Corner shop' })).id);
    olga = await settle({ role: 'operator', email: 'olga@tillgate.md', name: 'Olga' });
    eve = await settle({ role: 'merchant', email: 'eve@shop.md', merchantId });
  });
  afterEach(() => cabinet.close());

  async function settle(wanted: object): Promise<Browser & { id: string }> {
    const invited = await cabinet.post('/users', { name: 'Somebody', ...wanted });
    const browser = openBrowser(cabinet.url);
    const used = await browser.post('/links/use', { token: tokenOf(invited), password });
    return Object.assign(browser, { id: (used['user'] as { id: string }).id });
  }

  it('gets no link for a colleague with a password by lowering the role and raising it again', async () => {
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const { secret } = (await ana.post('/me/totp')) as unknown as { secret: string };
    await ana.post('/me/totp/confirm', { code: totpCode(secret, Math.floor(clock.now() / 30_000)) });
    expect(await eve.patch(`/users/${ana.id}`, { role: 'viewer' })).toMatchObject({ errorCode: 0 });
    const raised = await eve.patch(`/users/${ana.id}`, { role: 'merchant' });
    expect(raised).toMatchObject({ status: 403, errorCode: 11 });
    expect(raised).not.toHaveProperty('link');
    expect(await openBrowser(cabinet.url).post('/session', { email: 'ana@shop.md', password })).toMatchObject({ needsCode: true });
    // Nor after an operator has raised it: that link is for the colleague.
    const byOperator = await olga.patch(`/users/${ana.id}`, { role: 'merchant' });
    expect(byOperator).toMatchObject({ errorCode: 0, link: expect.any(String) });
    expect(await eve.post(`/users/${ana.id}/link`)).toMatchObject({ status: 403 });
    expect(await olga.post(`/users/${ana.id}/link`)).toMatchObject({ errorCode: 0 });
  });

  it.each([
    ['from another merchant', (other: string) => [{ merchantId: other }, { merchantId }]],
    ['away and back', () => [{ allMerchants: true }, { role: 'viewer', merchantId }]],
    ['before it has a password', () => [{ merchantId }]],
  ])('gets no link for a user whom an operator moved %s: not by a new one, nor by raising the role', async (how, moves) => {
    const other = String((await cabinet.post('/merchants', { name: 'Bakery' })).id);
    const wanted = { role: 'viewer', email: 'ana@shop.md', name: 'Ana', merchantId: how === 'away and back' ? merchantId : other };
    const { id } =
      how === 'before it has a password' ? ((await olga.post('/users', wanted))['user'] as { id: string }) : await settle(wanted);
    for (const move of moves(other)) expect(await olga.patch(`/users/${id}`, move)).toMatchObject({ errorCode: 0 });
    for (const refused of [await eve.post(`/users/${id}/link`), await eve.patch(`/users/${id}`, { role: 'merchant' })]) {
      expect(refused).toMatchObject({ status: 403, errorCode: 11 });
      expect(refused).not.toHaveProperty('link');
    }
    expect(await olga.post(`/users/${id}/link`)).toMatchObject({ errorCode: 0, link: expect.any(String) });
  });

  it('gets no link by raising a colleague whose password an operator ended', async () => {
    const ana = await settle({ role: 'viewer', email: 'ana@shop.md', merchantId });
    expect(await olga.patch(`/users/${ana.id}`, { role: 'merchant' })).toMatchObject({ errorCode: 0, link: expect.any(String) });
    expect(await eve.patch(`/users/${ana.id}`, { role: 'viewer' })).toMatchObject({ errorCode: 0 });
    expect(await eve.patch(`/users/${ana.id}`, { role: 'merchant' })).toMatchObject({ status: 403, errorCode: 11 });
  });

  it('may raise a user who has no password yet, and renew the invitation', async () => {
    const invited = (await eve.post('/users', { email: 'new@shop.md', name: 'New', role: 'viewer' }))['user'] as { id: string };
    expect(await eve.patch(`/users/${invited.id}`, { role: 'merchant' })).toMatchObject({ errorCode: 0, link: expect.any(String) });
    expect(await eve.post(`/users/${invited.id}/link`)).toMatchObject({ errorCode: 0 });
  });

  it('invites, changes and deletes a bounded number of users in 24 hours, together with the colleagues; operators are not bounded', async () => {
    const user = (await eve.post('/users', { email: 'new@shop.md', name: 'New', role: 'viewer' }))['user'] as { id: string };
    const entry = { actor: 'x', action: 'user.link', subject: user.id, detail: '{}', merchant_id: merchantId, at: clock.now() };
    // One entry was made by the call above, and one when Eve was invited.
    const others = Array.from({ length: maxUserChangesPerDay - 3 }, () => entry);
    await cabinet.database.queries.insertInto('audit_log').values(others).execute();
    expect(await eve.post(`/users/${user.id}/link`)).toMatchObject({ errorCode: 0 });
    const steps = (by: Browser) => [
      by.post('/users', { email: 'next@shop.md', name: 'Next', role: 'viewer', merchantId }),
      by.patch(`/users/${user.id}`, { name: 'Newer' }),
      by.post(`/users/${user.id}/link`),
      by.delete(`/users/${user.id}`),
    ];
    for (const refused of await Promise.all(steps(eve))) expect(refused).toMatchObject({ errorCode: 41, status: 429 });
    expect(await olga.patch(`/users/${user.id}`, { name: 'Newer' })).toMatchObject({ errorCode: 0 });
    await clock.advance(24 * 3_600_000);
    await eve.post('/session', { email: 'eve@shop.md', password });
    expect(await eve.patch(`/users/${user.id}`, { name: 'Newest' })).toMatchObject({ errorCode: 0 });
  });

  it('sees what an operator did without the operator’s address, and no filter confirms it', async () => {
    const made = (await olga.post('/devices', { merchantId, kind: 'terminal', name: 'Till' }))['id'] as string;
    await olga.post(`/devices/${made}/rename`, { name: 'Till 1' });
    await eve.post(`/devices/${made}/rename`, { name: 'Till 2' });
    const seen = async (by: Browser, actor?: string) => {
      const answer = await by.get(`/audit?subject=${made}${actor === undefined ? '' : `&actor=${encodeURIComponent(actor)}`}`);
      return (answer['audit'] as { actor: string; action: string }[])
        .filter(({ action }) => action === 'device.rename')
        .map((one) => one.actor);
    };
    const full = 'Olga <olga@tillgate.md>, operator';
    expect(await seen(eve)).toEqual(['Somebody <eve@shop.md>', 'Olga, operator']);
    expect(await seen(olga)).toEqual(['Somebody <eve@shop.md>', full]);
    expect([await seen(eve, full), await seen(olga, full)]).toEqual([[], [full]]);
    expect(await seen(eve, 'Olga, operator')).toEqual(['Olga, operator']);
    for (const probe of ['%, operator', 'Olga <o%, operator', 'Olg_, operator']) expect(await seen(eve, probe), probe).toEqual([]);
    expect(await seen(eve, 'Somebody <eve@shop.md>')).toHaveLength(1);
    // Nor where a user became an operator.
    const future = await settle({ role: 'viewer', email: 'future@shop.md', merchantId });
    await olga.patch(`/users/${future.id}`, { role: 'operator' });
    const [change] = (await eve.get(`/audit?subject=${future.id}`))['audit'] as unknown[];
    expect(change).toMatchObject({ action: 'user.change', detail: { role: 'operator' } });
    expect(JSON.stringify(change)).not.toContain('@');
  });
});
