// docs/operating.md lists the metrics that a gateway really has. Its table of settings is checked in test/config.test.ts.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { assemble } from '../../src/gateway.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { memoryDatabase } from '../support/engines.ts';
import { quietLogger } from '../support/quiet-logger.ts';

const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');

it('lists every metric with its labels', async () => {
  const table = /<!-- metrics:[^>]*-->\n([\s\S]*?)\n<!-- end of metrics -->/.exec(page)?.[1] ?? '';
  const listed = [...table.matchAll(/^\| `(tillgate_\w+)`/gm)].map(([, name]) => name);
  const database = await memoryDatabase(systemClock);
  const { metrics } = assemble(readConfig('sandbox', {}), { clock: systemClock, random: systemRandom, logger: quietLogger }, database);
  const text = await metrics.text();
  await database.close();
  const real = [...text.matchAll(/^# HELP (tillgate_\w+) /gm)].map(([, name]) => name);
  expect(real.length).toBeGreaterThan(5);
  expect(new Set(listed)).toEqual(new Set(real));
});
