// Merchants and keys: where a limit lies, what a list shows to whom, what the audit log tells, and when a change is felt. Quickly, on SQLite in
// memory and in virtual time; keys.test.ts asks both engines.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Access, createAccess } from '../../src/access/access.ts';
import { listAudit, writeAudit } from '../../src/access/audit.ts';
import { type NewKeyRequest, readKeyNames } from '../../src/access/keys.ts';
import { createMerchantDevices, requireMerchantDevice } from '../../src/access/merchant-device.ts';
import { sameHash } from '../../src/access/secrets.ts';
import type { Database } from '../../src/database/database.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedDevice, seedKey } from '../support/fixtures.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const nobody = '3b241101-e2bb-4255-8caf-4136c566a962';
let clock: VirtualClock;
let database: Database;
let access: Access;
let merchantId: string;

beforeEach(async () => {
  clock = createVirtualClock();
  database = await memoryDatabase(clock);
  // No word reaches this gateway, not even its own: what is felt at once is felt by itself.
  access = createAccess({ database: { ...database, wake: () => {} }, clock, random: seededRandom(1), maxKeys: 100 });
  merchantId = (await access.createMerchant('ana', 'Shop')).id;
});
afterEach(async () => {
  access.stop();
  await database.close();
});

const create = (more: Partial<NewKeyRequest> = {}) =>
  access.createKey('ana', { merchantId, name: 'ERP', modules: ['POS', 'POS'], ...more });
const newest = async () => (await listAudit(database.queries, { limit: 1 }))[0];
const fails = (call: Promise<unknown>, errorName: string) => expect(call).rejects.toMatchObject({ errorName });

describe('a key', () => {
  it('that does not exist is unknown, which is cached for two seconds', async () => {
    const { id, key } = await seedKey(database.queries, merchantId);
    await database.queries.deleteFrom('api_keys').execute();
    expect(await access.findCaller(key)).toBeUndefined();
    const { createHash } = await import('node:crypto');
    await seedKey(database.queries, merchantId, { id, key_hash: createHash('sha256').update(key).digest('hex') });
    await clock.advance(1_999);
    expect(await access.findCaller(key)).toBeUndefined();
    await clock.advance(1);
    expect(await access.findCaller(key)).toMatchObject({ keyId: id });
  });

  it('ends in the millisecond that is named, for callers, in the list and for a rotation', async () => {
    const expiresAtMs = clock.now() + 1_000;
    const { id, key } = await create({ expiresAtMs });
    await clock.advance(999);
    expect((await access.listKeys())[0]).toMatchObject({ state: 'active', expiresAtMs });
    await clock.advance(1);
    expect(await access.findCaller(key)).toBeUndefined();
    expect((await access.listKeys())[0]).toMatchObject({ state: 'expired' });
    await fails(access.rotateKey('ana', id), 'The_status_cannot_be_applied');
    await fails(create({ expiresAtMs: clock.now() }), 'Invalid_Request');
    expect(await access.listKeys()).toHaveLength(1);
  });

  it('is listed with its merchant alone, with how it ended', async () => {
    const other = (await access.createMerchant('ana', 'Other')).id;
    await create({ merchantId: other });
    const { id } = await create();
    expect(await access.listKeys(merchantId)).toEqual([
      {
        ...{ id, merchantId, name: 'ERP', modules: ['POS'], state: 'active', createdAtMs: clock.now() },
        ...{ expiresAtMs: null, revokedAtMs: null, replacedBy: null, lastUsedAtMs: null },
      },
    ]);
    const revokedAtMs = clock.now();
    expect(await access.revokeKey('ana', id)).toEqual({ revokedAtMs });
    expect(await access.listKeys(merchantId)).toMatchObject([{ state: 'revoked', revokedAtMs }]);
  });

  it('that is rotated or revoked ends here at once, without waiting for the notification', async () => {
    for (const end of [(id: string) => access.revokeKey('ana', id), (id: string) => access.rotateKey('ana', id, 0)]) {
      const { id, key } = await create();
      expect(await access.findCaller(key)).toBeDefined();
      await end(id);
      expect(await access.findCaller(key)).toBeUndefined();
    }
  });

  it('that is not there is not rotated', async () => {
    await fails(access.rotateKey('ana', nobody), 'Record_not_exist');
  });

  it('is in the audit log with its modules, and a rotation with the new key', async () => {
    const { id } = await create();
    expect((await newest())?.detail).toEqual({ merchantId, name: 'ERP', modules: ['POS'] });
    const { id: replacedBy, oldKeyEndsAtMs } = await access.rotateKey('ana', id, 5);
    expect((await newest())?.detail).toEqual({ replacedBy, oldKeyEndsAtMs });
    expect(oldKeyEndsAtMs).toBe(clock.now() + 5);
  });

  it('has its name read by its id, also where there are none to read', async () => {
    const { id } = await create();
    expect(await readKeyNames(database.queries, [id, nobody])).toEqual(new Map([[id, 'ERP']]));
    await database.queries.schema.dropTable('api_keys').execute();
    expect(await readKeyNames(database.queries, [])).toEqual(new Map());
  });
});

