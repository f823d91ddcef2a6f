// Users as rows: who is listed as what, what a change of standing ends, and that an operator who can sign in remains.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { insertLink } from '../../../src/access/people/links.ts';
import { insertSession } from '../../../src/access/people/sessions.ts';
import {
  changeUser,
  cursorOf,
  deleteUser,
  findUser,
  findVisible,
  insertRow,
  insertUser,
  listUsers,
  lockOperators,
  readEmail,
  type UserChange,
} from '../../../src/access/people/users.ts';
import { adminViewer, type Viewer } from '../../../src/http/viewer.ts';
import { systemRandom } from '../../../src/kernel/system.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../../support/engines.ts';
import { seedMerchant } from '../../support/fixtures.ts';

describe('an e-mail', () => {
  it('is kept in one spelling', () => {
    expect(readEmail(' Ana@Shop.MD ')).toBe('ana@shop.md');
    expect(readEmail(`${'a'.repeat(246)}@shop.md`)).toHaveLength(254);
  });

  it.each([
    '',
    'ana',
    '@shop.md',
    'ana@',
    'a b@shop.md',
    'ana@sh op.md',
    'a@b@c',
    '<ana@shop.md>',
    'ana\u0001@shop.md',
    `${'a'.repeat(247)}@shop.md`,
  ])('is not %j', (email) => {
    expect(() => readEmail(email)).toThrow('email must be');
  });
});

