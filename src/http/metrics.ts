// Prometheus metrics. Each gateway has its own registry, so that two of them in one process (tests) do not collide.
// A scrape never fails: if a source is unavailable, its metric has no value and the others are served.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type Labels = Record<string, string>;
export interface Reading {
  labels: Labels;
  value: number;
}

export type Metrics = ReturnType<typeof createMetrics>;

// From a cached answer to a card payment of five minutes.
const requestBucketsS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.18, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60, 120, 300];

// Gauges with the name of a counter. prom-client exports the same figures by type as well (nodejs_active_resources and so on).
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export function createMetrics() {
  const registry = new Registry();
  const requests = new Histogram({
    name: 'tillgate_http_request_duration_seconds',
    help: 'Requests by route and errorCode.',
    labelNames: ['method', 'route', 'error_code'],
    buckets: requestBucketsS,
    registers: [registry],
  });
  // The process collectors monitor the event loop constantly, so they start with the first scrape, not in every test.
  let isWatchingProcess = false;

  function gauges(name: string, help: string, labelNames: readonly string[], read: () => Reading[] | Promise<Reading[]>): void {
    new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      async collect() {
        const readings = await Promise.try(read).catch(() => []);
        // `remove` deletes the value of a metric without labels; `reset` would set it to 0, which would be wrong.
        if (labelNames.length === 0) this.remove();
        else this.reset();
        for (const { labels, value } of readings) this.set(labels, value);
      },
    });
  }

  return {
    observeRequest(method: string, route: string, errorCode: number | undefined, durationMs: number): void {
      requests.observe({ method, route, error_code: errorCode === undefined ? '' : String(errorCode) }, durationMs / 1000);
    },
    /** A value read at each scrape. */
    gauge: (name: string, help: string, read: () => number | Promise<number>) =>
      gauges(name, help, [], async () => [{ labels: {}, value: await read() }]),
    /** One value per combination of labels. */
    gauges,
    /** The same for a value that only grows while the process runs; its name ends in `_total`. */
    counter(name: string, help: string, labels: readonly string[], read: () => Reading[]): void {
      new Counter({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect() {
          this.reset();
          for (const { labels: named, value } of read()) this.inc(named, value);
        },
      });
    },
    text(): Promise<string> {
      if (!isWatchingProcess) {
        isWatchingProcess = true;
        collectDefaultMetrics({ register: registry });
        for (const name of misnamed) registry.removeSingleMetric(name);
      }
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}
