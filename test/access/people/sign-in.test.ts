// Proving who one is: what was proven is looked at again in the transaction that opens the session, so that nobody comes in by what has changed since.
import { argon2Sync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { insertSession } from '../../../src/access/people/sessions.ts';
import { confirmSession, proveAgain, type SignInRequest, signIn } from '../../../src/access/people/sign-in.ts';
import { totpCode } from '../../../src/access/people/totp.ts';
import { createTries } from '../../../src/access/people/tries.ts';
import { insertRow } from '../../../src/access/people/users.ts';
import type { Database } from '../../../src/database/database.ts';
import { systemRandom } from '../../../src/kernel/system.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../../support/engines.ts';
import { seedMerchant } from '../../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const origin = { address: '192.0.2.1', agent: 'test' };

/** Cheap ones, so that a test costs nothing: each hash brings its own parameters. */
function stored(password: string): string {
  const salt = Buffer.from('0123456789abcdef');
  const tag = argon2Sync('argon2id', { message: Buffer.from(password), nonce: salt, memory: 8, passes: 1, parallelism: 1, tagLength: 32 });
  const plain = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
  return `$argon2id$v=19$m=8,t=1,p=1$${plain(salt)}$${plain(tag)}`;
}

describe.each(engines)('on %s', (engine) => {
  let clock: VirtualClock;
  let database: TestDatabase;
  let userId: string;
  let merchantId: string;
  let wrongFrom: string[];
  /** After the password was judged, before the transaction. */
  let meanwhile: () => Promise<unknown>;
  let deps: Parameters<typeof signIn>[0];
  beforeEach(async () => {
    clock = createVirtualClock();
    database = await openQuickDatabase(engine, clock);
    merchantId = (await seedMerchant(database.queries)).id;
    userId = await insertRow(database.queries, systemRandom, {
      email: 'ana@shop.md',
      name: 'Ana',
      standing: { role: 'merchant', merchantId },
    });
    await change({ password_hash: stored('right') });
    wrongFrom = [];
    meanwhile = async () => {};
    const later: Database = {
      ...database,
      async transaction(work) {
        await meanwhile();
        return database.transaction(work);
      },
    };
    deps = { database: later, random: systemRandom, tries: createTries({ clock, onWrong: ({ address }) => wrongFrom.push(address) }) };
  });
  afterEach(() => database.close());

  const change = (columns: object) => database.queries.updateTable('users').set(columns).where('id', '=', userId).execute();
  const enter = (more: Partial<SignInRequest> = {}) => signIn(deps, { email: 'ana@shop.md', password: 'right', ...more }, origin);
  const refusal = (done: Promise<unknown>) => done.then(() => undefined).catch(({ message }: Error) => message);
  const sessions = () => database.queries.selectFrom('sessions').selectAll().execute();
  const code = (away = 0) => totpCode(secret, Math.floor(clock.now() / 30_000) + away);
  const wrongLogin = 'The e-mail or the password is wrong.';
  const wrongCode = expect.stringContaining('The code is wrong');

  describe('signing in', () => {
    it('opens a session, which is audited with its user', async () => {
      const entered = await enter();
      expect(entered).toMatchObject({ userId, session: { leftMs: 12 * 3_600_000 } });
      expect(await sessions()).toMatchObject([{ user_id: userId, address: '192.0.2.1', agent: 'test' }]);
      const [entry] = await database.queries.selectFrom('audit_log').selectAll().execute();
      expect(entry).toMatchObject({ actor: 'Ana <ana@shop.md>', action: 'session.start', subject: userId, merchant_id: merchantId });
      expect(JSON.parse(String(entry?.detail))).toEqual({
        sessionId: 'session' in entered ? entered.session.id : '',
        address: '192.0.2.1',
      });
    });

    it.each([
      ['a wrong password', { password: 'wrong' }, {}],
      ['an e-mail that no user has', { email: 'eve@shop.md' }, {}],
      ['a user without a password', {}, { password_hash: null }],
      ['a user who is disabled', {}, { disabled_at: 1 }],
    ])('by %s is one and the same refusal, and counted', async (_what, request, columns) => {
      await change({ name: 'Ana', ...columns });
      await expect(enter(request)).rejects.toMatchObject({ errorName: 'Invalid_API_Key', httpStatus: 401, message: wrongLogin });
      expect([await sessions(), wrongFrom]).toEqual([[], ['192.0.2.1']]);
    });

    it.each([
      ['whose password was changed', { password_hash: stored('another') }],
      ['who was disabled', { disabled_at: 1 }],
    ])('of a user %s since it was proven opens nothing', async (_who, columns) => {
      meanwhile = () => change(columns);
      expect([await refusal(enter()), await sessions()]).toEqual([wrongLogin, []]);
    });

    it('of a user who was removed since opens nothing', async () => {
      meanwhile = () => database.queries.deleteFrom('users').where('id', '=', userId).execute();
      expect([await refusal(enter()), await sessions()]).toEqual([wrongLogin, []]);
    });

    it('ends the session that the browser had, and no other', async () => {
      const [mine, other] = [
        await insertSession(database.queries, systemRandom, userId, origin),
        await insertSession(database.queries, systemRandom, userId, origin),
      ];
      await enter({ earlierSessionId: mine.id });
      const left = (await sessions()).map(({ id }) => id);
      expect([left.includes(mine.id), left.includes(other.id), left.length]).toEqual([false, true, 2]);
    });

    it('needs a code where there is a secret: without one it is asked for, a wrong one is counted, a good one counts once', async () => {
      await change({ totp_secret: secret });
      expect([await enter(), await sessions(), wrongFrom]).toEqual([{ needsCode: true }, [], []]);
      await expect(enter({ code: '000000' })).rejects.toMatchObject({ errorName: 'Invalid_API_Key', httpStatus: 401, message: wrongCode });
      expect([await sessions(), wrongFrom.length]).toEqual([[], 1]);
      const good = code();
      expect(await enter({ code: good })).toMatchObject({ userId });
      expect(await refusal(enter({ code: good }))).toEqual(wrongCode);
      expect(await sessions()).toHaveLength(1);
    });

    it('asks no user for a code who may not sign in', async () => {
      await change({ totp_secret: secret, disabled_at: 1 });
      expect(await refusal(enter())).toBe(wrongLogin);
    });

    it('needs a code also if the secret came since', async () => {
      meanwhile = () => change({ totp_secret: secret });
      expect([await refusal(enter()), await sessions()]).toEqual([wrongCode, []]);
    });
  });

  describe('confirming again', () => {
    const person = () => ({ userId, address: origin.address });
    const prove = (proof: { password?: string; code?: string }) => proveAgain(deps, person(), proof, async (_queries, user) => user.email);

    it('takes the password, or a code that was not used', async () => {
      expect(await prove({ password: 'right' })).toBe('ana@shop.md');
      expect(await refusal(prove({}))).toEqual(wrongCode);
      expect(await refusal(prove({ code: code() }))).toEqual(wrongCode);
      await change({ totp_secret: secret });
      const good = code();
      expect(await prove({ code: good })).toBe('ana@shop.md');
      expect(await refusal(prove({ code: good }))).toEqual(wrongCode);
      // The password alone will do, and uses up no code.
      expect(await prove({ password: 'right' })).toBe('ana@shop.md');
      await expect(prove({ password: 'wrong', code: code(1) })).rejects.toMatchObject({
        ...{ errorName: 'Invalid_API_Key', httpStatus: 401, message: 'The password is wrong.', fields: { needsConfirmation: true } },
      });
    });

    it('is not blocked by others who guess, and wrong attempts are counted by their source', async () => {
      for (let number = 0; number < 10; number += 1)
        await refusal(signIn(deps, { email: 'ana@shop.md', password: 'wrong' }, { address: `198.51.100.${number}`, agent: '' }));
      expect(await refusal(enter())).toContain('Too many');
      expect(await prove({ password: 'right' })).toBe('ana@shop.md');
      await refusal(prove({ password: 'wrong' }));
      expect(wrongFrom.at(-1)).toBe('192.0.2.1');
    });

    it('is slowed for the holder of the session, from however many addresses', async () => {
      const guessed = [];
      for (let number = 0; number < 15; number += 1) {
        const from = { userId, address: `198.51.100.${number}` };
        guessed.push(await refusal(proveAgain(deps, from, { password: 'wrong' }, async () => undefined)));
      }
      expect(guessed.filter((message) => message === 'The password is wrong.')).toHaveLength(10);
      expect(guessed.at(-1)).toContain('Too many');
    });

    it('fails for a user who was changed or removed since', async () => {
      meanwhile = () => change({ password_hash: stored('another') });
      expect(await refusal(prove({ password: 'right' }))).toContain('session is over');
      meanwhile = async () => {};
      await database.queries.deleteFrom('users').execute();
      expect(await refusal(prove({ password: 'right' }))).toContain('session is over');
    });

    it('gives a session another token, and one that has ended none', async () => {
      const before = await insertSession(database.queries, systemRandom, userId, origin);
      const confirm = () => confirmSession(deps, { ...person(), sessionId: before.id }, { password: 'right' });
      const after = await confirm();
      expect([after.id, after.token === before.token]).toEqual([before.id, false]);
      await database.queries.deleteFrom('sessions').execute();
      await expect(confirm()).rejects.toMatchObject({ errorName: 'Invalid_API_Key', httpStatus: 401 });
    });
  });

  it('waits in the share of the merchant of a known user, and in none if the user is not known', async () => {
    const triers: unknown[] = [];
    const { tries } = deps;
    const noted: typeof tries = {
      attempt: (trier, ...rest) => (triers.push([trier.knownBy, trier.merchantId]), tries.attempt(trier, ...rest)),
    };
    deps = { ...deps, tries: noted };
    await enter();
    await enter({ browserOf: userId });
    await proveAgain(deps, { userId, address: origin.address }, { password: 'right' }, async () => undefined);
    expect(triers).toEqual([
      [undefined, undefined],
      [`browser ${userId}`, merchantId],
      [`session ${userId}`, merchantId],
    ]);
  });
});
