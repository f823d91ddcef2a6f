// What `npm run mutation` says about a run: which survivors count, which are accepted, and which entries of the list are no longer true.
import { describe, expect, it } from 'vitest';
import { judgeReport, type MutationReport, summaryOf } from '../scripts/mutation/summary.ts';

const source = 'export function isFree(count: number): boolean {\n  return count < 1;\n}\n';
const at = (line: number, from: number, to: number) => ({ start: { line, column: from }, end: { line, column: to } });
const mutant = (status: string, replacement: string) => ({
  mutatorName: 'EqualityOperator',
  replacement,
  status,
  location: at(2, 10, 19),
});

const reportOf = (...mutants: MutationReport['files'][string]['mutants']): MutationReport => ({
  files: { 'src/room/file.ts': { source, mutants } },
});

const entry = {
  file: 'src/room/file.ts',
  line: 'return count < 1;',
  change: 'count < 1 → count <= 0',
  reason: 'A count is a whole number.',
};

describe('the summary of a mutation run', () => {
  it('names a survivor by its line and its change, and counts a mutant that no test reaches as one', () => {
    const judged = judgeReport(reportOf(mutant('Killed', 'true'), mutant('Survived', 'count <= 1'), mutant('NoCoverage', 'false')), []);
    expect(judged.total).toEqual({ mutants: 3, killed: 1, accepted: 0, survived: 2 });
    expect(judged.score).toBeCloseTo(33.3, 1);
    expect(summaryOf(judged, { isWhole: false, goal: 95 })).toContain(
      'src/room/file.ts:2  EqualityOperator\n    return count < 1;\n    count < 1 → count <= 1',
    );
  });

  it('leaves out what is accepted by line and change, and nothing else', () => {
    const judged = judgeReport(reportOf(mutant('Timeout', 'true'), mutant('Survived', 'count <= 0'), mutant('Survived', 'count <= 1')), [
      entry,
    ]);
    expect(judged.total).toEqual({ mutants: 3, killed: 1, accepted: 1, survived: 1 });
    expect(judged.score).toBe(50);
    expect(judged.stale).toEqual([]);
  });

  it('tells of an entry whose mutant is killed by now or whose line has changed', () => {
    const judged = judgeReport(reportOf(mutant('Killed', 'count <= 0')), [entry, { ...entry, file: 'src/room/not-asked.ts' }]);
    expect(judged.stale).toEqual([entry]);
    expect(judged.score).toBe(100);
  });
});
