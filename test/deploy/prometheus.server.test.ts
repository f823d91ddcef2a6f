// What watches over a gateway, on the real thing: a gateway on a PostgreSQL of its own, scraped by Prometheus, also while the database is away;
// the alert rules, and the dashboard whose every query must find something.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayProcess, serveSettings, startServeProcess, temporaryDirectory } from '../support/gateway-process.ts';
import { type PostgresServer, startPostgres } from '../support/servers/postgres.ts';
import { type PrometheusServer, promtool, startPrometheus } from '../support/servers/prometheus.ts';
import { eventually } from '../support/till.ts';

const deploy = new URL('../../deploy/', import.meta.url);
const rulesDirectory = fileURLToPath(new URL('prometheus/', deploy));
const alerts = readFileSync(new URL('prometheus/alerts.yml', deploy), 'utf8');
const dashboard = JSON.parse(readFileSync(new URL('grafana/tillgate.json', deploy), 'utf8')) as {
  panels: { title: string; targets: { expr: string }[] }[];
};
const metricsToken = 'a-token-for-the-metrics-of-tests';

describe('the alert rules', () => {
  it('are understood, and so is the example of a configuration', () => {
    expect(promtool(['check', 'rules', 'alerts.yml'], '', rulesDirectory)).toMatchObject({ isContent: true });
    expect(promtool(['check', 'config', '--syntax-only', 'prometheus.yml'], '', rulesDirectory)).toMatchObject({ isContent: true });
  });

  it('fire when they should and keep quiet otherwise, each of them', () => {
    const { isContent, said } = promtool(['test', 'rules', 'alerts.test.yml'], '', rulesDirectory);
    expect(isContent, said).toBe(true);
    const stories = readFileSync(new URL('prometheus/alerts.test.yml', deploy), 'utf8');
    for (const [, name] of alerts.matchAll(/- alert: (\w+)/g)) {
      expect(stories).toContain(`- name: ${name} fires`);
      expect(stories).toContain(`- name: ${name} keeps quiet`);
    }
  });
});

describe('a gateway that is watched', () => {
  let postgres: PostgresServer;
  let gateway: GatewayProcess;
  let prometheus: PrometheusServer;

  const scrape = async () => {
    const response = await fetch(`${gateway.baseUrl}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
    return { status: response.status, text: await response.text() };
  };
  const names = (text: string) => new Set([...text.matchAll(/^(tillgate_\w+?)(?:_bucket|_sum|_count)?[ {]/gm)].map(([, name]) => name));

  beforeAll(async () => {
    postgres = await startPostgres();
    gateway = await startServeProcess(
      await serveSettings({
        TILLGATE_DATA_DIR: temporaryDirectory(),
        TILLGATE_DATABASE_URL: postgres.url,
        TILLGATE_METRICS_TOKEN: metricsToken,
      }),
    );
    prometheus = await startPrometheus({ baseUrl: gateway.baseUrl, token: metricsToken });
  });

  afterAll(async () => {
    await prometheus?.stop();
    await gateway?.terminate();
    await postgres?.stop();
  });

  it('says nothing that promtool objects to', async () => {
    const { status, text } = await scrape();
    expect(status).toBe(200);
    expect(promtool(['check', 'metrics'], text)).toEqual({ isContent: true, said: '' });
    expect(text).toContain('\ntillgate_database_up 1\n');
  });

  it('gives every panel of the dashboard something to show, and every alert something to judge', { timeout: 60_000 }, async () => {
    const call = () => fetch(`${gateway.baseUrl}/health/live`);
    await call();
    const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(queries.length).toBeGreaterThan(15);
    for (const query of queries) {
      const plain = query.replaceAll('$__rate_interval', '10s').replaceAll('$instance', '.*');
      const ask = async () => {
        // A rate needs two scrapes of a series, and traffic between them.
        await call();
        return prometheus.query(plain);
      };
      await eventually(`something to show for ${plain}`, ask, (series) => series.some(({ value }) => value[1] !== 'NaN'));
    }
    // The metric of each comparison is there; whether it fires is for the rules' own test.
    for (const [, name = ''] of alerts.matchAll(/\b(up|tillgate_\w+|nodejs_\w+)(?=[{ )[])/g)) {
      // Nothing was dropped, and this gateway has no certificate of its own.
      if (['tillgate_link_dropped_messages_total', 'tillgate_certificate_expiry_timestamp_seconds'].includes(name)) continue;
      expect(await prometheus.query(name), name).not.toEqual([]);
    }
  });

  it('still tells what it knows while the database is down, and that it is', { timeout: 90_000 }, async () => {
    const before = names((await scrape()).text);
    await postgres.kill9();
    const startedAt = performance.now();
    const { status, text } = await scrape();
    expect(performance.now() - startedAt).toBeLessThan(9_000);
    expect(status).toBe(200);
    expect(promtool(['check', 'metrics'], text)).toEqual({ isContent: true, said: '' });
    expect(text).toContain('\ntillgate_database_up 0\n');
    const databaseAlone = [
      'review_waiting',
      'contradictions_waiting',
      'oldest_open_command_seconds',
      'orphans_waiting',
      'unmatched_reports_waiting',
      'dead_callbacks_waiting',
      'callbacks',
      'callbacks_oldest_pending_seconds',
    ];
    expect(before.difference(names(text))).toEqual(new Set(databaseAlone.map((name) => `tillgate_${name}`)));
    const seenAway = () => prometheus.query('tillgate_database_up == 0');
    await eventually('Prometheus sees the database away', seenAway, (series) => series.length === 1);

    await postgres.restart();
    await eventually('the database is there again', scrape, (again) => again.text.includes('\ntillgate_database_up 1\n'));
    expect(before.difference(names((await scrape()).text))).toEqual(new Set());
  });
});
