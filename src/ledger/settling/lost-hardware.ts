// An operator declares hardware lost [D304, D279]: the decisions about commands that were sent to it wait for its confirmation no longer.
// The hardware that is connected now is not meant: it can answer for itself. If the process dies before the commit, nothing has changed.
// The decisions stay, so hardware that comes back after all is asked about them: its report of `done` raises a dispute.
import { type SqlBool, sql } from 'kysely';
import type { Database, Queries } from '../../database/database.ts';
import { nowMs } from '../../database/dialect.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { Link } from '../../link/link.ts';
import { lockDevice } from '../device-lock.ts';
import { hasWaitingDecisions } from '../store.ts';
import type { Timeline } from '../timeline.ts';

export interface LostHardware {
  deviceId: string;
  actor: string;
  reason: string;
}

interface Deps {
  database: Database;
  link: { presence: Pick<Link['presence'], 'isLiveAnywhere' | 'journalOf'> };
  timeline: Pick<Timeline, 'addWithin'>;
}

export interface Released {
  /** Decisions that waited for it. */
  released: number;
  /** False: no hardware is connected, so that which was connected last is lost, too. */
  isConnected: boolean;
}

export function declareHardwareLost(
  { database, link, timeline }: Deps,
  { deviceId, actor, reason }: LostHardware,
  alongside: (queries: Queries) => Promise<void>,
): Promise<Released> {
  const { presence } = link;
  const journalNow = presence.isLiveAnywhere(deviceId) ? (presence.journalOf(deviceId, undefined) ?? '') : undefined;
  return database.transaction(async (queries) => {
    await lockDevice(database.engine, queries, deviceId);
    const ofOthers = queries
      .selectFrom('commands')
      .select('id')
      .where('id', 'in', (from) => from.selectFrom('decisions').select('command_id').where('device_id', '=', deviceId))
      .$if(journalNow !== undefined, (query) => query.where(sql<SqlBool>`coalesce(journal_id, '') <> ${journalNow}`));
    const waiting = queries.updateTable('decisions').set({ lost_at: nowMs }).where('lost_at', 'is', null);
    const released = await waiting.where('command_id', 'in', ofOthers).returning('command_id').execute();
    if (released.length === 0) throw nothingWaits();
    if (!(await hasWaitingDecisions(queries, deviceId)))
      await queries.updateTable('device_locks').set({ decided_at: null }).where('device_id', '=', deviceId).execute();
    for (const row of released)
      await timeline.addWithin(queries, { commandId: row.command_id, step: 'hardware lost', detail: `${actor}: ${reason}` });
    await alongside(queries);
    return { released: released.length, isConnected: journalNow !== undefined };
  });
}

function nothingWaits(): GatewayError {
  return new GatewayError(
    'The_status_cannot_be_applied',
    'No decision about this device waits for other hardware than the connected one: there is nothing to declare lost.',
  );
}

/** Of each device: how many decisions "not done" wait for a journal, by journal. Few. */
export async function waitingDecisions(queries: Queries): Promise<{ deviceId: string; journalId: string | null }[]> {
  return queries
    .selectFrom('decisions')
    .innerJoin('commands', 'commands.id', 'decisions.command_id')
    .select(['decisions.device_id as deviceId', 'journal_id as journalId'])
    .where('state', '=', 'refused')
    .where('lost_at', 'is', null)
    .execute();
}
