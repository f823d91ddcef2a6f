// Prometheus metrics. Each gateway has its own registry, so that two of them in one process (tests) do not collide.
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type Labels = Record<string, string>;
export interface Reading {
  labels: Labels;
  value: number;
}

export interface Metrics {
  observeRequest(method: string, route: string, errorCode: number | undefined, durationMs: number): void;
  /** A value that is read whenever somebody scrapes: one number, or one for each combination of labels. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void;
  gauge(name: string, help: string, labels: readonly string[], read: () => Reading[] | Promise<Reading[]>): void;
  /** A count that only grows. */
  text(): Promise<string>;
  readonly contentType: string;
}

// From a cached answer to the five minutes of a card payment.
const requestBucketsS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.18, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60, 120, 300];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const requests = new Histogram({
    name: 'tillgate_http_request_duration_seconds',
    help: 'Requests by route and errorCode.',
    labelNames: ['method', 'route', 'error_code'],
    buckets: requestBucketsS,
    registers: [registry],
  });
  // The collectors of the process watch the event loop all the time; they start with the first scrape, not in every test.
  let isWatchingProcess = false;

  function gauge(
    name: string,
    help: string,
    labelsOrRead: readonly string[] | (() => number | Promise<number>),
    readMany?: () => Reading[] | Promise<Reading[]>,
  ): void {
    new Gauge({
      name,
      help,
      labelNames: typeof labelsOrRead === 'function' ? [] : [...labelsOrRead],
      registers: [registry],
      async collect() {
        this.reset();
        // A source that is down (the database, say) leaves its metric out and does not take the whole scrape with it.
        try {
          if (typeof labelsOrRead === 'function') this.set(await labelsOrRead());
          else for (const { labels, value } of (await readMany?.()) ?? []) this.set(labels, value);
        } catch {
          this.remove();
        }
      },
    });
  }

  return {
    observeRequest(method, route, errorCode, durationMs) {
      requests.observe({ method, route, error_code: errorCode === undefined ? '' : String(errorCode) }, durationMs / 1000);
    },
    gauge,
    text() {
      if (!isWatchingProcess) {
        isWatchingProcess = true;
        collectDefaultMetrics({ register: registry });
      }
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}
