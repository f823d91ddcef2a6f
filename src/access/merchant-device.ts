// A device as its merchant's callers may see it. It is always looked up within the key's merchant:
// an unknown device, another merchant's and a disabled one look the same from outside [D11].
import type { Queries } from '../database/database.ts';
import { GatewayError } from '../kernel/error-codes.ts';

export type DeviceKind = 'terminal' | 'register';

export interface MerchantDevice {
  id: string;
  merchantId: string;
  kind: DeviceKind;
  name: string;
  bank: string | undefined;
  pointOfSalesCode: string | undefined;
  /** The journal the device last spoke of, as stored; undefined: none, or not yet known, which counts as none. */
  journalId: string | undefined;
  lastSeenAtMs: number | undefined;
  /** JSON text of the last presence or status report, already masked. */
  lastReport: string | undefined;
  isDisabled: boolean;
}

/** The merchant's device, disabled or not; undefined when there is none by that id, or it is another merchant's. */
export async function findMerchantDevice(queries: Queries, merchantId: string, deviceId: string): Promise<MerchantDevice | undefined> {
  const row = await queries
    .selectFrom('devices')
    .select([
      'id',
      'merchant_id',
      'kind',
      'name',
      'bank',
      'point_of_sales_code',
      'journal_id',
      'last_seen_at',
      'last_report',
      'disabled_at',
    ])
    .where('id', '=', deviceId.toLowerCase())
    .where('merchant_id', '=', merchantId)
    .executeTakeFirst();
  if (!row) return undefined;
  return {
    id: row.id,
    merchantId: row.merchant_id,
    kind: row.kind,
    name: row.name,
    bank: row.bank ?? undefined,
    pointOfSalesCode: row.point_of_sales_code ?? undefined,
    journalId: row.journal_id ?? undefined,
    lastSeenAtMs: row.last_seen_at ?? undefined,
    lastReport: row.last_report ?? undefined,
    isDisabled: row.disabled_at !== null,
  };
}

/** The answer for a device that the caller cannot reach, whatever the reason: one sentence for all of them [D11]. */
export function deviceOffline(report?: string): GatewayError {
  return new GatewayError(
    'Device_Offline',
    'The device is offline, or no such device is registered with this merchant.',
    report === undefined ? {} : { report },
  );
}

/** The merchant's device, ready for commands; everything else answers 30 with one and the same message. */
export async function requireMerchantDevice(queries: Queries, merchantId: string, deviceId: string): Promise<MerchantDevice> {
  const device = await findMerchantDevice(queries, merchantId, deviceId);
  if (!device || device.isDisabled) throw deviceOffline();
  return device;
}
