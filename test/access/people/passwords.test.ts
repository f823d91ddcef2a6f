// Passwords as they are kept.
import { argon2Sync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { checkPassword, hashPassword, isPassword, matchPassword } from '../../../src/access/people/passwords.ts';
import { systemRandom } from '../../../src/kernel/system.ts';

describe('a password', () => {
  it('is stored as argon2id with its parameters and its own salt', async () => {
    const one = await hashPassword(systemRandom, 'correct horse battery');
    const other = await hashPassword(systemRandom, 'correct horse battery');
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(one).not.toBe(other);
    expect(await isPassword(one, 'correct horse battery')).toBe(true);
    expect(await isPassword(one, 'correct horse batterY')).toBe(false);
    expect(await isPassword(one, '')).toBe(false);
  });

  it('that was stored with other parameters is still accepted', async () => {
    const salt = Buffer.from('0123456789abcdef');
    const message = Buffer.from('an old password');
    const tag = argon2Sync('argon2id', { message, nonce: salt, memory: 8_192, passes: 3, parallelism: 2, tagLength: 24 });
    const plain = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
    const stored = `$argon2id$v=19$m=8192,t=3,p=2$${plain(salt)}$${plain(tag)}`;
    expect(await isPassword(stored, 'an old password')).toBe(true);
    expect(await isPassword(stored, 'another password')).toBe(false);
  });

  it('is compared with all accounts of an e-mail by one hash, because they share their salt', async () => {
    const one = await hashPassword(systemRandom, 'correct horse battery');
    const other = await hashPassword(systemRandom, 'another good password', one);
    const saltOf = (hash: string) => hash.split('$')[4];
    expect(saltOf(other)).toBe(saltOf(one));
    expect(await matchPassword([one, null, other], 'another good password')).toEqual([false, false, true]);
    expect(await matchPassword([one, null, other], 'correct horse battery')).toEqual([true, false, false]);
    const apart = await hashPassword(systemRandom, 'correct horse battery');
    expect(await matchPassword([one, apart, other], 'correct horse battery')).toEqual([true, true, false]);
  });

  it('of an unknown user is never right', async () => {
    expect(await isPassword(null, '')).toBe(false);
    expect(await isPassword(null, 'anything at all')).toBe(false);
    await expect(isPassword('plain text', 'plain text')).rejects.toThrow(/unknown form/);
  });

  it('is normalised Unicode, of 12 to 256 characters', async () => {
    const composed = 'piață și pâine';
    const stored = await hashPassword(systemRandom, composed);
    expect(await isPassword(stored, composed.normalize('NFD'))).toBe(true);
    expect(() => checkPassword('next', 'elevenchars')).toThrow(/next must have 12 to 256/);
    expect(() => checkPassword('next', 'x'.repeat(257))).toThrow(/next must have 12 to 256/);
    const keys = '🔑🔒🚪🏠🐈🐕🌲🌳🍎🍐🍞🧀';
    expect(checkPassword('next', keys)).toBe(keys);
    const long = 'bread and butter'.repeat(16);
    expect(checkPassword('next', long)).toBe(long);
    expect(() => checkPassword('next', `${long}x`)).toThrow(/next must have 12 to 256/);
  });

  it.each([
    '1qaz2wsx3edc',
    'Password1234',
    'Parola2026!!!',
    '!!!Tillgate!!!',
    '123456123456',
    'aaaaaaaaaaaaa',
    'QwertyUIOP[]',
    '🔑'.repeat(12),
  ])('is not a common one: %s', (common) => {
    expect(() => checkPassword('next', common)).toThrow(/next is one of the passwords that are tried first/);
  });

  it.each(['bread and butter', 'something quite new', 'a better one!', 'correct horse battery', 'piață și pâine', 'tick-tack-tick-tack'])(
    'may be %s',
    (good) => {
      expect(checkPassword('next', good)).toBe(good);
    },
  );

  it('is compared to its last letter, and one far too long is not hashed', async () => {
    const long = 'x'.repeat(255);
    const stored = await hashPassword(systemRandom, `${long}y`);
    expect([await isPassword(stored, `${long}y`), await isPassword(stored, `${long}z`)]).toEqual([true, false]);
    const longest = 'x'.repeat(512);
    const kept = await hashPassword(systemRandom, longest);
    expect([await isPassword(kept, longest.slice(1)), await isPassword(kept, `${longest}${'y'.repeat(1_000_000)}`)]).toEqual([false, true]);
  });
});
