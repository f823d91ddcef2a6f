// Checks the database as `serve` does: connection, version, rights and durability settings; and its clock against ours.

import { type Inspection, inspectDatabase } from '../../database/inspection.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { World } from '../../kernel/world.ts';
import type { Config } from '../../settings.ts';
import { doubt, type Finding, good, trouble, wordsOf } from './finding.ts';

/** A smaller difference may be network delay. */
const sameClockMs = 2_000;
/** From here on people notice wrong times on receipts and in lists. */
const wrongClockMs = 60_000;
/** Besides the pool: one that listens for notifications, and one that migrates. */
const sessionsBesidePool = 2;

export async function checkDatabase(config: Config, { clock, logger }: Pick<World, 'clock' | 'logger'>): Promise<Finding[]> {
  const { databaseUrl: url, dataDir } = config;
  let found: Inspection;
  try {
    found = await inspectDatabase({ url, dataDir, clock, logger });
  } catch (error) {
    const words = wordsOf(error);
    if (words.startsWith('There is no database in')) return [good('database', `${words} Otherwise the first start creates it.`)];
    return [trouble('database', words, 'Fix this first: without the database the gateway serves nothing.')];
  }
  const findings = [
    ...found.durabilityProblems.map((problem) => trouble('database', problem, '`serve` refuses to start on it.')),
    ...found.rightsProblems.map((problem) =>
      trouble(
        'database',
        problem,
        'Make the user of TILLGATE_DATABASE_URL the owner of the database and its tables, on the primary server.',
      ),
    ),
    ...migrations(found),
    ...sessions(found, config.databaseConnections),
  ];
  const standbys = found.synchronousStandbys ? `; each commit waits for ${found.synchronousStandbys}` : '';
  if (findings.length === 0) findings.push(good('database', `${found.product} is reachable, up to date and durable${standbys}.`));
  return [...findings, ...databaseClock(found, clock)];
}

function migrations({ migrationProblem }: Inspection): Finding[] {
  if (migrationProblem === undefined) return [];
  return /lacks migration/.test(migrationProblem)
    ? [doubt('database', migrationProblem, 'The next start migrates it; take a backup before.')]
    : [trouble('database', migrationProblem, 'This program does not start on it.')];
}

function sessions({ sessions: counted }: Inspection, pool: number): Finding[] {
  if (counted === undefined || counted.most - counted.taken >= pool + sessionsBesidePool) return [];
  return [
    doubt(
      'database',
      `PostgreSQL allows ${counted.most} sessions, ${counted.taken} are in use, and one gateway needs ${pool + sessionsBesidePool}.`,
      'Raise max_connections, or lower TILLGATE_DATABASE_CONNECTIONS, unless this gateway is already running and uses them.',
    ),
  ];
}

function databaseClock({ clock: other }: Inspection, clock: Clock): Finding[] {
  if (other === undefined) return [good('clock', 'The embedded database uses the clock of this machine.')];
  // The time since its answer is negligible here.
  return [judgeClock('database', other.nowMs - clock.now(), other.uncertainMs)];
}

/** `aheadMs`: how far the other clock is ahead of this machine's. */
export function judgeClock(whose: string, aheadMs: number, uncertainMs: number): Finding {
  const apartMs = Math.max(0, Math.abs(aheadMs) - uncertainMs);
  const says = `The clock of the ${whose} is ${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's.`;
  const advice = 'Synchronise both clocks (NTP): times in lists, reports and tokens come from them.';
  if (apartMs <= sameClockMs) return good('clock', `The clock of the ${whose} agrees with this machine's.`);
  return apartMs > wrongClockMs ? trouble('clock', says, advice) : doubt('clock', says, advice);
}
