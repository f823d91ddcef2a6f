// Writes what the link knows of the devices into the database: last seen, journal, last report.
// Always holds: a device is written at most once a minute, except that a new journal is written at once; one write of a device
// at a time, so that one that changes its journal without end costs one connection and no memory; what it said meanwhile is
// looked at again by the next look, and only the newest counts. A database that is down costs nothing but a later try.

import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { isDatabaseDown } from '../database/errors.ts';
import { maskReport } from '../kernel/card-mask.ts';
import { type Cancel, type Clock, every } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Link } from '../link/link.ts';
import type { DeviceSnapshot } from '../link/sightings.ts';

const lookEveryMs = 5_000;
const writeEveryMs = 60_000;
/** A report larger than this is not kept; the device still gets its due otherwise. */
const maxReport = 16 * 1024;

interface Written {
  atMs: number;
  lastSeenAtMs: number;
  journalId: string | undefined;
}

export interface PresenceKeeper {
  start(): void;
  /** Writes what is still unwritten, so that a restart does not forget who was here. */
  stop(): Promise<void>;
}

/** What is worth keeping of a presence: not the message's own bookkeeping. Card numbers are masked [D6]. */
export function keptReport(report: DeviceSnapshot['report']): string | null {
  if (report === undefined) return null;
  const { clock: _clock, bootId: _bootId, journalId: _journalId, kind: _kind, ...kept } = report;
  const text = JSON.stringify(maskReport(kept));
  return text.length > maxReport ? null : text;
}

export function createPresenceKeeper(deps: {
  database: Database;
  clock: Clock;
  logger: Logger;
  link: Pick<Link, 'onSeen' | 'presence'>;
}): PresenceKeeper {
  const { database, clock, logger, link } = deps;
  // Bounded by the number of registered devices, as the link's own book is.
  const written = new Map<string, Written>();
  const underWay = new Set<string>();
  let stops: Cancel[] = [];

  /** False when the database is down: the next device would only wait for it as long again. */
  async function write(deviceId: string, snapshot: DeviceSnapshot): Promise<boolean> {
    if (underWay.has(deviceId)) return true;
    underWay.add(deviceId);
    const before = written.get(deviceId);
    // Noted before the write, so that the same news is not written twice at once.
    written.set(deviceId, { atMs: clock.elapsed(), lastSeenAtMs: snapshot.lastSeenAtMs, journalId: snapshot.journalId });
    const ageMs = Math.max(0, Math.round(clock.now() - snapshot.lastSeenAtMs));
    try {
      const report = keptReport(snapshot.report);
      await database.queries
        .updateTable('devices')
        .set({
          last_seen_at: sql<number>`${nowMs} - ${sql.lit(ageMs)}`,
          journal_id: snapshot.journalId ?? null,
          ...(report !== null && { last_report: report }),
        })
        .where('id', '=', deviceId)
        .execute();
      return true;
    } catch (error) {
      if (before) written.set(deviceId, { ...before, atMs: clock.elapsed() });
      else written.delete(deviceId);
      logger.warn({ err: error, deviceId }, 'the presence of a device could not be written; it is tried again');
      return !isDatabaseDown(error);
    } finally {
      underWay.delete(deviceId);
    }
  }

  function isDue(deviceId: string, snapshot: DeviceSnapshot): boolean {
    const last = written.get(deviceId);
    if (!last || last.journalId !== snapshot.journalId) return true;
    return last.lastSeenAtMs !== snapshot.lastSeenAtMs && clock.elapsed() - last.atMs >= writeEveryMs;
  }

  async function writeDue(): Promise<void> {
    for (const { deviceId, snapshot } of link.presence.all()) {
      if (isDue(deviceId, snapshot) && !(await write(deviceId, snapshot))) return;
    }
  }

  return {
    start() {
      stops = [
        link.onSeen((deviceId, snapshot) => {
          if (isDue(deviceId, snapshot)) void write(deviceId, snapshot);
        }),
        every(clock, lookEveryMs, writeDue),
      ];
    },
    async stop() {
      for (const stop of stops) stop();
      stops = [];
      for (const { deviceId, snapshot } of link.presence.all()) {
        if (written.get(deviceId)?.lastSeenAtMs !== snapshot.lastSeenAtMs && !(await write(deviceId, snapshot))) return;
      }
    },
  };
}
