// Secrets are stored as SHA-256 in hex. Keys and device secrets are random (122 bits and more), so a plain hash cannot be
// brute-forced, and a look-up by hash needs no constant-time comparison [D8].
import { hash, timingSafeEqual } from 'node:crypto';
import type { Random } from '../kernel/random.ts';

export function hashSecret(secret: string): string {
  return hash('sha256', secret);
}

/** Compares two hashes in constant time. */
export function sameHash(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one, 'utf8'), Buffer.from(other, 'utf8'));
}

/** The key that signs a merchant's callbacks, in the form of Standard Webhooks. Stored in clear text, because signing needs it [D28]. */
export function newCallbackSecret(random: Random): string {
  return `whsec_${Buffer.from(random.bytes(32)).toString('base64')}`;
}

/** A device's secret: 256 bits as base64url, safe in a password field, a URL and a configuration file. */
export function newDeviceSecret(random: Random): string {
  return Buffer.from(random.bytes(32)).toString('base64url');
}
