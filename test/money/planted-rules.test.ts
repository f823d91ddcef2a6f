// The planted bugs of the rules keep up with the code, and exploration finds one that is quick to find. That it finds 95 % of them is shown
// by `npm run planted-rules`, which takes minutes.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { handBugs } from '../../exploration/planted/hand-bugs.ts';
import { copyWith, huntIn } from '../../exploration/planted/hunting.ts';
import { mutantBugs } from '../../exploration/planted/mutant-bugs.ts';
import { ruleBugs } from '../../exploration/planted/rule-bugs.ts';
import { withVerdicts } from '../../exploration/planted/verdicts.ts';
import { placeOfEdit } from '../../simulation/planted/planted-bug.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('planted bugs of the rules', () => {
  it.each(ruleBugs)('finds where it goes: $name', ({ edits }) => {
    for (const edit of edits) expect(placeOfEdit(root, edit)).toMatch(/^src\/money\/rules\/[a-z-]+\.ts$/);
  });

  it('are thirty by hand and thirty of the mutation tool, in every file of the rules, no two alike', () => {
    expect(handBugs).toHaveLength(30);
    expect(mutantBugs).toHaveLength(30);
    expect(new Set(ruleBugs.map(({ name }) => name)).size).toBe(60);
    const files = new Set(handBugs.flatMap(({ edits }) => edits.map((edit) => placeOfEdit(root, edit))));
    expect(files.size).toBeGreaterThanOrEqual(20);
  });

  it('have a place in the page, with no row of a bug that is gone', () => {
    const listed = readFileSync(join(root, 'docs/planted-bugs.md'), 'utf8');
    expect(withVerdicts(listed, ruleBugs, [])).toBe(listed);
  });

  it('are found by exploration: charges although the device did not answer about a decision', async () => {
    const bug = handBugs.find(({ name }) => name.startsWith('charges although the device was asked'));
    const copy = copyWith(root, bug);
    try {
      const hunted = await huntIn(copy.path, { first: ['a wrong no'], skipped: [], seconds: 20 });
      expect(hunted.violation?.invariant).toBe('1 one charge per number');
    } finally {
      copy.remove();
    }
  }, 60_000);
});
