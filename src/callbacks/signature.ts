// How the ERP can tell that a callback is ours [D28]: Standard Webhooks, with the number of the callback and its URL in
// the place of the body that a GET has not [D162].
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';

const secretPrefix = 'whsec_';

/** Secrets that were used lately, prepared: to prepare one takes five times as long as to sign. */
const keys = new Map<string, KeyObject>();
const maxKeys = 1_000;

function keyOf(secret: string): KeyObject {
  const known = keys.get(secret);
  if (known) return known;
  const key = createSecretKey(
    secret.startsWith(secretPrefix) ? Buffer.from(secret.slice(secretPrefix.length), 'base64') : Buffer.from(secret),
  );
  const oldest = keys.keys().next();
  if (keys.size >= maxKeys && !oldest.done) keys.delete(oldest.value);
  keys.set(secret, key);
  return key;
}

export interface SignedParts {
  id: string;
  timestampS: number;
  /** Of the callback within its invoice or operation. */
  sequence: number;
  url: string;
}

export function signCallback(secret: string, { id, timestampS, sequence, url }: SignedParts): string {
  return `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestampS}.${sequence}.${url}`).digest('base64')}`;
}

/** The other side: what `tillgate sink` says of a callback that it got. */
export type SignatureVerdict = 'ok' | 'WRONG' | 'missing' | 'too old';

/** As the page about callbacks advises: a signature is good for five minutes, so that a recorded one cannot be played again. */
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
  // By bytes: a header may hold letters that are longer than one.
  const given = signatures.split(' ').map((one) => Buffer.from(one));
  const isOurs = given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  if (!isOurs) return 'WRONG';
  return Math.abs(nowS - Number(timestamp)) <= goodForS ? 'ok' : 'too old';
}
