// The run: waits for the device, runs the checks in order, and returns the observations. A broken clause does not end the run; if the
// device never connects or does not come back, the remaining checks are untested.
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
  /** Observations in order. */
  seen: string[];
  /** Of `broken` and `untested`: the reason. */
  why?: string;
}

export interface RunReport {
  kind: string;
  deviceId: string;
  firmware: string | undefined;
  channels: string[];
  findings: Finding[];
  /** Reported charges, refunds, and commands that may have charged the card. */
  charged: { payments: number; refunds: number; unclear: number; amount: number };
}

export interface RunDeps extends ExamDeps {
  bench: Bench;
  /** Time for the device to connect. */
  connectWithinMs: number;
  onFinding(finding: Finding): void;
  onBegin(check: Check): void;
}

/** Additional time for the second channel. */
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
      // A bug of the run itself must not hide the observations, especially the charges.
      return { verdict: 'untested' as const, why: `The run itself failed: ${(error as Error).stack ?? String(error)}` };
    },
  );
  const finding = findingOf(exam, check, ended);
  // Not part of the check's verdict: the next check needs an idle device.
  await finish(exam).catch((error: unknown) => {
    if (!(error instanceof Broken)) throw error;
  });
  return finding;
}

/** No readable message arrived: the dropped ones show why. */
function absent(exam: Exam, check: Check): Finding {
  const [drop] = exam.bench.drops;
  if (check.id !== 'presence-at-connect') return findingOf(exam, check, { verdict: 'untested', why: 'The device never sent a presence.' });
  const why =
    drop === undefined
      ? 'No presence arrived.'
      : `No presence could be read; the first was dropped: ${drop.reason}, ${drop.field ?? ''} ${drop.why ?? ''}`.trimEnd();
  return findingOf(exam, check, { verdict: 'broken', why });
}

function findingOf(exam: Exam, { id, clause, does, mustSee }: Check, ended: { verdict: Verdict; why?: string }): Finding {
  return { id, place: clause.place, anchor: clause.anchor, clause: clause.says, does, mustSee, seen: exam.seen, ...ended };
}
