// The database as `serve` would find it: reached, recent enough, with the rights and settings that money needs; and its clock beside ours.

import { type Inspection, inspectDatabase } from '../../database/inspection.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Config } from '../../settings.ts';
import { doubt, type Finding, good, trouble, wordsOf } from './finding.ts';

/** A smaller difference may be network delay. */
const sameClockMs = 2_000;
/** Times on receipts and in lists would be wrong in a way that people notice. */
const wrongClockMs = 60_000;
/** Besides the pool: the one that listens, and the one that migrates. */
const sessionsBesidePool = 2;

export async function checkDatabase(config: Config, { clock, logger }: { clock: Clock; logger: Logger }): Promise<Finding[]> {
  const { databaseUrl: url, dataDir } = config;
  let found: Inspection;
  try {
    found = await inspectDatabase({ url, dataDir, clock, logger });
  } catch (error) {
    const words = wordsOf(error);
    if (words.startsWith('There is no database in')) return [good('database', `${words} It is made at the first start.`)];
    return [trouble('database', words, 'Mend that first: without the database nothing is served.')];
  }
  const findings = [
    ...found.durabilityProblems.map((problem) => trouble('database', problem, '`serve` refuses to start on it.')),
    ...found.rightsProblems.map((problem) =>
      trouble(
        'database',
        problem,
        'Make the user of TILLGATE_DATABASE_URL the owner of the database and its tables, on the server that writes.',
      ),
    ),
    ...migrations(found),
    ...sessions(found, config.databaseConnections),
  ];
  const standbys = found.synchronousStandbys ? `; each commit waits for ${found.synchronousStandbys}` : '';
  if (findings.length === 0) findings.push(good('database', `${found.product} is reached, up to date and safe${standbys}.`));
  return [...findings, ...databaseClock(found, clock)];
}

function migrations({ migrationProblem }: Inspection): Finding[] {
  if (migrationProblem === undefined) return [];
  return /lacks migration/.test(migrationProblem)
    ? [doubt('database', migrationProblem, 'The next start does it; take a backup before.')]
    : [trouble('database', migrationProblem, 'This program does not start on it.')];
}

function sessions({ sessions: counted }: Inspection, pool: number): Finding[] {
  if (counted === undefined || counted.most - counted.taken >= pool + sessionsBesidePool) return [];
  return [
    doubt(
      'database',
      `PostgreSQL lets in ${counted.most} sessions, ${counted.taken} are taken, and one gateway wants ${pool + sessionsBesidePool}.`,
      'Raise max_connections, or lower TILLGATE_DATABASE_CONNECTIONS, unless the gateway that runs has them.',
    ),
  ];
}

function databaseClock({ clock: other }: Inspection, clock: Clock): Finding[] {
  if (other === undefined) return [good('clock', 'The embedded database goes by the clock of this machine.')];
  // Its answer came a moment ago; what has passed since is far below what counts here.
  return [judgeClock('database', other.nowMs - clock.now(), other.uncertainMs)];
}

/** `aheadMs`: how far the other clock is ahead of this machine's. */
export function judgeClock(whose: string, aheadMs: number, uncertainMs: number): Finding {
  const apartMs = Math.max(0, Math.abs(aheadMs) - uncertainMs);
  const says = `The clock of the ${whose} is ${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's.`;
  const advice = 'Let both machines keep the time (NTP): times in lists, reports and tokens come from them.';
  if (apartMs <= sameClockMs) return good('clock', `The clock of the ${whose} agrees with this machine's.`);
  return apartMs > wrongClockMs ? trouble('clock', says, advice) : doubt('clock', says, advice);
}
