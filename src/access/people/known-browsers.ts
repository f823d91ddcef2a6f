// Recognises by a signed cookie a browser in which a user has signed in before: failed logins of others do not lock that user out [D167].
// The cookie contains the user and the day; it grants no access. The signing key is stored in the database, so that the cookie is valid on
// every gateway and after a restart.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { keepFact } from '../../database/facts.ts';
import type { Shared } from '../../database/shared-deps.ts';

export const knownBrowserMs = 180 * 24 * 3_600_000;

export function createKnownBrowsers({ database, clock, random }: Pick<Shared, 'database' | 'clock' | 'random'>) {
  let key: string | undefined;

  async function macOf(text: string): Promise<Buffer> {
    key ??= await keepFact(database.queries, 'browser key', Buffer.from(random.bytes(32)).toString('hex'));
    return createHmac('sha256', key).update(text).digest();
  }

  return {
    /** The value of the cookie. */
    async sign(userId: string): Promise<string> {
      const text = `${userId}.${Math.floor(clock.now() / 1000)}`;
      return `${text}.${(await macOf(text)).toString('base64url')}`;
    },
    /** The user who signed in there; undefined: the cookie is forged or too old. */
    async read(cookie: string | undefined): Promise<string | undefined> {
      const [, text = '', userId, seconds, mac = ''] = /^(([\w-]{36})\.(\d{1,12}))\.([\w-]{43})$/.exec(cookie ?? '') ?? [];
      if (userId === undefined) return undefined;
      const isOurs = timingSafeEqual(await macOf(text), Buffer.from(mac, 'base64url'));
      return isOurs && clock.now() - Number(seconds) * 1000 < knownBrowserMs ? userId : undefined;
    },
  };
}
