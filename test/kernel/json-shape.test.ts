// The look at a JSON text before it is parsed: bodies of callers and messages of devices are held to it alike.
import { describe, expect, it } from 'vitest';
import { measureShape, numbersIn, repeatedName } from '../../src/kernel/json-shape.ts';

const measure = (text: string, caps: Parameters<typeof measureShape>[1]) => measureShape(Buffer.from(text), caps);
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
    expect(measure(text, caps).broken).toBe(broken);
  });

  it('checks only the depth if only that is requested', () => {
    expect(measure(`[${'1,'.repeat(1000)}${'9'.repeat(1000)}]`, { deepest: 1 }).broken).toBe(undefined);
  });

  it('counts values and the objects and lists around them, and nothing inside texts', () => {
    const valuesOf = (text: string) => measure(text, {}).values;
    expect(valuesOf('1')).toBe(1);
    expect(valuesOf('[1,2,3]')).toBe(4);
    expect(valuesOf('{"a":{"b":[]},"c,[{":"\\\",,[[ăîș"}')).toBe(5);
    expect(valuesOf('"a text without an end, and [')).toBe(1);
  });
});

describe('the numbers in a JSON text', () => {
  const numbers = (text: string, isOutermost = false) =>
    [...numbersIn(text)].filter((place) => !isOutermost || place.isOutermost).map(({ start, end }) => text.slice(start, end));

  it('are those outside texts', () => {
    expect(numbers('{"a1":"2 \\" 3","b":[4.5,-6e7],"c": 8}')).toEqual(['4.5', '-6e7', '8']);
    expect(numbers('["1')).toEqual([]);
  });

  it('are outermost as fields of the outermost object only', () => {
    expect(numbers('{"a":1,"b":{"c":2},"d":[3],"e" :\n 4 , "f": -5.0e1}', true)).toEqual(['1', '4', '-5.0e1']);
    expect(numbers('[1,{"a":2}]', true)).toEqual([]);
    expect(numbers('{1:"a", "b":x 2}', true)).toEqual([]);
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
