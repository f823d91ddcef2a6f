// Whether a callback is really Tillgate's: Standard Webhooks, with tillgate-sequence and the URL in the place of the body that
// a GET has not.
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface CallbackToVerify {
  /** The merchant's signing secret, whsec_...; several while one is being replaced. */
  secret: string | readonly string[];
  /** The whole URL as it stands in your template, with scheme and host: behind a proxy the public one. */
  url: string;
  /** Of the request, names in lower case as Node gives them. */
  headers: Record<string, string | string[] | undefined>;
  /** Seconds since 1970; the machine's clock otherwise. */
  nowS?: number;
  /** A signature is good for five minutes, so that a recorded one cannot be played again. */
  toleranceS?: number;
}

export interface GenuineCallback {
  /** The same on every try of one callback: handle each id once. */
  id: string;
  /** Counts within an invoice or operation: ignore a number below the highest that you have seen. */
  sequence: number;
}

/** The callback, if it is genuine; undefined for anything else. */
export function verifyCallback(callback: CallbackToVerify): GenuineCallback | undefined {
  const { url, headers, toleranceS = 300, nowS = Date.now() / 1000 } = callback;
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name]);
  const sequence = headers['tillgate-sequence'];
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return undefined;
  if (typeof sequence !== 'string' || !/^\d{1,15}$/.test(sequence)) return undefined;
  if (!/^\d{1,12}$/.test(timestamp) || !(Math.abs(nowS - Number(timestamp)) <= toleranceS)) return undefined;
  const given = signatures.split(' ').map((text) => Buffer.from(text));
  const secrets = typeof callback.secret === 'string' ? [callback.secret] : callback.secret;
  const isGenuine = secrets.some((secret) => {
    const hmac = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${sequence}.${url}`).digest('base64');
    const expected = Buffer.from(`v1,${hmac}`);
    return given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  });
  return isGenuine ? { id, sequence: Number(sequence) } : undefined;
}

/** An empty key would let everybody sign. */
function keyOf(secret: string): Buffer {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  if (key.length < 16) throw new Error('The signing secret is whsec_ and at least 16 bytes in Base64.');
  return key;
}
