// The sandbox's merchant and key. A restarted sandbox reuses the key in sandbox.json. The database stores only hashes, so a lost, revoked or
// expired key is replaced by a new one.

import type { Access } from '../access/access.ts';
import { modules } from '../access/keys.ts';
import type { Database } from '../database/database.ts';

export interface DemoIdentity {
  merchantId: string;
  apiKey: string;
}

const actor = 'sandbox';
const demoName = 'Demo merchant';

/** `remembered`: sandbox.json of an earlier start, if any. Safe to call at every start. */
export async function ensureDemo(deps: { database: Database; access: Access }, remembered?: Partial<DemoIdentity>): Promise<DemoIdentity> {
  const { access, database } = deps;
  const caller = remembered?.apiKey === undefined ? undefined : await access.findCaller(remembered.apiKey);
  if (caller && remembered?.apiKey !== undefined && modules.every((module) => caller.modules.has(module))) {
    return { merchantId: caller.merchantId, apiKey: remembered.apiKey };
  }
  const existing = await database.queries
    .selectFrom('merchants')
    .select('id')
    .where('name', '=', demoName)
    .orderBy('created_at')
    .orderBy('id')
    .executeTakeFirst();
  const merchantId = existing?.id ?? (await access.createMerchant(actor, demoName)).id;
  const { key } = await access.createKey(actor, { merchantId, name: 'Sandbox', modules });
  return { merchantId, apiKey: key };
}
