// The life of a key: who it stands for, and how it ends, on each engine.
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Access, createAccess } from '../../src/access/access.ts';
import { listAudit } from '../../src/access/audit.ts';
import { ensureDemo } from '../../src/cli/demo-merchant.ts';
import type { Database } from '../../src/database/database.ts';
import type { Module } from '../../src/kernel/callers.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

describe.each(engines)('keys on %s', (engine) => {
  async function setUp(): Promise<{ database: TestDatabase; clock: VirtualClock; access: Access; merchantId: string }> {
    const clock = createVirtualClock();
    const database = await openTestDatabase(engine, clock);
    onTestFinished(() => database.close());
    const access = createAccess({ database, clock, random: seededRandom(1), maxKeys: 5 });
    onTestFinished(access.stop);
    const { id: merchantId } = await access.createMerchant('test', 'Shop');
    return { database, clock, access, merchantId };
  }

  const allModules: Module[] = ['POS', 'QR', 'Fiscal'];

  it('finds the caller of a good key, whatever the case of its letters', async () => {
    const { access, merchantId } = await setUp();
    const { id, key } = await access.createKey('test', { merchantId, name: 'ERP', modules: ['QR', 'POS', 'QR'] });
    expect(await access.findCaller(key.toUpperCase())).toEqual({ merchantId, keyId: id, modules: new Set(['POS', 'QR']) });
  });

  it("returns the share that an operator set for the key's merchant, at once and until it is removed", async () => {
    const { access, database, merchantId } = await setUp();
    const { key } = await access.createKey('test', { merchantId, name: 'ERP', modules: allModules });
    expect(await access.findCaller(key)).not.toHaveProperty('sharePercent');
    await access.setShare('ana', merchantId, 30);
    expect(await access.findCaller(key)).toMatchObject({ sharePercent: 30 });
    expect(await access.listMerchants()).toMatchObject([{ id: merchantId, sharePercent: 30 }]);
    expect((await listAudit(database.queries, { limit: 1 }))[0]).toMatchObject({
      actor: 'ana',
      action: 'merchant.share',
      subject: merchantId,
      detail: { sharePercent: 30 },
    });
    await access.setShare('ana', merchantId, undefined);
    expect(await access.findCaller(key)).not.toHaveProperty('sharePercent');
    await expect(access.setShare('ana', '3b241101-e2bb-4255-8caf-4136c566a962', 30)).rejects.toMatchObject({
      errorName: 'Record_not_exist',
    });
  });

  it('does not query the database for an invalid UUID', async () => {
    const { access, database } = await setUp();
    await database.close();
    expect(await access.findCaller("' or 1=1 --")).toBeUndefined();
    expect(await access.findCaller('')).toBeUndefined();
    await expect(access.findCaller('3b241101-e2bb-4255-8caf-4136c566a962')).rejects.toThrow();
  });

  it('asks the database once for many calls within seconds, and again later', async () => {
    const { access, database, clock, merchantId } = await setUp();
    const { key } = await access.createKey('test', { merchantId, name: 'ERP', modules: allModules });
    await Promise.all(Array.from({ length: 20 }, () => access.findCaller(key)));
    await database.queries.updateTable('api_keys').set({ opens_fiscal: 0 }).execute();
    expect((await access.findCaller(key))?.modules.has('Fiscal')).toBe(true);
    await clock.advance(5_001);
    expect((await access.findCaller(key))?.modules.has('Fiscal')).toBe(false);
  });

  it('is not locked out by a look-up that failed: the next call asks again', async () => {
    const { access, database, clock, merchantId } = await setUp();
    const { key } = await access.createKey('test', { merchantId, name: 'ERP', modules: allModules });
    let isAway = true;
    const queries = new Proxy(database.queries, {
      get(target, name) {
        if (isAway) throw new Error('The database is away.');
        const part = Reflect.get(target, name) as unknown;
        return typeof part === 'function' ? (part.bind(target) as unknown) : part;
      },
    });
    const shaky = createAccess({ database: { ...database, queries }, clock, random: seededRandom(2), maxKeys: 5 });
    onTestFinished(shaky.stop);
    await expect(shaky.findCaller(key)).rejects.toThrow('away');
    await expect(Promise.all([shaky.findCaller(key), shaky.findCaller(key)])).rejects.toThrow('away');
    isAway = false;
    expect(await shaky.findCaller(key)).toMatchObject({ merchantId });
  });

  it('are bounded for each merchant, also under concurrent requests', async () => {
    const { access, clock, merchantId } = await setUp();
    const make = (expiresAtMs?: number) => access.createKey('test', { merchantId, name: 'ERP', modules: allModules, expiresAtMs });
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => make()));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    const full = {
      errorName: 'The_status_cannot_be_applied',
      message: 'The merchant has 5 active keys, and 5 are allowed (TILLGATE_KEYS_PER_MERCHANT): revoke one first.',
    };
    await expect(make()).rejects.toMatchObject(full);
    // Another merchant has its own, and one that was revoked or has expired takes no room.
    const { id: neighbour } = await access.createMerchant('test', 'Neighbour');
    await access.createKey('test', { merchantId: neighbour, name: 'ERP', modules: allModules });
    const [first] = await access.listKeys(merchantId);
    await access.revokeKey('test', first?.id ?? '');
    await make(clock.now() + 1_000);
    await expect(make()).rejects.toMatchObject(full);
    await clock.advance(1_001);
    await make();
  });

  it('can all be rotated when there are as many as allowed, but not again while they overlap', async () => {
    const { access, clock, merchantId } = await setUp();
    const made = [];
    for (let count = 0; count < 5; count += 1) made.push(await access.createKey('test', { merchantId, name: 'ERP', modules: allModules }));
    const fresh: { id: string }[] = [];
    for (const { id } of made) fresh.push(await access.rotateKey('test', id, 1_000));
    const again = () => access.rotateKey('test', fresh[0]?.id ?? '', 1_000);
    await expect(again()).rejects.toMatchObject({ message: expect.stringMatching(/^The merchant has 10 active keys, and 5 are allowed/) });
    await clock.advance(1_001);
    await again();
  });

  it('applies a revocation at once here, and keeps its first time', async () => {
    const { access, merchantId } = await setUp();
    const { id, key } = await access.createKey('test', { merchantId, name: 'ERP', modules: allModules });
    expect(await access.findCaller(key)).toBeDefined();
    const first = await access.revokeKey('test', id);
    expect(await access.findCaller(key)).toBeUndefined();
    expect(await access.revokeKey('test', id)).toEqual(first);
    await expect(access.revokeKey('test', '3b241101-e2bb-4255-8caf-4136c566a962')).rejects.toMatchObject({ errorName: 'Record_not_exist' });
  });

  it('does not use a lookup from before a revocation', async () => {
    const { access, merchantId } = await setUp();
    const { id, key } = await access.createKey('test', { merchantId, name: 'ERP', modules: allModules });
    const before = access.findCaller(key);
    await access.revokeKey('test', id);
    await before;
    expect(await access.findCaller(key)).toBeUndefined();
  });

  it('notifies another instance by a wake-up, and without one expires within seconds', async () => {
    const { access, database, clock, merchantId } = await setUp();
    // Another gateway on the same database: its wake-ups are lost while `isDeaf`.
    let isDeaf = false;
    const elsewhere: Database = {
      ...database,
      onWake: (topic, listener) => database.onWake(topic, (detail) => isDeaf || listener(detail)),
    };
    const other = createAccess({ database: elsewhere, clock, random: seededRandom(2), maxKeys: 5 });
    onTestFinished(other.stop);
    const one = await access.createKey('test', { merchantId, name: 'one', modules: allModules });
    const two = await access.createKey('test', { merchantId, name: 'two', modules: allModules });
    expect(await other.findCaller(one.key)).toBeDefined();
    await access.revokeKey('test', one.id);
    await clock.settle();
    expect(await other.findCaller(one.key)).toBeUndefined();

    expect(await other.findCaller(two.key)).toBeDefined();
    isDeaf = true;
    await access.revokeKey('test', two.id);
    await clock.advance(5_001);
    expect(await other.findCaller(two.key)).toBeUndefined();
  });

  it("ends a key at its expiry by the database's clock, even if it was cached", async () => {
    const { access, clock, merchantId } = await setUp();
    const { key } = await access.createKey('test', { merchantId, name: 'ERP', modules: allModules, expiresAtMs: clock.now() + 2_000 });
    expect(await access.findCaller(key)).toBeDefined();
    await clock.advance(1_990);
    expect(await access.findCaller(key)).toBeDefined();
    await clock.advance(20);
    expect(await access.findCaller(key)).toBeUndefined();
    expect((await access.listKeys())[0]?.state).toBe('expired');
  });

  it('refuses a key without modules, with an expiry that has passed, or without a merchant', async () => {
    const { access, clock, merchantId } = await setUp();
    const create = (changes: object) => access.createKey('test', { merchantId, name: 'ERP', modules: allModules, ...changes });
    await expect(create({ modules: [] })).rejects.toMatchObject({ errorName: 'Invalid_Request' });
    await expect(create({ name: ' ' })).rejects.toMatchObject({ errorName: 'Invalid_Request' });
    await expect(create({ expiresAtMs: clock.now() - 1 })).rejects.toMatchObject({ errorName: 'Invalid_Request' });
    await expect(create({ merchantId: '3b241101-e2bb-4255-8caf-4136c566a962' })).rejects.toMatchObject({ errorName: 'Record_not_exist' });
    expect(await access.listKeys()).toEqual([]);
  });

  it('rotates: both keys work during the overlap, the old one ends after it', async () => {
    const { access, clock, merchantId } = await setUp();
    const old = await access.createKey('test', { merchantId, name: 'ERP', modules: ['QR'] });
    const fresh = await access.rotateKey('test', old.id, 60_000);
    expect(await access.findCaller(old.key)).toMatchObject({ keyId: old.id });
    expect(await access.findCaller(fresh.key)).toEqual({ merchantId, keyId: fresh.id, modules: new Set(['QR']) });
    await clock.advance(60_010);
    expect(await access.findCaller(old.key)).toBeUndefined();
    expect(await access.findCaller(fresh.key)).toBeDefined();
    expect((await access.listKeys(merchantId)).find((key) => key.id === old.id)).toMatchObject({ state: 'expired', replacedBy: fresh.id });
  });

  it('passes a lifetime on, and never lengthens the old key', async () => {
    const { access, clock, merchantId } = await setUp();
    const start = clock.now();
    const old = await access.createKey('test', { merchantId, name: 'ERP', modules: allModules, expiresAtMs: start + 100_000 });
    await clock.advance(90_000);
    const fresh = await access.rotateKey('test', old.id);
    expect(fresh.oldKeyEndsAtMs).toBe(start + 100_000);
    expect(Math.abs((fresh.expiresAtMs ?? 0) - (clock.now() + 100_000))).toBeLessThan(1_000);
  });

  it('rotates a key once, also when asked twice at the same moment, and never one that has ended', async () => {
    const { access, merchantId } = await setUp();
    const key = await access.createKey('test', { merchantId, name: 'ERP', modules: allModules });
    const both = await Promise.allSettled([access.rotateKey('test', key.id), access.rotateKey('test', key.id)]);
    expect(both.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await access.listKeys()).toHaveLength(2);
    const revoked = await access.createKey('test', { merchantId, name: 'gone', modules: allModules });
    await access.revokeKey('test', revoked.id);
    await expect(access.rotateKey('test', revoked.id)).rejects.toMatchObject({ errorName: 'The_status_cannot_be_applied' });
    expect(await access.listKeys()).toHaveLength(3);
  });

  it('audits every change, and keeps no secret in audit, lists or tables', async () => {
    const { access, database, merchantId } = await setUp();
    const { callbackSecret } = await access.createMerchant('ana', 'Second');
    const one = await access.createKey('ana', { merchantId, name: 'ERP', modules: allModules });
    const two = await access.rotateKey('ana', one.id);
    await access.revokeKey('ana', two.id);
    await access.revokeKey('ana', two.id);
    const audit = await listAudit(database.queries, { limit: 100 });
    expect(audit.map(({ action, subject, actor }) => [action, subject, actor]).slice(0, 3)).toEqual([
      ['key.revoke', two.id, 'ana'],
      ['key.rotate', one.id, 'ana'],
      ['key.create', one.id, 'ana'],
    ]);
    expect(audit.map(({ action }) => action).slice(3)).toEqual(['merchant.create', 'merchant.create']);
    expect(await listAudit(database.queries, { limit: 1, subject: one.id, beforeId: audit[1]?.id })).toMatchObject([
      { action: 'key.create' },
    ]);
    const rows = await database.queries.selectFrom('api_keys').selectAll().execute();
    const seen = JSON.stringify([audit, rows, await access.listKeys(), await access.listMerchants()]);
    for (const secret of [one.key, two.key, callbackSecret]) expect(seen).not.toContain(secret);
    const keysSeen = JSON.stringify(await access.listKeys());
    for (const { key_hash } of rows) expect(keysSeen).not.toContain(key_hash);
  });

  it('writes the change and its audit entry together or not at all', async () => {
    const { access, database } = await setUp();
    await database.queries.schema.dropTable('audit_log').execute();
    await expect(access.createMerchant('test', 'Unlucky')).rejects.toThrow();
    expect((await access.listMerchants()).map((merchant) => merchant.name)).toEqual(['Shop']);
  });

  it('seeds the sandbox once: the same key again, a new one only if the old one is gone', async () => {
    const { access, database } = await setUp();
    const first = await ensureDemo({ database, access });
    expect((await access.findCaller(first.apiKey))?.modules.size).toBe(3);
    expect(await ensureDemo({ database, access }, first)).toEqual(first);
    expect((await access.listMerchants()).filter((merchant) => merchant.id === first.merchantId)).toHaveLength(1);
    const afterLoss = await ensureDemo({ database, access }, { apiKey: 'lost' });
    expect(afterLoss.merchantId).toBe(first.merchantId);
    expect(afterLoss.apiKey).not.toBe(first.apiKey);
    expect(await access.listMerchants()).toHaveLength(2);
  });
});
