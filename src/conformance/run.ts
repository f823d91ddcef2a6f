// The run: waits for the device, goes through the checks one after the other, and tells what it saw. One broken clause does not end it;
// a device that never came, or went away for good, leaves the rest untested.
import type { Bench } from './bench.ts';
import { type Check } from './check.ts';
import { allAlongChecks } from './checks/all-along.ts';
import { closingChecks, openingChecks } from './checks/books.ts';
import { moneyBackChecks } from './checks/money-back.ts';
import { neverRunChecks } from './checks/never-run.ts';
import { onceChecks } from './checks/once.ts';
import { rebootChecks } from './checks/reboot.ts';
import { runningChecks } from './checks/running.ts';
import { wireChecks } from './checks/wire.ts';
import { Exam, type ExamDeps } from './exam.ts';
import { Broken, Untested } from './verdict.ts';
import { asksForCard, doneOf, finish, hasNoKnownEnd } from './work.ts';

/** In this order: each leaves the device idle. */
export const checks: readonly Check[] = [
  ...wireChecks,
  ...openingChecks,
  ...neverRunChecks,
  ...onceChecks,
  ...moneyBackChecks,
  ...runningChecks,
  ...rebootChecks,
  ...closingChecks,
  ...allAlongChecks,
];

export type Verdict = 'holds' | 'broken' | 'untested';

export interface Finding {
  id: string;
  verdict: Verdict;
  place: string;
  anchor: string;
  clause: string;
  does: string;
  mustSee: string;
  /** What was seen, in order. */
  seen: string[];
  /** Of `broken` and `untested`: what was wrong, or why it could not be looked at. */
  why?: string;
}

export interface RunReport {
  kind: string;
  deviceId: string;
  firmware: string | undefined;
  channels: string[];
  findings: Finding[];
  /** How often the device said that a card was charged, how much of it was given back, and what may have been charged besides. */
  charged: { payments: number; refunds: number; unclear: number; amount: number };
}

export interface RunDeps extends ExamDeps {
  bench: Bench;
  /** How long the device may take to come. */
  connectWithinMs: number;
  onFinding(finding: Finding): void;
  onBegin(check: Check): void;
}

/** A second channel may take somewhat longer than the first. */
const secondChannelMs = 5_000;

export async function runConformance(deps: RunDeps): Promise<RunReport> {
  const { bench, kind } = deps;
  const exam = new Exam(deps);
  const isThere = (await bench.until(() => bench.presences.find(({ presence }) => presence.online), deps.connectWithinMs)) !== undefined;
  if (isThere) await bench.until(() => (bench.live.length === 2 ? true : undefined), secondChannelMs);
  const channels = [...bench.live];
  const findings: Finding[] = [];
  for (const check of checks) {
    if (check.kind !== undefined && check.kind !== kind) continue;
    deps.onBegin(check);
    const finding = isThere ? await judge(exam, check) : absent(exam, check);
    findings.push(finding);
    deps.onFinding(finding);
  }
  const charged = {
    payments: doneOf(exam, 'Pay', 'PrintReceipt').filter(({ order }) => asksForCard(order)).length,
    refunds: doneOf(exam, 'Refund', 'CancelTransaction').length,
    unclear: exam.orders.filter((order) => asksForCard(order) && hasNoKnownEnd(exam, order)).length,
    amount: exam.amount,
  };
  const { firmware } = bench.presences.at(-1)?.presence ?? {};
  return { kind, deviceId: bench.deviceId, firmware, channels, findings, charged };
}

async function judge(exam: Exam, check: Check): Promise<Finding> {
  exam.seen = [];
  const ended = await check.run(exam).then(
    () => ({ verdict: 'holds' as const }),
    (error: unknown) => {
      if (error instanceof Untested) return { verdict: 'untested' as const, why: error.message };
      if (error instanceof Broken) return { verdict: 'broken' as const, why: error.message };
      // Our own mistake must not swallow what was seen, least of all what was charged.
      return { verdict: 'untested' as const, why: `The run itself failed: ${(error as Error).stack ?? String(error)}` };
    },
  );
  const finding = findingOf(exam, check, ended);
  // What it left behind is no matter of the check any more, but the next one needs an idle device.
  await finish(exam).catch((error: unknown) => {
    if (!(error instanceof Broken)) throw error;
  });
  return finding;
}

/** No readable message arrived: the dropped ones show why. */
function absent(exam: Exam, check: Check): Finding {
  const [drop] = exam.bench.drops;
  if (check.id !== 'presence-at-connect')
    return findingOf(exam, check, { verdict: 'untested', why: 'The device never said that it is there.' });
  const why =
    drop === undefined
      ? 'No presence came.'
      : `No presence could be read; the first was dropped: ${drop.reason}, ${drop.field ?? ''} ${drop.why ?? ''}`.trimEnd();
  return findingOf(exam, check, { verdict: 'broken', why });
}

function findingOf(exam: Exam, { id, clause, does, mustSee }: Check, ended: { verdict: Verdict; why?: string }): Finding {
  return { id, place: clause.place, anchor: clause.anchor, clause: clause.says, does, mustSee, seen: exam.seen, ...ended };
}
