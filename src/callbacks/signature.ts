// The signature by which an ERP verifies a callback [D28]: Standard Webhooks, with the callback's sequence number and URL in place of a
// body, which a GET does not have [D162].
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { BoundedMap } from '../kernel/bounded-map.ts';

const secretPrefix = 'whsec_';

const maxKeys = 1_000;
/** A cache of prepared keys: preparing one takes five times as long as signing. */
const keys = new BoundedMap<string, KeyObject>(maxKeys);

function keyOf(secret: string): KeyObject {
  const known = keys.get(secret);
  if (known) return known;
  const key = createSecretKey(
    secret.startsWith(secretPrefix) ? Buffer.from(secret.slice(secretPrefix.length), 'base64') : Buffer.from(secret),
  );
  keys.set(secret, key);
  return key;
}

export interface SignedParts {
  id: string;
  timestampS: number;
  /** The callback's number within its invoice or operation. */
  sequence: number;
  url: string;
}

export function signCallback(secret: string, { id, timestampS, sequence, url }: SignedParts): string {
  return `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestampS}.${sequence}.${url}`).digest('base64')}`;
}

/** The receiver's side: the result that `tillgate sink` prints for a received callback. */
export type SignatureVerdict = 'ok' | 'WRONG' | 'missing' | 'too old';

/** As docs/callbacks.md advises: a signature is valid for five minutes, so that a recorded callback cannot be replayed. */
const goodForS = 300;

type Header = string | string[] | undefined;

export interface ReceivedCallback {
  headers: Record<string, Header>;
  url: string;
}

export function judgeSignature(secret: string, { headers, url }: ReceivedCallback, nowS: number): SignatureVerdict {
  const [id, timestamp, sequence, signatures] = ['webhook-id', 'webhook-timestamp', 'tillgate-sequence', 'webhook-signature'].map(
    (name) => headers[name],
  );
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof sequence !== 'string' || typeof signatures !== 'string')
    return 'missing';
  const expected = Buffer.from(signCallback(secret, { id, timestampS: Number(timestamp), sequence: Number(sequence), url }));
  // Compared as bytes: a header may contain multi-byte characters.
  const given = signatures.split(' ').map((one) => Buffer.from(one));
  const isOurs = given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  if (!isOurs) return 'WRONG';
  return Math.abs(nowS - Number(timestamp)) <= goodForS ? 'ok' : 'too old';
}
