// The current state of a device for the cabinet: its channels and since when, its own report, its last command, and its dropped messages. As
// received by this instance.
import { sql } from 'kysely';
import type { Queries } from '../../database/database.ts';
import { channelNames } from '../../link/channel.ts';
import type { DeviceSnapshot } from '../../link/sightings.ts';
import { type ListedCommand, readListed } from './lists/commands-list.ts';
import { moneySql } from './money-sql.ts';
import type { Scope } from './scope.ts';

/** `kept`: the last stored report, for a device from which this instance has no message. */
export function deviceFacts(
  snapshot: DeviceSnapshot | undefined,
  kept: Record<string, unknown>,
  dropped: Record<string, { count: number; lastAtMs: number }>,
) {
  const report = { ...kept, ...snapshot?.report };
  const number = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined);
  const text = (value: unknown) => (typeof value === 'string' ? value.slice(0, 200) : undefined);
  return {
    channels: channelNames.map((name) => ({
      name,
      isLive: snapshot?.liveOn.includes(name) ?? false,
      sinceMs: snapshot?.liveOn.includes(name) ? snapshot.liveSinceMs?.[name] : undefined,
    })),
    battery: number(report['battery']),
    paper: text(report['paper']),
    signal: number(report['signal']),
    firmware: text(report['firmware']),
    clockOffsetMs: snapshot === undefined || snapshot.liveOn.length === 0 ? undefined : Math.round(snapshot.clockOffsetMs),
    dropped: Object.entries(dropped).map(([reason, drop]) => ({ reason, ...drop })),
  };
}

/** The newest command and the last report of each device. */
export async function readLastOfDevices(queries: Queries, scope: Scope) {
  const own = scope.merchantId === undefined ? sql`` : sql` where d.merchant_id = ${scope.merchantId}`;
  const { rows } = await sql<{ id: string; last_report: string | null; last_id: string | null }>`
    select d.id, d.last_report, (select c.id from commands c where c.device_id = d.id and ${moneySql().isCommand('c')} order by c.issued_at desc limit 1) as last_id
    from devices d${own}`.execute(queries);
  const ids = rows.flatMap(({ last_id }) => (last_id === null ? [] : [last_id]));
  const commands = new Map<string, ListedCommand>();
  for (let start = 0; start < ids.length; start += 500) {
    for (const command of await readListed(queries, scope, ids.slice(start, start + 500))) commands.set(command.id, command);
  }
  return new Map(
    rows.map((row) => [
      row.id,
      {
        last: row.last_id === null ? undefined : commands.get(row.last_id),
        report: row.last_report === null ? {} : (JSON.parse(row.last_report) as Record<string, unknown>),
      },
    ]),
  );
}
