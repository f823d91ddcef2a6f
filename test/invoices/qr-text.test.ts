import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawQr, readQr, writeQr } from '../../src/invoices/qr-text.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { seededRandom } from '../support/seeded-random.ts';

const secret = Buffer.alloc(32, 7);
const base64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Neither the OID nor any OID: undefined or errorCode 21. */
function isRejected(text: string, secrets = [secret]): boolean {
  try {
    return readQr(text, secrets) === undefined;
  } catch (error) {
    return error instanceof GatewayError && error.errorName === 'Invalid_QR';
  }
}

describe('the text of a QR', () => {
  it('is 44 letters and digits, from which its OID is read back', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const { oid, qr } = drawQr(seededRandom(seed), secret);
        expect(qr).toMatch(/^[A-Za-z0-9]{44}$/);
        expect(encodeURIComponent(qr)).toBe(qr);
        expect(Buffer.from(qr, 'base64')).toEqual(Buffer.from(qr, 'base64url'));
        expect(Buffer.from(qr, 'base64')).toHaveLength(33);
        expect(readQr(qr, [secret])).toBe(oid);
        expect(writeQr(oid, secret)).toBe(qr);
      }),
      { numRuns: 300 },
    );
  });

  it('is made of version 1, the OID and 16 bytes of HMAC-SHA256', () => {
    const oid = '00112233-4455-4677-8899-aabbccddeeff';
    const bytes = Buffer.from(writeQr(oid, secret), 'base64');
    expect(bytes.subarray(0, 17).toString('hex')).toBe('0100112233445546778899aabbccddeeff');
    // Computed once by another implementation (Python's hmac).
    expect(bytes.subarray(17).toString('hex')).toBe('4b34e1e97cc452a33d68fd5da6b67dd4');
  });

  it('is invalid after any change of a single character', () => {
    const { qr } = drawQr(seededRandom(1), secret);
    for (let at = 0; at < qr.length; at += 1) {
      for (const character of `${base64}=-_ é#`) {
        if (character === qr[at]) continue;
        expect(isRejected(qr.slice(0, at) + character + qr.slice(at + 1))).toBe(true);
      }
    }
  });

  it('is invalid when it is cut, extended, reversed or in another letter case', () => {
    const { qr } = drawQr(seededRandom(2), secret);
    for (let length = 0; length < qr.length; length += 1) expect(isRejected(qr.slice(0, length))).toBe(true);
    for (const tail of ['A', '=', '==', ' ', '\n', '\0', 'AAAA', qr]) expect(isRejected(qr + tail)).toBe(true);
    for (const head of [' ', 'A', '\n', 'http://x/']) expect(isRejected(head + qr)).toBe(true);
    expect(isRejected(qr.toLowerCase())).toBe(true);
    expect(isRejected(qr.toUpperCase())).toBe(true);
    expect(isRejected(qr.split('').reverse().join(''))).toBe(true);
  });

  it('is valid only with its own secret, also among several', () => {
    const other = Buffer.alloc(32, 8);
    const { oid, qr } = drawQr(seededRandom(3), secret);
    expect(readQr(qr, [other])).toBeUndefined();
    expect(readQr(qr, [])).toBeUndefined();
    expect(readQr(qr, [other, secret])).toBe(oid);
  });

  it('is refused in another version, even with a good MAC', () => {
    let found = 0;
    for (let seed = 0; found < 3; seed += 1) {
      const head = Buffer.concat([Uint8Array.of(2), seededRandom(seed).bytes(16)]);
      const text = Buffer.concat([head, createHmac('sha256', secret).update(head).digest().subarray(0, 16)]).toString('base64');
      if (!/^[A-Za-z0-9]{44}$/.test(text)) continue;
      found += 1;
      expect(() => readQr(text, [secret])).toThrow(GatewayError);
    }
  });

  it('is never valid if it is random', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.base64String(), fc.stringMatching(/^[A-Za-z0-9]{44}$/)), (text) => isRejected(text)));
  });

  it('fails with a random source that is stuck', () => {
    let draws = 0;
    const stuck = {
      ...seededRandom(1),
      uuid: () => {
        draws += 1;
        return 'ffffffff-ffff-4fff-bfff-ffffffffffff';
      },
    };
    expect(() => drawQr(stuck, secret)).toThrow('random source');
    expect(draws).toBe(1_000);
  });
});
