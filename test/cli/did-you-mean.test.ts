// Which command was meant, and when nobody can tell.
import { expect, it } from 'vitest';
import { didYouMean } from '../../src/cli/did-you-mean.ts';
import { runProgram } from '../support/gateway-process.ts';

const names = ['serve', 'sandbox', 'migrate', 'key list', 'key create'];

it.each([
  ['servr', 'serve'],
  ['Sandbx', 'sandbox'],
  ['migrat', 'migrate'],
  ['key lists', 'key list'],
])('%s means %s', (typed, meant) => {
  expect(didYouMean(typed, names)).toBe(` Did you mean "${meant}"?`);
});

it.each(['', 'xyz', 'k', 'serve'.repeat(100_000)])('makes no guess', (typed) => {
  expect(didYouMean(typed, names)).toBe('');
});

it('is said on the command line, with exit code 2', async () => {
  const [one, two] = [await runProgram(['servr']), await runProgram(['key', 'lisst'])];
  expect(one).toMatchObject({ code: 2, out: '', err: expect.stringContaining('Did you mean "serve"?') });
  expect(two).toMatchObject({ code: 2, out: '', err: expect.stringContaining('Did you mean "key list"?') });
});
