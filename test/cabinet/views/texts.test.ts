import { expect, it } from 'vitest';
import { text } from '../../../src/cabinet/views/texts.ts';

it.each([
  ['Olga Operator <olga@example.md>, operator', 'Olga Operator'],
  ['Ana <ana@example.md>', 'Ana'],
  ['admin token', 'admin token'],
])('of %s a sentence has the name', (actor, name) => {
  expect(text('step.decided', { actor, reason: 'Ana <ana@example.md>' })).toEqual({
    key: 'step.decided',
    params: { actor: name, reason: 'Ana <ana@example.md>' },
  });
});
