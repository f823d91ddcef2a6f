// An hour of a gateway's metrics, made of a few seconds of real scrapes: gauges go round, counters go on at the rate that was seen. promtool says
// which alerts of deploy/prometheus/alerts.yml fire in it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../support/gateway-process.ts';
import { promtool } from '../support/servers/prometheus.ts';

const rulesFile = fileURLToPath(new URL('../../deploy/prometheus/alerts.yml', import.meta.url));
const rules = readFileSync(rulesFile, 'utf8');
export const alertNames = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
const metricNames = new Set([...rules.matchAll(/\b(up|tillgate_\w+|nodejs_\w+)(?=[{ )[])/g)].map(([, name = '']) => name));

const everyS = 15;
const steps = 240;
const minutes = Array.from({ length: 12 }, (_, at) => 5 * (at + 1));

/** Of what the alerts look at: value by series, as Prometheus would store it. */
export type Scrape = ReadonlyMap<string, number>;

export function readScrape(text: string): Scrape {
  const stored = new Map<string, number>([['up{instance="a:8080",job="tillgate"}', 1]]);
  for (const [, name = '', labels = '', value = ''] of text.matchAll(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/gm)) {
    if (!metricNames.has(name)) continue;
    stored.set(`${name}{${[labels, 'instance="a:8080",job="tillgate"'].filter((part) => part !== '').join(',')}}`, Number(value));
  }
  return stored;
}

const isCounter = (series: string) => /_(total|count)\{/.test(series);

function valuesOf(series: string, scrapes: readonly Scrape[], spanS: number): string {
  const seen = scrapes.map((scrape) => scrape.get(series) ?? 0);
  if (!isCounter(series)) return Array.from({ length: steps + 1 }, (_, at) => seen[at % seen.length]).join(' ');
  const [first = 0, last = 0] = [seen[0], seen.at(-1)];
  return `${first}+${(((last - first) * everyS) / spanS).toFixed(6)}x${steps}`;
}

/** `spanS`: seconds between the first and the last scrape. */
export function hourOf(scrapes: readonly Scrape[], spanS: number): { series: string; values: string }[] {
  const all = new Set(scrapes.flatMap((scrape) => [...scrape.keys()]));
  return [...all].map((series) => ({ series, values: valuesOf(series, scrapes, spanS) }));
}

/** An hour of which the second half is another one. */
export function afterHalfAnHour(before: ReturnType<typeof hourOf>, after: ReturnType<typeof hourOf>): ReturnType<typeof hourOf> {
  const half = (values: string) => values.split(' ').slice(0, steps / 2);
  const later = new Map(after.map(({ series, values }) => [series, values]));
  return before
    .filter(({ series }) => !isCounter(series))
    .map(({ series, values }) => ({ series, values: [...half(values), ...half(later.get(series) ?? values)].join(' ') }));
}

/** Names of the alerts that fire at some time of the hour. */
export function firingIn(hour: ReturnType<typeof hourOf>): string[] {
  const file = join(temporaryDirectory(), 'hour.yml');
  const alert_rule_test = alertNames.flatMap((alertname) =>
    minutes.map((minute) => ({ eval_time: `${minute}m`, alertname, exp_alerts: [] })),
  );
  const tests = [{ interval: `${everyS}s`, input_series: hour, alert_rule_test }];
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }));
  const { isContent, said } = promtool(['test', 'rules', file]);
  const firing = alertNames.filter((name) => said.includes(`alertname: ${name},`));
  if (isContent === firing.length > 0) throw new Error(said);
  return firing;
}
