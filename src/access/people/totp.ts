// One-time codes of RFC 6238: six digits, a new one every 30 s, as in all authenticator apps. A code is accepted one step early or late, for
// inexact clocks. The caller stores the step that was used and accepts only later ones.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Random } from '../../kernel/random.ts';

const stepMs = 30_000;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** 160 bits in Base32, as apps expect. */
export function newTotpSecret(random: Random): string {
  const bits = [...random.bytes(20)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? []).map((five) => alphabet[Number.parseInt(five, 2)]).join('');
}

function bytesOf(secret: string): Buffer {
  const bits = Array.from(secret, (letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}

export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', bytesOf(secret)).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0xf;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** The step of the code, among the steps around now and after the last used one; undefined: the code is wrong or was used. */
export function findStep(secret: string, code: string, nowMs: number, lastStep: number | null): number | undefined {
  const digits = code.replaceAll(/\s/g, '');
  if (!/^\d{6}$/.test(digits)) return undefined;
  const now = Math.floor(nowMs / stepMs);
  return [now - 1, now, now + 1]
    .filter((step) => step > (lastStep ?? -1))
    .find((step) => timingSafeEqual(Buffer.from(totpCode(secret, step)), Buffer.from(digits)));
}

/** The content of the QR code for an authenticator app. */
export function totpUri(secret: string, email: string): string {
  return `otpauth://totp/${encodeURIComponent(`Tillgate:${email}`)}?secret=${secret}&issuer=Tillgate`;
}
