// Writes the presence of devices into the database: last seen, journal, last report [D180]; and ends the pairing code of a device that
// connected after the exchange [D181].
// Every gateway receives the presence of every device; the holder of the lease writes it, so the cost does not grow with the number of
// gateways. Invariants: one statement at a time, so that presence uses at most one database connection and payments never wait for it; a
// device is written at most once a minute, or after five seconds if its journal changed. While the database is down, there is one try per
// round. If the writer dies, its lease expires within 15 s and another gateway continues; it does not rewrite rows that are recent.

import { sql } from 'kysely';
import { type BatchRow, batchRows, type RowsText, rowsText } from '../database/batch-rows.ts';
import { forEachEngine } from '../database/dialect.ts';
import { isDatabaseDown } from '../database/errors.ts';
import { keptStatement } from '../database/kept-statement.ts';
import type { Shared } from '../database/shared-deps.ts';
import { maskReport } from '../kernel/card-mask.ts';
import { type Cancel, every } from '../kernel/clock.ts';
import { restrainLogger } from '../kernel/restrained-logger.ts';
import type { Link } from '../link/link.ts';
import type { DeviceSnapshot, SeenDevice } from '../link/sightings.ts';
import { createPresenceLease, presenceRoundMs } from './presence-lease.ts';

/** Delay after a device connects, so that devices that connect together share a batch. */
const soonMs = 250;
const writeEveryMs = 60_000;
/** A row that is younger than this is not rewritten when another gateway takes over. */
const freshForMs = 30_000;
const maxRows = 500;
const maxCharacters = 1024 * 1024;
/** A larger report is not stored; the rest of the presence is. */
const maxReport = 16 * 1024;

const columns = { id: 'text', age_ms: 'int8', journal_id: 'text', report: 'text' } as const;
type Row = BatchRow<typeof columns> & { id: string };

interface Written {
  atMs: number;
  lastSeenAtMs: number;
  journalId: string | undefined;
}

/** The part of a presence report to store, without the protocol's own fields and with card numbers masked [D6]. */
export function keptReport(report: DeviceSnapshot['report']): string | null {
  if (report === undefined) return null;
  const { clock: _clock, bootId: _bootId, journalId: _journalId, kind: _kind, ...kept } = report;
  const text = JSON.stringify(maskReport(kept));
  return text.length > maxReport ? null : text;
}

/** The device connected after the exchange of its code, so it has the secret, and the code ends [D181]. */
const isPaired = sql.raw('"devices"."pairing_used_at" < now_ms() - "new"."age_ms"');

const updates = forEachEngine((engine) =>
  keptStatement((queries, { rows, freshMs }: { rows: RowsText<typeof columns>; freshMs: number }) =>
    sql`update "devices"
      set "last_seen_at" = now_ms() - "new"."age_ms", "journal_id" = "new"."journal_id", "last_report" = coalesce("new"."report", "devices"."last_report"),
        "pairing_hash" = case when ${isPaired} then null else "pairing_hash" end,
        "pairing_expires_at" = case when ${isPaired} then null else "pairing_expires_at" end,
        "pairing_used_at" = case when ${isPaired} then null else "pairing_used_at" end
      from ${batchRows(engine, 'new', columns, rows, 'short')}
      where "devices"."id" = "new"."id" and ("devices"."last_seen_at" is null
        or ${isPaired} or "devices"."last_seen_at" < now_ms() - "new"."age_ms" - cast(${freshMs} as bigint)
        or ("devices"."last_seen_at" <= now_ms() - "new"."age_ms" and "devices"."journal_id" is distinct from "new"."journal_id"))`.compile(
      queries,
    ),
  ),
);

function rowOf(id: string, { lastSeenAtMs, journalId, report }: DeviceSnapshot, atMs: number): Row {
  return { id, age_ms: Math.max(0, Math.round(atMs - lastSeenAtMs)), journal_id: journalId ?? null, report: keptReport(report) };
}

function halves(rows: readonly Row[]): Row[][] {
  const middle = Math.ceil(rows.length / 2);
  return [rows.slice(0, middle), rows.slice(middle)];
}

interface Deps extends Pick<Shared, 'database' | 'clock' | 'logger' | 'instanceId'> {
  link: Pick<Link, 'onSeen' | 'presence' | 'connected'>;
}

