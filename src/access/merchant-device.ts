// A device as its merchant's callers may see it. It is always looked up within the key's merchant:
// an unknown device, another merchant's and a disabled one look the same from outside [D11].
import type { Queries } from '../database/database.ts';
import { deviceOffline } from '../kernel/error-codes.ts';
import type { DeviceKind } from '../link/protocol.ts';

export interface MerchantDevice {
  id: string;
  kind: DeviceKind;
  /** The journal the device last spoke of, as stored; undefined: none, or not yet known, which counts as none. */
  journalId: string | undefined;
  lastSeenAtMs: number | undefined;
  /** JSON text of the last presence or status report, already masked. */
  lastReport: string | undefined;
}

/** The merchant's device, ready for commands; everything else answers 30 with one and the same message. */
export async function requireMerchantDevice(queries: Queries, merchantId: string, deviceId: string): Promise<MerchantDevice> {
  const row = await queries
    .selectFrom('devices')
    .select(['id', 'kind', 'journal_id', 'last_seen_at', 'last_report'])
    .where('id', '=', deviceId.toLowerCase())
    .where('merchant_id', '=', merchantId)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw deviceOffline();
  return {
    id: row.id,
    kind: row.kind,
    journalId: row.journal_id ?? undefined,
    lastSeenAtMs: row.last_seen_at ?? undefined,
    lastReport: row.last_report ?? undefined,
  };
}
