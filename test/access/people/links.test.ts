// One-time links as rows: who is let in by one, once, in time, and what becomes of everything that stood open for them.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkUse, insertLink, type LinkUse, type NewLink, readLink, useLink } from '../../../src/access/people/links.ts';
import { insertSession } from '../../../src/access/people/sessions.ts';
import { insertRow } from '../../../src/access/people/users.ts';
import { systemRandom } from '../../../src/kernel/system.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../../support/engines.ts';
import { seedMerchant } from '../../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const hourMs = 3_600_000;

describe.each(engines)('links on %s', (engine) => {
  let clock: VirtualClock;
  let database: TestDatabase;
  let merchantId: string;
  beforeEach(async () => {
    clock = createVirtualClock();
    database = await openQuickDatabase(engine, clock);
    merchantId = (await seedMerchant(database.queries)).id;
  });
  afterEach(() => database.close());

  const add = (name: string, role: 'operator' | 'merchant') =>
    insertRow(database.queries, systemRandom, {
      ...{ email: `${name}@shop.md`, name },
      standing: { role, merchantId: role === 'operator' ? null : merchantId },
    });
  async function link(request: Partial<Parameters<typeof insertLink>[2]> = {}): Promise<NewLink | undefined> {
    return insertLink(database.queries, systemRandom, { purpose: 'invitation', lifetimeMs: hourMs, ...request });
  }
  const tokenOf = async (request: Parameters<typeof link>[0] = {}) => (await link(request))?.token ?? '';
  const use = (token: string, more: Partial<LinkUse> = {}) =>
    database.transaction((queries) => useLink(engine, queries, systemRandom, { token, passwordHash: 'hash', ...more }));
  const refusal = (done: Promise<unknown>) => done.then(() => undefined).catch(({ errorName }: { errorName: string }) => errorName);
  const rowOf = (id: string) => database.queries.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const audit = () =>
    database.queries.selectFrom('audit_log').select(['actor', 'action', 'subject', 'merchant_id', 'detail']).orderBy('id').execute();
  const links = async () => (await database.queries.selectFrom('user_links').select('subject').execute()).map(({ subject }) => subject);

  it('are read by their token, in time, with their user', async () => {
    const userId = await add('ana', 'merchant');
    const made = await link({ userId, purpose: 'reset' });
    expect(made?.expiresAtMs).toBeGreaterThanOrEqual(clock.now() + hourMs);
    expect(await readLink(database.queries, made?.token ?? '')).toEqual({
      ...{
        subject: userId,
        purpose: 'reset',
        needsCode: false,
        merchantId,
        email: 'ana@shop.md',
        name: 'ana',
        expiresAtMs: made?.expiresAtMs,
      },
    });
    const first = await readLink(database.queries, await tokenOf());
    expect(first).toEqual({
      ...{ subject: 'first operator', purpose: 'invitation', needsCode: false, merchantId: null, email: undefined, name: undefined },
      expiresAtMs: expect.any(Number),
    });
    expect(await refusal(readLink(database.queries, 'another'))).toBe('Record_not_exist');
    await clock.advance(hourMs + 60_000);
    expect(await refusal(readLink(database.queries, made?.token ?? ''))).toBe('Record_not_exist');
  });

  it('replace each other, unless the older one is to stay while it is valid', async () => {
    const older = await tokenOf();
    const newer = await tokenOf({ keepsOlder: false });
    expect(await refusal(readLink(database.queries, older))).toBe('Record_not_exist');
    expect(await link({ keepsOlder: true })).toBeUndefined();
    await readLink(database.queries, newer);
    await clock.advance(hourMs + 60_000);
    const fresh = await link({ keepsOlder: true });
    expect(await readLink(database.queries, fresh?.token ?? '')).toMatchObject({ purpose: 'invitation' });
    expect(await links()).toEqual(['first operator']);
  });

  it('set the password, end sessions, and are used up', async () => {
    const [userId, neighbour] = [await add('ana', 'merchant'), await add('bob', 'merchant')];
    for (const id of [userId, neighbour]) await insertSession(database.queries, systemRandom, id, { address: 'a', agent: 'b' });
    await database.queries.updateTable('users').set({ totp_pending: 'p' }).execute();
    const token = await tokenOf({ userId, purpose: 'reset' });
    expect(await use(token)).toBe(userId);
    expect(await rowOf(userId)).toMatchObject({ password_hash: 'hash', totp_pending: null, name: 'ana' });
    expect(await rowOf(neighbour)).toMatchObject({ password_hash: null, totp_pending: 'p' });
    const left = await database.queries.selectFrom('sessions').select('user_id').execute();
    expect(left).toEqual([{ user_id: neighbour }]);
    const [entry] = await audit();
    expect(entry).toMatchObject({ actor: 'ana <ana@shop.md>', action: 'user.password-by-link', subject: userId, merchant_id: merchantId });
    expect(JSON.parse(String(entry?.detail))).toEqual({ email: 'ana@shop.md', purpose: 'reset' });
    expect(await refusal(use(token))).toBe('Record_not_exist');
  });

  it('change the name if one is given', async () => {
    const userId = await add('ana', 'merchant');
    await use(await tokenOf({ userId }), { name: ' Ana Rusu ' });
    expect((await rowOf(userId)).name).toBe('Ana Rusu');
  });

  it('of a user who is disabled, or that came late, change nothing', async () => {
    const userId = await add('ana', 'merchant');
    const token = await tokenOf({ userId });
    await database.queries.updateTable('users').set({ disabled_at: 1 }).execute();
    expect(await refusal(use(token))).toBe('Record_not_exist');
    await database.queries.updateTable('users').set({ disabled_at: null }).execute();
    // Nothing was committed: the link is still good.
    await clock.advance(hourMs + 60_000);
    expect(await refusal(use(token))).toBe('Record_not_exist');
    expect((await rowOf(userId)).password_hash).toBeNull();
  });

  it('of the first operator create one with the given name and e-mail, and only while there is none', async () => {
    const token = await tokenOf();
    const link = await readLink(database.queries, token);
    for (const half of [{}, { name: 'Olga' }, { email: 'olga@x.md' }])
      expect(() => checkUse(link, half)).toThrow('email and name are needed with this link.');
    const userId = await use(token, { name: 'Olga', email: 'Olga@x.md' });
    expect(await rowOf(userId)).toMatchObject({
      email: 'olga@x.md',
      name: 'Olga',
      role: 'operator',
      merchant_id: null,
      password_hash: 'hash',
    });
    expect(await audit()).toMatchObject([{ action: 'user.first-operator', merchant_id: null }]);
    const late = await tokenOf();
    expect(await refusal(use(late, { name: 'Eve', email: 'eve@x.md' }))).toBe('Record_not_exist');
  });

  it('of the first operator end when an operator came in by another, and not when another user did', async () => {
    const [ana, olga] = [await add('ana', 'merchant'), await add('olga', 'operator')];
    await link();
    await use(await tokenOf({ userId: ana }));
    expect(await links()).toEqual(['first operator']);
    await use(await tokenOf({ userId: olga }));
    expect(await links()).toEqual([]);
  });
});
