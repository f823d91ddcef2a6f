// The result of a mutation run for people: counts by file, and every survivor with its line and its change. Pure. A survivor is accepted by
// the text of its line and its change, so that an entry stays true when lines move and ends when the line changes.

export interface Accepted {
  /** src/room/file.ts */
  file: string;
  /** The line, without the blanks around it. */
  line: string;
  /** `before → after`, as the summary prints it. */
  change: string;
  /** Why no test can or should kill it. */
  reason: string;
}

interface Place {
  line: number;
  column: number;
}

interface Mutant {
  mutatorName: string;
  replacement?: string;
  status: string;
  location: { start: Place; end: Place };
  killedBy?: string[];
}

export interface MutationReport {
  files: Record<string, { source: string; mutants: Mutant[] }>;
}

interface Judged {
  files: { name: string; killed: number; timedOut: number; accepted: number; survived: number; notReached: number }[];
  survivors: string[];
  killed: string[];
  /** Entries that name a mutant which no longer survives, or no longer exists. */
  stale: Accepted[];
  total: { mutants: number; killed: number; accepted: number; survived: number };
  /** Killed ones of those that are not accepted, in percent. */
  score: number;
}

const oneLine = (text: string) => text.replaceAll(/\s+/gu, ' ').trim();
const longest = 160;

function changeOf(source: string, { location: { start, end }, replacement = '' }: Mutant): { line: string; change: string } {
  const lines = source.split('\n');
  const inside = lines.slice(start.line - 1, end.line);
  inside[inside.length - 1] = inside.at(-1)?.slice(0, end.column - 1) ?? '';
  inside[0] = inside[0]?.slice(start.column - 1) ?? '';
  const before = oneLine(inside.join('\n'));
  return {
    line: oneLine(lines[start.line - 1] ?? ''),
    change: `${before.length > longest ? `${before.slice(0, longest)}…` : before} → ${oneLine(replacement)}`,
  };
}

export function judgeReport(report: MutationReport, accepted: readonly Accepted[]): Judged {
  const judged: Judged = {
    files: [],
    survivors: [],
    killed: [],
    stale: [],
    total: { mutants: 0, killed: 0, accepted: 0, survived: 0 },
    score: 100,
  };
  const used = new Set<Accepted>();
  for (const [name, { source, mutants }] of Object.entries(report.files).toSorted(([one], [other]) => one.localeCompare(other))) {
    const counts = { name, killed: 0, timedOut: 0, accepted: 0, survived: 0, notReached: 0 };
    for (const mutant of mutants) {
      const { line, change } = changeOf(source, mutant);
      const text = `${name}:${mutant.location.start.line}  ${mutant.mutatorName}\n    ${line}\n    ${change}`;
      if (mutant.status === 'Killed') {
        counts.killed += 1;
        judged.killed.push(`${text}\n    killed by ${mutant.killedBy?.join(', ') ?? '?'}`);
      } else if (mutant.status === 'Timeout') counts.timedOut += 1;
      else if (mutant.status !== 'Ignored') {
        const entry = accepted.find((one) => one.file === name && one.line === line && one.change === change);
        if (entry) {
          used.add(entry);
          counts.accepted += 1;
        } else {
          // It ended the process of its tests each time: no test has failed.
          counts[mutant.status === 'NoCoverage' ? 'notReached' : 'survived'] += 1;
          judged.survivors.push(mutant.status === 'NoCoverage' ? `${text}\n    no test reaches it` : text);
        }
      }
    }
    judged.files.push(counts);
    judged.total.killed += counts.killed + counts.timedOut;
    judged.total.accepted += counts.accepted;
    judged.total.survived += counts.survived + counts.notReached;
  }
  const { total } = judged;
  total.mutants = total.killed + total.accepted + total.survived;
  judged.score = total.mutants === total.accepted ? 100 : (100 * total.killed) / (total.killed + total.survived);
  judged.stale = accepted.filter((one) => one.file in report.files && !used.has(one));
  return judged;
}

export function summaryOf(judged: Judged, { isWhole, goal }: { isWhole: boolean; goal: number }): string {
  const { total } = judged;
  const rows = judged.files.map(({ name, killed, timedOut, accepted, survived, notReached }) =>
    [killed, timedOut, accepted, survived, notReached]
      .map((count) => String(count).padStart(10))
      .join('')
      .concat(`  ${name}`),
  );
  const head = ['killed', 'time-out', 'accepted', 'survived', 'unreached']
    .map((word) => word.padStart(10))
    .join('')
    .concat('  file');
  const lists = [
    ...(isWhole ? ['Killed:', ...judged.killed, ''] : []),
    ...(judged.survivors.length > 0 ? ['Survivors:', ...judged.survivors, ''] : []),
    ...judged.stale.map(({ file, line, change }) => `Accepted, and no survivor any more: ${file}: ${line}: ${change}`),
  ];
  const verdict = `${judged.score.toFixed(1)} % of ${total.mutants - total.accepted} killed (goal ${goal}), ${total.accepted} accepted, ${total.survived} survive`;
  return [...lists, head, ...rows, verdict].join('\n');
}
