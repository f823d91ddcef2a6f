// Changes since the last query, as hints with their merchant. A hint has no content: only kind, id and version.
// Several changes of one object become one hint, the newest: reading the object again shows all of them.

import { type SqlBool, sql } from 'kysely';
import { type RowsText, rowsAs, rowsText } from '../../database/batch-rows.ts';
import { forEachEngine } from '../../database/dialect.ts';
import { keptStatement } from '../../database/kept-statement.ts';
import type { Shared } from '../../database/shared-deps.ts';
import { channelNames } from '../../link/channel.ts';
import type { Link } from '../../link/link.ts';
import { createChangeReader } from '../views/changes.ts';

export interface Hint {
  kind: 'command' | 'invoice' | 'callback' | 'device' | 'attention' | 'playground';
  id: string;
  version: number;
}

export interface MerchantHint {
  merchantId: string;
  hint: Hint;
}

export interface HintDeps extends Pick<Shared, 'database' | 'clock'> {
  link: Pick<Link, 'presence'>;
}

const maxDevices = 1_000;
const columns = { id: 'text' } as const;

const merchantsOf = forEachEngine((engine) =>
  keptStatement((queries, { ids }: { ids: RowsText<typeof columns> }) =>
    queries
      .selectFrom('devices')
      .select(['id', 'merchant_id'])
      .where(sql<SqlBool>`"id" in (select "changed"."id" from ${rowsAs(engine, 'changed', columns, ids)})`)
      .compile(),
  ),
);

export function createHintReader({ database, clock, link }: HintDeps) {
  let reader = createChangeReader();
  let liveOn = new Map<string, string>();
  let deviceVersion = 0;

  function presence(): Map<string, string> {
    const live = new Map<string, string>();
    for (const [deviceId, device] of link.presence.all()) {
      live.set(deviceId, channelNames.filter((channel) => device.isLive(channel)).join());
    }
    return live;
  }

  return {
    /** Starts here: earlier changes are not sent. */
    begin(): void {
      reader = createChangeReader();
      liveOn = presence();
    },
    /** Changes of commands, invoices and callbacks, and so of Attention. */
    async changes(): Promise<MerchantHint[]> {
      const changed = new Map<string, MerchantHint>();
      const touched = new Map<string, MerchantHint>();
      for (const { kind, id, merchantId, version, touchesAttention } of await reader.read(database.queries, clock.now())) {
        changed.set(`${kind} ${id}`, { merchantId, hint: { kind, id, version } });
        if (touchesAttention) touched.set(merchantId, { merchantId, hint: { kind: 'attention', id: merchantId, version } });
      }
      return [...changed.values(), ...touched.values()];
    },
    /** Devices that connected, disconnected or changed their channel. */
    async devices(): Promise<MerchantHint[]> {
      const now = presence();
      const changed = [...now].flatMap(([deviceId, live]) => (liveOn.get(deviceId) === live ? [] : [deviceId]));
      liveOn = now;
      if (changed.length === 0) return [];
      deviceVersion += 1;
      const ids = rowsText(
        columns,
        changed.slice(0, maxDevices).map((id) => ({ id })),
      );
      const rows = await merchantsOf[database.engine](database.queries, { ids });
      return rows.map((row) => ({ merchantId: row.merchant_id, hint: { kind: 'device', id: row.id, version: deviceVersion } }));
    },
  };
}
