// Compares a run with the recorded one. Machines differ and are busy, so only one figure is compared: the processor time of a call at the
// gateway, relative to that of a bare route in the same minute. Only three times the recorded value is a failure:
// two machines with the same code differed by a factor of two.
import { processorTime } from './comparing.ts';
import { type Row, shareOfRaw } from './report.ts';

/** A bare route's processor time as a share of ours, by group. */
export type Recorded = Record<string, number>;

const grosslyWorse = 1 / 3;
const how = 'npm run bench -- --quick --no-peers --only commands,invoices';

export function toRecord(rows: Row[]): Recorded {
  const known = rows.flatMap((row) => {
    const share = row.what === processorTime ? shareOfRaw(row) : undefined;
    return share === undefined ? [] : [[row.group, Math.round(share * 10_000) / 10_000] as const];
  });
  return Object.fromEntries(known);
}

/** A message for each figure that is far worse or is no longer measured. */
export function complaintsOf(rows: Row[], recorded: Recorded): string[] {
  const now = toRecord(rows);
  const times = (share: number) => (1 / share).toFixed(1);
  return Object.entries(recorded).flatMap(([name, before]) => {
    const share = now[name];
    if (share === undefined) return [`${name}: recorded, but not measured. If it is gone on purpose: ${how} --record`];
    if (share >= before * grosslyWorse) return [];
    return [
      `${name}: a call costs ${times(share)} times the processor time of a bare route, recorded were ${times(before)}. Measure it again on a quiet machine: ${how} --check. If it stays, look for what became dear since bench/recorded.json was written; if it is meant, record it with --record and say why in the commit.`,
    ];
  });
}
