// Things of long ago for the tests of removal, and a removal that begins at once.
import type { Database } from '../../src/database/database.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import type { DecidedRemovals } from '../../src/removal/decided.ts';
import { createRemoval, type Keeping } from '../../src/removal/removal.ts';
import { seedCommand, seedInvoice } from '../support/fixtures.ts';
import { recordingLogger } from '../support/quiet-logger.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';

export const dayMs = 24 * 3_600_000;
export const everything: Keeping = { commandsDays: 400, invoicesDays: 400, auditDays: 400 };
export const nothing: Keeping = { commandsDays: undefined, invoicesDays: undefined, auditDays: undefined };

type Overrides<Seed extends (...args: never[]) => unknown> = NonNullable<Parameters<Seed>[3 & keyof Parameters<Seed>]>;

/** A payment of so many days ago, done and closed unless told otherwise, with a timeline of one step. */
export async function seedOldCommand(
  { queries }: Pick<Database, 'queries'>,
  shop: { merchantId: string; deviceId: string; nowMs: number; daysOld?: number },
  overrides: Overrides<typeof seedCommand> = {},
): Promise<string> {
  const at = shop.nowMs - (shop.daysOld ?? 401) * dayMs;
  const name = overrides.name ?? 'Pay';
  const { id } = await seedCommand(queries, shop.merchantId, overrides.device_id ?? shop.deviceId, {
    state: 'done',
    issued_at: at - 1_000,
    answer_by: at + 1_000,
    settled_at: at,
    settled_by: 'answer',
    report: '{"rrn":"1"}',
    reason: 'because',
    document_state: name === 'Pay' && (overrides.state ?? 'done') === 'done' ? 'closed' : null,
    ...overrides,
  });
  await queries.insertInto('command_events').values({ command_id: id, at, step: 'sent', channel: 'mqtt', detail: null }).execute();
  return id;
}

/** An invoice that was cancelled so many days ago, unless told otherwise, with a history of one line. */
export async function seedOldInvoice(
  { queries }: Database,
  shop: { merchantId: string; nowMs: number; daysOld?: number },
  overrides: NonNullable<Parameters<typeof seedInvoice>[2]> = {},
): Promise<string> {
  const at = shop.nowMs - (shop.daysOld ?? 401) * dayMs;
  const { oid } = await seedInvoice(queries, shop.merchantId, { state: 4, created_at: at - 1_000, ended_at: at, ...overrides });
  await queries.insertInto('invoice_events').values({ oid, at, event: 'Cancelled', detail: '{}' }).execute();
  return oid;
}

/** One whole round, in virtual time. */
export async function removeNow(
  database: Database,
  clock: VirtualClock,
  keeping: Keeping = everything,
  instanceId = 'one',
  decided?: DecidedRemovals,
) {
  const logger = recordingLogger();
  const removal = createRemoval({ database, clock, logger, instanceId, keeping, decided });
  removal.start();
  await clock.advance(61_000);
  await removal.stop();
  // The next round may begin at once.
  await database.queries.updateTable('turns').set({ held_until: 0 }).execute();
  return logger;
}

/** Real time, without the waiting. */
export function hasty(clock: Clock): Clock {
  return { now: () => clock.now(), elapsed: () => clock.elapsed(), after: (_delayMs, action) => clock.after(0, action) };
}

export async function smallOnes({ queries }: Database): Promise<string[]> {
  const rows = await queries.selectFrom('commands').select('id').where('removed_at', 'is not', null).orderBy('id').execute();
  return rows.map(({ id }) => id);
}

/** Every command is either whole, with what it was sent and its timeline, or small without any of it. */
export async function halfRemoved({ queries }: Database): Promise<string[]> {
  const rows = await queries
    .selectFrom('commands as c')
    .select(['c.id', 'c.args', 'c.report', 'c.removed_at'])
    .select(({ selectFrom }) =>
      selectFrom('command_events as e')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('e.command_id', '=', 'c.id')
        .as('steps'),
    )
    .execute();
  const isWhole = (row: (typeof rows)[number]) => row.args !== '{}' && row.report !== null && row.steps === 1;
  const isSmall = (row: (typeof rows)[number]) => row.args === '{}' && row.report === null && row.steps === 0;
  return rows.filter((row) => !(row.removed_at === null ? isWhole(row) : isSmall(row))).map(({ id }) => id);
}
