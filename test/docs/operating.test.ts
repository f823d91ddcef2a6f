// docs/operating.md lists the metrics that a gateway really has, and says what to do about each alert. Its table of settings is checked in test/config.test.ts.
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

it('says what to do about each alert, where the alert points to, and about no other', () => {
  const rules = readFileSync(new URL('../../deploy/prometheus/alerts.yml', import.meta.url), 'utf8');
  const alerts = [...rules.matchAll(/- alert: (\w+)[\s\S]*?runbook: docs\/operating\.md#(\w+)/g)];
  expect(alerts.length).toBe([...rules.matchAll(/- alert:/g)].length);
  for (const [, name = '', anchor] of alerts) expect(anchor).toBe(name.toLowerCase());
  const sections = [...page.matchAll(/^#### (Tillgate\w+)\n\S/gm)].map(([, name]) => name);
  expect(sections).toEqual(expect.arrayContaining(alerts.map(([, name]) => name)));
  expect(sections.length).toBe(alerts.length);
});

it('shows only metrics of the table in alerts and dashboard', () => {
  const watchers = ['prometheus/alerts.yml', 'prometheus/alerts.test.yml', 'grafana/tillgate.json'];
  for (const file of watchers) {
    const text = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');
    const used = [...text.matchAll(/\b(tillgate_\w+?)(?:_count|_bucket|_sum)?\b(?=[{ )[])/g)].map(([, name]) => name);
    expect(used.length).toBeGreaterThan(10);
    for (const name of used) expect(page).toContain(`| \`${name}\` |`);
  }
});

it('names for each bound a constant of the code, in the file where it is', () => {
  const table = /<!-- limits:[^>]*-->\n([\s\S]*?)\n<!-- end of limits -->/.exec(page)?.[1] ?? '';
  const rows = table.split('\n').slice(2);
  for (const row of rows) expect(row, 'a row without a file').toMatch(/`src\/[\w/-]+\.ts` \|$/);
  // "`one`, `two` in `src/file.ts`" and "`src/file.ts`" alone, here and in the text of the page.
  const named = [...page.matchAll(/((?:`[a-zA-Z]+`(?:, | and )?)+) in (?:`src\/[\w/-]+\.ts`(?: and in )?)+/g)].flatMap(
    ([text, names = '']) => {
      const files = [...text.matchAll(/`(src\/[\w/-]+\.ts)`/g)].map(([, file = '']) => file);
      return files.flatMap((file) => [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => ({ file, name })));
    },
  );
  expect(named.length).toBeGreaterThan(40);
  for (const { file, name } of named) {
    const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    expect(new RegExp(`(?:const ${name}\\b.* = |\\b${name}: [^;]*,)`).test(source), `${name} in ${file}`).toBe(true);
  }
});