describe.each(engines)('users on %s', (engine) => {
  let database: TestDatabase;
  let shop: string;
  let other: string;
  beforeEach(async () => {
    database = await openQuickDatabase(engine);
    shop = (await seedMerchant(database.queries)).id;
    other = (await seedMerchant(database.queries)).id;
  });
  afterEach(() => database.close());

  const rowOf = (id: string) => database.queries.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const set = (id: string, columns: object) => database.queries.updateTable('users').set(columns).where('id', '=', id).execute();
  /** Somebody who can sign in, with a session and an open link. */
  async function settled(
    name: string,
    role: 'operator' | 'merchant' | 'viewer',
    merchantId: string | null = role === 'operator' ? null : shop,
  ): Promise<string> {
    const id = await insertRow(database.queries, systemRandom, { email: `${name}@x.md`, name, standing: { role, merchantId } });
    await set(id, { password_hash: 'set' });
    await insertSession(database.queries, systemRandom, id, { address: 'a', agent: 'b' });
    await insertLink(database.queries, systemRandom, { userId: id, purpose: 'reset', lifetimeMs: 60_000 });
    return id;
  }
  const change = (id: string, wanted: UserChange, viewer: Viewer = adminViewer) =>
    database.transaction((queries) => changeUser({ engine, queries, viewer, maxUsers: 5 }, id, wanted));
  const remove = (id: string, viewer: Viewer = adminViewer) => database.transaction((queries) => deleteUser(engine, queries, viewer, id));
  const refusal = (done: Promise<unknown>) => done.then(() => undefined).catch(({ errorName }: { errorName: string }) => errorName);
  const standing = async (id: string) => {
    const { role, merchant_id: merchantId } = await rowOf(id);
    return [role, merchantId];
  };
  /** Whether the session and the link of the user are still there. */
  const open = async (id: string) => {
    const sessions = await database.queries.selectFrom('sessions').select('id').where('user_id', '=', id).execute();
    const links = await database.queries.selectFrom('user_links').select('subject').where('subject', '=', id).execute();
    return [sessions.length, links.length];
  };
  const lastAudit = async () => {
    const rows = await database.queries.selectFrom('audit_log').selectAll().orderBy('id').execute();
    const entry = rows.at(-1);
    return (
      entry && {
        actor: entry.actor,
        action: entry.action,
        subject: entry.subject,
        merchantId: entry.merchant_id,
        detail: JSON.parse(entry.detail) as unknown,
      }
    );
  };

  it('are listed by e-mail and in pages, of one merchant or of all, each with how far they have come', async () => {
    const [ana, bob] = [
      await settled('ana', 'merchant'),
      await insertRow(database.queries, systemRandom, { email: 'bob@x.md', name: 'Bob', standing: { role: 'viewer', merchantId: other } }),
    ];
    const olga = await settled('olga', 'operator');
    await set(olga, { disabled_at: 1, totp_secret: 's' });
    await insertRow(database.queries, systemRandom, {
      email: 'sand@x.md',
      name: 'Sand',
      standing: { role: 'operator', merchantId: null },
      isSandbox: true,
    });
    const list = (filter: object = {}) => listUsers(database.queries, { limit: 10, hasSandboxUser: false, ...filter });
    const all = await list();
    expect(all.map(({ id, state, hasTotp, merchantId }) => [id, state, hasTotp, merchantId])).toEqual([
      [ana, 'active', false, shop],
      [bob, 'invited', false, other],
      [olga, 'disabled', true, null],
    ]);
    expect(all[0]).toMatchObject({
      email: 'ana@x.md',
      name: 'ana',
      role: 'merchant',
      merchantName: expect.any(String),
      createdAtMs: expect.any(Number),
    });
    expect(all[2]?.merchantName).toBeNull();
    const emails = async (filter: object) => (await list(filter)).map(({ email }) => email);
    expect(await emails({ merchantId: other })).toEqual(['bob@x.md']);
    expect(await emails({ limit: 1, after: all[0] && cursorOf(all[0]) })).toEqual(['bob@x.md']);
    expect((await list({ hasSandboxUser: true })).at(-1)).toMatchObject({ email: 'sand@x.md', state: 'active' });
    const visible = (viewer: Viewer, name: string) => findVisible(database.queries, viewer, name);
    expect([(await visible(adminViewer, ' BOB@x.md'))?.id, (await findUser(database.queries, bob))?.id]).toEqual([bob, bob]);
    expect(await visible({ ...adminViewer, role: 'merchant', merchantId: shop }, 'bob@x.md')).toBeUndefined();
    expect(await findUser(database.queries, 'nobody')).toBeUndefined();
  });

  it('are created without a password, by users with the right, once for an e-mail, and audited', async () => {
    const make = (wanted: object, viewer: Viewer = adminViewer) =>
      insertUser({ engine, queries: database.queries, viewer, maxUsers: 5 }, systemRandom, {
        ...{ email: 'New@x.md', name: ' New ', role: 'viewer', merchantId: shop },
        ...wanted,
      });
    const id = await make({});
    expect(await rowOf(id)).toMatchObject({
      email: 'new@x.md',
      name: 'New',
      role: 'viewer',
      merchant_id: shop,
      password_hash: null,
      disabled_at: null,
      is_sandbox: 0,
    });
    expect(await lastAudit()).toEqual({
      ...{
        actor: 'admin token',
        action: 'user.create',
        subject: id,
        merchantId: shop,
        detail: { email: 'new@x.md', role: 'viewer', merchantId: shop },
      },
    });
    expect(await refusal(make({}))).toBe('The_status_cannot_be_applied');
    expect(await refusal(make({ email: 'b@x.md', merchantId: '00000000-0000-4000-8000-000000000000' }))).toBe('Record_not_exist');
    const merchant: Viewer = { name: 'm', actor: 'm', role: 'merchant', merchantId: shop, confirmedUntilMs: 0 };
    expect(await refusal(make({ email: 'c@x.md', merchantId: other }, merchant))).toBe('API_Key_Wrong_Product');
    const operator = await make({ email: 'o@x.md', role: 'operator', merchantId: undefined });
    expect([await standing(operator), (await lastAudit())?.merchantId]).toEqual([['operator', null], null]);
  });

  it('of one merchant are bounded, also under concurrent requests and for one who is moved there', async () => {
    const invite = (email: string, merchantId: string | undefined, role: 'viewer' | 'operator' = 'viewer') =>
      database.transaction((queries) =>
        insertUser({ engine, queries, viewer: adminViewer, maxUsers: 5 }, systemRandom, { email, name: 'New', role, merchantId }),
      );
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, (_, count) => invite(`u${count}@x.md`, shop)));
    const made = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(made).toHaveLength(5);
    const bob = await invite('bob@x.md', other);
    const full = {
      errorName: 'The_status_cannot_be_applied',
      message: 'The merchant has 5 users, and 5 are allowed (TILLGATE_USERS_PER_MERCHANT): delete one first.',
    };
    await expect(invite('late@x.md', shop)).rejects.toMatchObject(full);
    await expect(change(bob, { merchantId: shop })).rejects.toMatchObject(full);
    // Who is there already can be changed, and operators belong to no merchant.
    await change(made[0] ?? '', { name: 'Ana', role: 'merchant' });
    await invite('o@x.md', undefined, 'operator');
    await remove(made[0] ?? '');
    await change(bob, { merchantId: shop });
  });

  it('keep what is not changed: a new name ends nothing', async () => {
    const ana = await settled('ana', 'merchant');
    await change(ana, { name: ' Ana Rusu ' });
    expect([(await rowOf(ana)).name, await standing(ana), await open(ana)]).toEqual(['Ana Rusu', ['merchant', shop], [1, 1]]);
    expect(await lastAudit()).toEqual({
      ...{ actor: 'admin token', action: 'user.change', subject: ana, merchantId: shop },
      detail: { email: 'ana@x.md', name: 'Ana Rusu', role: 'merchant', merchantId: shop, isActive: true },
    });
  });

  it.each<
    [string, 'operator' | 'merchant' | 'viewer', (shop: string, other: string) => UserChange, (shop: string, other: string) => unknown[]]
  >([
    ['another role within the merchant', 'merchant', () => ({ role: 'viewer' }), (shop) => ['viewer', shop]],
    ['another merchant', 'merchant', (_shop, other) => ({ merchantId: other }), (_shop, other) => ['merchant', other]],
    ['all merchants', 'viewer', () => ({ allMerchants: true }), () => ['viewer', null]],
    ['the highest role', 'merchant', () => ({ role: 'operator' }), () => ['operator', null]],
  ])('that get %s lose their sessions and their link', async (_what, role, wanted, expected) => {
    const id = await settled('ana', role);
    await change(id, wanted(shop, other));
    expect([await standing(id), await open(id)]).toEqual([expected(shop, other), [0, 0]]);
    // Whoever had them may read it, if nobody has them now.
    expect((await lastAudit())?.merchantId).toBe(expected(shop, other)[1] ?? shop);
  });

  it('who see all merchants still do when something else changes, and may be limited to one', async () => {
    const eve = await settled('eve', 'viewer', null);
    for (const wanted of [{ name: 'Eve' }, { role: 'viewer' }, { role: 'viewer', allMerchants: true }] as const) await change(eve, wanted);
    expect([await standing(eve), await open(eve)]).toEqual([
      ['viewer', null],
      [1, 1],
    ]);
    await change(eve, { merchantId: shop });
    expect(await standing(eve)).toEqual(['viewer', shop]);
    expect(await refusal(change(eve, { merchantId: shop, allMerchants: true }))).toBe('Invalid_Request');
    expect(await refusal(change(eve, { merchantId: '00000000-0000-4000-8000-000000000000' }))).toBe('Record_not_exist');
    await settled('oleg', 'operator');
    const olga = await settled('olga', 'operator');
    for (const role of ['merchant', 'viewer'] as const) expect(await refusal(change(olga, { role }))).toBe('Invalid_Request');
  });

  it('that are disabled lose sessions and link, with the time stored, and can be enabled again', async () => {
    const ana = await settled('ana', 'merchant');
    await change(ana, { isActive: false });
    expect(await open(ana)).toEqual([0, 0]);
    expect((await rowOf(ana)).disabled_at).toEqual(expect.any(Number));
    await set(ana, { disabled_at: 5 });
    await change(ana, { isActive: false });
    await change(ana, { name: 'Still' });
    expect((await rowOf(ana)).disabled_at).toBe(5);
    await change(ana, { isActive: true });
    expect((await rowOf(ana)).disabled_at).toBeNull();
  });

  it('are changed and removed by users of a higher role, before and after', async () => {
    const merchant: Viewer = { name: 'm', actor: 'm', role: 'merchant', merchantId: shop, confirmedUntilMs: 0 };
    const [ana, bob] = [await settled('ana', 'viewer'), await settled('bob', 'viewer', other)];
    expect(await refusal(change(bob, { name: 'x' }, merchant))).toBe('API_Key_Wrong_Product');
    expect(await refusal(remove(bob, merchant))).toBe('API_Key_Wrong_Product');
    expect(await refusal(change(ana, { merchantId: other }, merchant))).toBe('API_Key_Wrong_Product');
    await change(ana, { name: 'Ana' }, merchant);
    await remove(ana, merchant);
    expect([await findUser(database.queries, ana), await open(ana), await open(bob)]).toEqual([undefined, [0, 0], [1, 1]]);
    expect(await lastAudit()).toEqual({
      actor: 'm',
      action: 'user.delete',
      subject: ana,
      merchantId: shop,
      detail: { email: 'ana@x.md', role: 'viewer' },
    });
    expect([await refusal(remove(ana)), await refusal(change(ana, {}))]).toEqual(['Record_not_exist', 'Record_not_exist']);
  });

  it('keep the last operator who can sign in, whatever is tried', async () => {
    const olga = await settled('olga', 'operator');
    const [invited, disabled, sandbox] = [await settled('i', 'operator'), await settled('d', 'operator'), await settled('s', 'operator')];
    await set(invited, { password_hash: null });
    await set(disabled, { disabled_at: 1 });
    await set(sandbox, { is_sandbox: 1 });
    await settled('ana', 'merchant');
    expect((await lockOperators(engine, database.queries)).map(({ id }) => id)).toEqual([olga]);
    const last = 'The_status_cannot_be_applied';
    for (const wanted of [{ isActive: false }, { role: 'viewer', allMerchants: true }, { role: 'merchant', merchantId: shop }] as const)
      expect(await refusal(change(olga, wanted))).toBe(last);
    expect(await refusal(remove(olga))).toBe(last);
    await change(olga, { name: 'Olga' });
    // Who could not sign in anyway may go, and with another one so may this.
    await remove(invited);
    await change(disabled, { role: 'viewer', allMerchants: true });
    await settled('oleg', 'operator');
    await change(olga, { isActive: false });
    expect((await lockOperators(engine, database.queries)).map(({ email }) => email)).toEqual(['oleg@x.md']);
  });
});
