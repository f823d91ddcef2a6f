// The look at a JSON text before it is parsed: bodies of callers and messages of devices are held to it alike.
import { describe, expect, it } from 'vitest';
import { brokenCap, repeatedName } from '../../src/kernel/json-shape.ts';

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

describe('a name that one object has twice', () => {
  it.each([
    ['{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}', undefined],
    ['{"a":"a\\":1","b":"{\\"a\\":1}"}', undefined],
    ['[1,{},"a:b"]', undefined],
    ['{"documentNr":"1","amount":2,"documentNr":"3"}', 'documentNr'],
    ['{"a":{"b":1},"c":{"d":[{"e":1,"e" : 2}]}}', 'e'],
    ['{"a":{"b":1,"c":{}},"a":2}', 'a'],
    ['{"\\u0061":1,"a":2}', 'a'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ])('in %s: %s', (text, name) => {
    expect(repeatedName(text)).toBe(name);
  });
});
