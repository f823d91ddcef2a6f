// Terminal status: the device's own answer, unchanged [D6]; for an offline device its last report, marked as such.
// An unknown device, another merchant's or a disabled one is answered 30 without a report [D11].

import { type MerchantDevice, requireMerchantDevice } from '../access/merchant-device.ts';
import type { Shared } from '../database/shared-deps.ts';
import { maskReport } from '../kernel/card-mask.ts';
import { deviceOffline, GatewayError, unknownDevice } from '../kernel/error-codes.ts';
import { parseExactJson } from '../kernel/exact-json.ts';
import { parseUuid } from '../kernel/ids.ts';
import type { Link } from '../link/link.ts';
import { keptReport } from './presence-keeper.ts';

/** From the specification's Limits; includes the time to locate the device. */
export const answerWithinMs = 20_000;

export interface StatusDeps extends Pick<Shared, 'database' | 'clock'> {
  link: Pick<Link, 'locate' | 'ask' | 'presence'>;
}

/** The report of the device as JSON text. */
export async function askStatus(deps: StatusDeps, merchantId: string, deviceId: string): Promise<string> {
  const { database, clock, link } = deps;
  const startedAtMs = clock.elapsed();
  // The specification types this DeviceID as a string: one that is not a UUID is an unknown device.
  const id = parseUuid(deviceId);
  if (id === undefined) throw unknownDevice();
  const device = await requireMerchantDevice(database.queries, merchantId, id);

  const channel = await link.locate(device.id, 'mqtt');
  if (channel === undefined) throw deviceOffline(lastKnownReport(device, link));

  const timeoutMs = Math.max(1, answerWithinMs - (clock.elapsed() - startedAtMs));
  const answer = await link.ask(device.id, { name: 'Status', args: {}, timeoutMs, preferredChannel: channel });
  if (!answer) throw new GatewayError('Timeout_or_no_response', 'The device is connected but did not answer within 20 seconds.');
  const report = JSON.stringify(maskReport(answer.report ?? {}));
  switch (answer.outcome) {
    case 'done':
      return report;
    case 'refused':
    case 'unsupported':
      throw new GatewayError('Refused_By_Device', 'The device refused to report its status.', { report });
    default:
      throw new GatewayError('Timeout_or_no_response', 'The device answered without its status.', { report });
  }
}

function lastKnownReport(device: MerchantDevice, link: Pick<Link, 'presence'>): string {
  const snapshot = link.presence.of(device.id);
  const kept = (snapshot && keptReport(snapshot.report)) ?? device.lastReport ?? '{}';
  const lastSeenAtMs = snapshot?.lastSeenAtMs || device.lastSeenAtMs;
  return JSON.stringify({
    ...(parseExactJson(kept) as object),
    online: false,
    ...(lastSeenAtMs !== undefined && { lastSeen: new Date(lastSeenAtMs).toISOString() }),
  });
}
