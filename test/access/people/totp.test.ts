// One-time codes against the test vectors of RFC 6238, and that each counts once.
import { describe, expect, it } from 'vitest';
import { findStep, newTotpSecret, totpCode, totpUri } from '../../../src/access/people/totp.ts';
import { seededRandom } from '../../support/seeded-random.ts';

// Appendix B, SHA-1: the secret "12345678901234567890" in Base32, the last six of its eight digits.
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const vectors: [seconds: number, code: string][] = [
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
];

describe('a one-time code', () => {
  it.each(vectors)('at %i seconds is %s', (seconds, code) => {
    const step = Math.floor(seconds / 30);
    expect(totpCode(secret, step)).toBe(code);
    expect(findStep(secret, code, seconds * 1000, null)).toBe(step);
  });

  it('is taken one step early or late, and no further', () => {
    const atMs = 1234567890_000;
    const step = Math.floor(1234567890 / 30);
    const found = [-2, -1, 0, 1, 2].map((away) => findStep(secret, totpCode(secret, step + away), atMs, null));
    expect(found).toEqual([undefined, step - 1, step, step + 1, undefined]);
  });

  it('counts once, and no older one counts after it', () => {
    const atMs = 1234567890_000;
    const step = Math.floor(1234567890 / 30);
    expect(findStep(secret, totpCode(secret, step), atMs, step)).toBeUndefined();
    expect(findStep(secret, totpCode(secret, step - 1), atMs, step)).toBeUndefined();
    expect(findStep(secret, totpCode(secret, step + 1), atMs, step)).toBe(step + 1);
  });

  it('may be typed with a blank, and is otherwise six digits', () => {
    expect(findStep(secret, '005 924', 1234567890_000, null)).toBeDefined();
    for (const wrong of ['', '5924', '0059240', 'abcdef', '٠٠٥٩٢٤', '-05924'])
      expect(findStep(secret, wrong, 1234567890_000, null)).toBeUndefined();
  });

  it('has a secret of 160 bits that apps can read', () => {
    const fresh = newTotpSecret(seededRandom(1));
    expect(fresh).toMatch(/^[A-Z2-7]{32}$/);
    expect(newTotpSecret(seededRandom(2))).not.toBe(fresh);
    expect(totpUri(fresh, 'ana+till@shop.md')).toBe(`otpauth://totp/Tillgate%3Aana%2Btill%40shop.md?secret=${fresh}&issuer=Tillgate`);
  });
});
