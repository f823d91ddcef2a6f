// How the ERP can tell that a callback is ours [D28]: Standard Webhooks, with the URL in the place of the body that a GET has not.
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

export function signCallback(secret: string, id: string, timestampS: number, url: string): string {
  return `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestampS}.${url}`).digest('base64')}`;
}

/** The other side: what `tillgate sink` says of a callback that it got. */
export type SignatureVerdict = 'ok' | 'WRONG' | 'missing' | 'too old';

/** As the page about callbacks advises: a signature is good for five minutes, so that a recorded one cannot be played again. */
const goodForS = 300;

export function judgeSignature(
  secret: string,
  got: { id: string | undefined; timestamp: string | undefined; signatures: string | undefined; url: string },
  nowS: number,
): SignatureVerdict {
  const { id, timestamp, signatures, url } = got;
  if (id === undefined || timestamp === undefined || signatures === undefined) return 'missing';
  const expected = Buffer.from(signCallback(secret, id, Number(timestamp), url));
  // By bytes: a header may hold letters that are longer than one.
  const given = signatures.split(' ').map((one) => Buffer.from(one));
  const isOurs = given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  if (!isOurs) return 'WRONG';
  return Math.abs(nowS - Number(timestamp)) <= goodForS ? 'ok' : 'too old';
}
