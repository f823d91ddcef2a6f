// docs/glossary.md defines each term once, and every term that docs/architecture.md sets in italics.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const read = (page: string) => readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
const definitions = read('glossary.md')
  .split('\n')
  .filter((line) => line.startsWith('**'))
  .map((line) => /^((?:\*\*[^*]+\*\*(?:, )?)+): (.+)$/.exec(line));
const terms = definitions.flatMap((match) => [...(match?.[1] ?? '').matchAll(/\*\*([^*]+)\*\*/g)].map(([, term = '']) => term));

/** Terms in italics, as they are written: `*batches*`, not `**Errors have names.**` and nothing inside code. */
function italics(page: string): string[] {
  const prose = page.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/(?<!\*)\*([^*\n]+)\*(?!\*)/g)].map(([, term = '']) => term);
}

/** A plural or participle counts as its term: batches, copies, answered, guarded. */
function isDefined(used: string): boolean {
  return [used, used.replace(/ies$/, 'y'), used.replace(/s$/, ''), used.replace(/es$/, ''), used.replace(/ed$/, '')].some((form) =>
    terms.includes(form),
  );
}

describe('docs/glossary.md', () => {
  it('defines each term once, in a sentence', () => {
    expect(definitions.length).toBeGreaterThanOrEqual(40);
    expect(definitions.filter((match) => match === null)).toEqual([]);
    expect(definitions.filter((match) => !match?.[2]?.endsWith('.')).map((match) => match?.[1])).toEqual([]);
    expect(terms.filter((term, index) => terms.indexOf(term) !== index)).toEqual([]);
  });

  it('defines the terms of docs/architecture.md', () => {
    const used = italics(read('architecture.md'));
    expect(used.length).toBeGreaterThanOrEqual(40);
    expect(used.filter((term) => !isDefined(term))).toEqual([]);
  });

  it('finds a term that is missing', () => {
    expect(italics('a *strange attractor* in `*code*` and **bold** text').filter((term) => !isDefined(term))).toEqual([
      'strange attractor',
    ]);
  });
});
