// Without a receiver nothing of the traces is there: no file of them is loaded, and what the rooms are given is not wrapped.
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));

it('is loaded by one line, which runs only where a receiver is named', () => {
  const uses = globSync('src/**/*.ts', { cwd: root })
    .filter((path) => !path.startsWith('src/wiring/traces/'))
    .flatMap((path) => readFileSync(`${root}${path}`, 'utf8').split('\n'))
    .filter((line) => line.includes('traces/') && /import|from/.test(line) && !line.startsWith('import type'));
  expect(uses.map((line) => line.trim())).toEqual(["const { createTraces } = await import('./wiring/traces/traces.ts');"]);
});
