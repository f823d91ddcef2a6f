// What the doctor makes of limits of open files.
import { expect, it } from 'vitest';
import { judgeNode, judgeOwnLimit } from '../../src/cli/doctor/limit-check.ts';

const limits = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 1048576              files\n`;

it.each([
  ['1024', 'warning'],
  ['9999', 'warning'],
  ['10000', 'ok'],
  ['unlimited', 'ok'],
])('%s files for this process are %s', (soft, verdict) => {
  expect(judgeOwnLimit(limits(soft))).toMatchObject([{ verdict }]);
});

it('claims nothing where the system does not tell', () => {
  expect(judgeOwnLimit('')).toEqual([]);
});

it.each([
  [100, 1_024, 'warning'],
  [100, 65_536, 'ok'],
  [60_000, 65_536, 'warning'],
])('%i of %i files of RabbitMQ are %s', (filesUsed, filesAtMost, verdict) => {
  expect(judgeNode({ name: 'rabbit@one', filesUsed, filesAtMost })).toMatchObject({ verdict });
});