export function createPresenceKeeper(deps: Deps) {
  const { database, clock, logger, link } = deps;
  const lease = createPresenceLease(deps);
  const restrained = restrainLogger(logger, clock);
  // Bounded by the number of registered devices, like the link's presence book.
  const written = new Map<string, Written>();
  let stops: Cancel[] = [];
  let cancelSoon: Cancel | undefined;
  let running: Promise<void> | undefined;
  function isDue(deviceId: string, { lastSeenAtMs, journalId }: Pick<SeenDevice, 'lastSeenAtMs' | 'journalId'>): boolean {
    const last = written.get(deviceId);
    if (!last) return true;
    const passedMs = clock.elapsed() - last.atMs;
    return passedMs >= (last.journalId === journalId ? writeEveryMs : presenceRoundMs) && last.lastSeenAtMs !== lastSeenAtMs;
  }

  function select(isWanted: (deviceId: string, seen: SeenDevice) => boolean): string[] {
    const ids = [...link.presence.all()].flatMap(([deviceId, seen]) => (isWanted(deviceId, seen) ? deviceId : []));
    // In a fixed order: a writer whose lease expired while it was paused may be writing the same rows.
    return ids.sort();
  }

  /** Marks them as written: a row that the database rejects is written again after a minute. */
  function takeBatch(ids: string[]): Row[] {
    const rows: Row[] = [];
    for (let characters = 0; rows.length < maxRows && characters < maxCharacters; ) {
      const deviceId = ids.shift();
      if (deviceId === undefined) break;
      const snapshot = link.presence.of(deviceId);
      if (snapshot === undefined) continue;
      const { lastSeenAtMs, journalId } = snapshot;
      written.set(deviceId, { atMs: clock.elapsed(), lastSeenAtMs, journalId });
      const row = rowOf(deviceId, snapshot, clock.now());
      rows.push(row);
      characters += row.report?.length ?? 0;
    }
    return rows;
  }

  /** All rows in one commit; if the database rejects it, each half alone, so that one bad row does not block the others. */
  async function write(rows: readonly Row[], freshMs: number): Promise<void> {
    try {
      await updates[database.engine](database.queries, { rows: rowsText(columns, rows), freshMs });
    } catch (error) {
      if (isDatabaseDown(error)) {
        for (const { id } of rows) written.delete(id);
        throw error;
      }
      const [{ id: deviceId } = {}] = rows;
      if (rows.length === 1)
        return restrained.warn({ err: error, deviceId }, 'the presence of a device could not be written; the write will be retried');
      for (const half of halves(rows)) await write(half, freshMs);
    }
  }

  async function writeAll(ids: string[], freshMs: number): Promise<void> {
    for (let rows = takeBatch(ids); rows.length > 0; rows = takeBatch(ids)) await write(rows, freshMs);
  }

  async function loggingFailure(work: Promise<void>): Promise<void> {
    await work.catch((error: unknown) => logger.warn({ err: error }, 'the presence of the devices could not be written'));
  }

  function round(): Promise<void> {
    running ??= loggingFailure(runRound()).finally(() => {
      running = undefined;
    });
    return running;
  }

  async function runRound(): Promise<void> {
    if (await lease.hold()) await writeAll(select(isDue), freshForMs);
  }

  function roundSoon(): void {
    cancelSoon ??= clock.after(soonMs, () => {
      cancelSoon = undefined;
      void round();
    });
  }

  return {
    start(): void {
      const stopListening = link.onSeen((deviceId, snapshot) => {
        if (lease.isHeld() && isDue(deviceId, snapshot)) roundSoon();
      });
      stops = [stopListening, every(clock, presenceRoundMs, round), () => cancelSoon?.()];
      void round();
    },
    /** Writes the unwritten presences, so that a restart does not lose them, and ends the lease. */
    async stop(): Promise<void> {
      for (const stop of stops) stop();
      stops = [];
      await running;
      if (!lease.isHeld()) return;
      const unwritten = select((deviceId, { lastSeenAtMs }) => written.get(deviceId)?.lastSeenAtMs !== lastSeenAtMs);
      await loggingFailure(writeAll(unwritten, 0).then(lease.end));
    },
  };
}