describe('a merchant', () => {
  it('has a name of up to 200 characters, and is in the audit log by it', async () => {
    const { id } = await access.createMerchant('ana', ` ${'x'.repeat(200)} `);
    expect(await newest()).toMatchObject({ subject: id, detail: { name: 'x'.repeat(200) } });
    await fails(access.createMerchant('ana', 'x'.repeat(201)), 'Invalid_Request');
    await fails(access.createMerchant('ana', 'a\u0007b'), 'Invalid_Request');
  });

  it('is listed alone by its id', async () => {
    await access.createMerchant('ana', 'Other');
    expect((await access.listMerchants(merchantId)).map(({ id }) => id)).toEqual([merchantId]);
    expect(await access.listMerchants()).toHaveLength(2);
  });
});

it('the audit log is read by subject, by whose it is, and page by page', async () => {
  const write = (subject: string, owner?: string) =>
    writeAudit(database.queries, { actor: 'a', action: 'b', subject, ...(owner && { merchantId: owner }) });
  await write('s');
  await write('s', merchantId);
  await write('other', merchantId);
  const read = async (filter: object) => (await listAudit(database.queries, { limit: 10, ...filter })).map(({ subject }) => subject);
  expect(await read({ subject: 's' })).toEqual(['s', 's']);
  expect(await read({ merchantId })).toEqual(['other', 's', merchantId]);
  const [, , oldest] = await listAudit(database.queries, { limit: 3 });
  expect(await read({ beforeId: oldest?.id })).toEqual([merchantId]);
});

describe('a device of a merchant', () => {
  it('has its last presence; another merchant’s and a disabled one are offline', async () => {
    const said = { journal_id: 'j', last_seen_at: 7, last_report: '{}' };
    const { id } = await seedDevice(database.queries, merchantId, said);
    const { id: silent } = await seedDevice(database.queries, merchantId);
    const found = (device: string, owner = merchantId) => requireMerchantDevice(database.queries, owner, device);
    expect(await found(id.toUpperCase())).toEqual({ id, kind: 'terminal', journalId: 'j', lastSeenAtMs: 7, lastReport: '{}' });
    expect(await found(silent)).toMatchObject({ journalId: undefined, lastSeenAtMs: undefined, lastReport: undefined });
    await fails(found(id, nobody), 'Device_Offline');
    await database.queries.updateTable('devices').set({ disabled_at: 1 }).execute();
    await fails(found(id), 'Device_Offline');
  });

  it('that must be fresh is looked up, even within the same millisecond', async () => {
    const devices = createMerchantDevices({ database, clock });
    const { id } = await seedDevice(database.queries, merchantId);
    await devices.require(merchantId, id, true);
    await database.queries.updateTable('devices').set({ disabled_at: 1 }).execute();
    expect(await devices.require(merchantId, id, false)).toMatchObject({ id });
    await fails(devices.require(merchantId, id, true), 'Device_Offline');
    devices.stop();
  });
});

it('equal hashes are equal, and hashes of different length are not', () => {
  expect([sameHash('abc', 'abc'), sameHash('abc', 'abd'), sameHash('abc', 'abcd')]).toEqual([true, false, false]);
});
