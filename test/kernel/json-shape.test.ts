// The look at a JSON text before it is parsed: bodies of callers and messages of devices are held to it alike.
import { describe, expect, it } from 'vitest';
import { brokenCap } from '../../src/kernel/json-shape.ts';

const caps = { deepest: 3, maxValues: 5, maxNumberLength: 4 };

describe('the shape of a JSON text', () => {
  it.each([
    ['[[[]]]', undefined],
    ['[{"a":[[]]}]', 'deepest'],
    ['["[[[[{{{{", "\\"[[[[", "\\\\"]', undefined],
    ['[1,2,3,4]', undefined],
    ['[1,2,3,4,5]', 'maxValues'],
    ['",,,,,,,,,,"', undefined],
    ['[12.5]', undefined],
    ['[-12.5]', 'maxNumberLength'],
    ['"123456789"', undefined],
  ] as const)('%s: %s', (text, broken) => {
    expect(brokenCap(text, caps)).toBe(broken);
  });

  it('looks at nothing but the depth where only that is asked for', () => {
    expect(brokenCap(`[${'1,'.repeat(1000)}${'9'.repeat(1000)}]`, { deepest: 1 })).toBe(undefined);
  });
});
