// The log of a day, line by line: hashed, to prove that the same seed is the same day, and kept, so that the one
// sale that broke a guarantee can be printed from its beginning to its end.
import { createHash } from 'node:crypto';
import type { Clock } from '../src/kernel/clock.ts';

export interface Chronicle {
  trace(line: string): void;
  /** A guarantee was broken; the sentence names the sale and the violation, with its ids. */
  violated(sentence: string): void;
  readonly violations: readonly string[];
  digest(): string;
  /** The lines about the ids of the sentence, and the faults around them. */
  historyOf(sentence: string): string[];
}

const maxViolations = 50;
const maxLines = 400_000;
const aroundMs = 60_000;
const ids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** Lines that link ids. */
const links = /^(command|sale|erp) /;
const common = /^(mishap|gateway) /;

/** The time of day, as the chronicle prints it. */
export const momentOf = (atMs: number) => new Date(atMs).toISOString().slice(11, 23);

export function createChronicle(clock: Clock): Chronicle {
  const hash = createHash('sha256');
  const lines: { atMs: number; line: string }[] = [];
  const violations: string[] = [];

  function trace(line: string): void {
    hash.update(`${clock.elapsed()} ${line}\n`);
    if (lines.length < maxLines) lines.push({ atMs: clock.now(), line });
  }

  /** The ids of the sentence, and the ids that a line links to them. */
  function family(sentence: string): Set<string> {
    const found = new Set(sentence.match(ids) ?? []);
    for (let size = -1; size !== found.size; ) {
      size = found.size;
      for (const { line } of lines) {
        const named = links.test(line) ? (line.match(ids) ?? []) : [];
        if (named.some((id) => found.has(id))) for (const id of named) found.add(id);
      }
    }
    return found;
  }

  return {
    trace,
    violations,
    violated(sentence) {
      trace(`violated: ${sentence}`);
      if (violations.length < maxViolations) violations.push(`${momentOf(clock.now())} ${sentence}`);
    },
    digest: () => hash.copy().digest('hex'),
    historyOf(sentence) {
      const named = family(sentence);
      const own = lines.filter(({ line }) => (line.match(ids) ?? []).some((id) => named.has(id)));
      const fromMs = (own[0]?.atMs ?? 0) - aroundMs;
      const toMs = (own.at(-1)?.atMs ?? 0) + aroundMs;
      return lines
        .filter((each) => own.includes(each) || (common.test(each.line) && each.atMs >= fromMs && each.atMs <= toMs))
        .map(({ atMs, line }) => `${momentOf(atMs)} ${line}`);
    },
  };
}
