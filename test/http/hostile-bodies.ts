// Bodies designed to cost more than their length [D62], each close to the maximum size.

const bodyLength = 400_000;
export const fill = (part: string, length = bodyLength) => part.repeat(Math.floor(length / part.length));
export const listOf = (item: string, count = 49_000) => `[${Array(count).fill(item).join(',')}]`;

export const hostileBodies: Record<string, string> = {
  'one endless number': `{"a":1${fill('0')}1}`,
  'an endless fraction': `{"a":0.${fill('0')}1}`,
  'an endless exponent': `{"a":1e${fill('0')}1}`,
  'endless leading zeros of a negative one': `{"a":-${fill('0')}}`,
  'zeros between digits': `{"a":${fill('10000000')}}`,
  'numbers that do not fit, in a list': listOf('0.10000000000000001'),
  'numbers that do not fit, in fields': `{${Array.from({ length: 40_000 }, (_, n) => `"f${n}":0.10000000000000001`).join(',')}}`,
  'the same name again and again': `{${fill('"a":0.10000000000000001,', 390_000)}"a":1}`,
  'names that are numbers': `{${Array.from({ length: 40_000 }, (_, n) => `"${n * 99_991}":1`).join(',')}}`,
  'lists in lists': `[${fill(`${'['.repeat(30)}${']'.repeat(30)},`, 200_000)}1]`,
  backslashes: `{"a":"${fill('\\\\')}"}`,
  'quotes that are escaped': `{"a":"${fill('\\"')}"}`,
  'halves of pairs': `{"a":"${fill('\\ud83d')}"}`,
  'one long name': `{"${fill('é', 200_000)}":1}`,
  blanks: `{${fill(' ')}"a":1}`,
  'a text that never ends': `{"a":"${fill('x')}`,
  'e and nothing else': fill('e'),
  commas: fill(','),
};
