// How the ERP can tell that a callback is ours [D28]: Standard Webhooks, with the URL in the place of the body that a GET has not.
import { createHmac } from 'node:crypto';

const secretPrefix = 'whsec_';

export function signCallback(secret: string, id: string, timestampS: number, url: string): string {
  const key = secret.startsWith(secretPrefix) ? Buffer.from(secret.slice(secretPrefix.length), 'base64') : Buffer.from(secret);
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.${url}`).digest('base64')}`;
}
