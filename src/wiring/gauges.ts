// The gauges and counters of a running gateway, read at each scrape of /metrics. docs/operating.md lists them; a test compares.
// One database query runs at a time, with a time-out of 3 s. If the database hangs, a scrape takes that long, and the metrics from the database
// are left out, with tillgate_database_up 0. Metrics of this process are always present.

import { countWaiting, type WaitingFigures } from '../cabinet/views/figures/waiting-figures.ts';
import type { CallbackStats, Callbacks } from '../callbacks/callbacks.ts';
import { databaseDown } from '../database/errors.ts';
import type { Shared } from '../database/shared-deps.ts';
import type { Labels, Metrics, Reading } from '../http/metrics.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Link } from '../link/link.ts';
import type { Certificate } from './certificate.ts';

interface Parts extends Pick<Shared, 'clock' | 'database'> {
  callbacks: Pick<Callbacks, 'stats' | 'counts'>;
  link: Pick<Link, 'stats'>;
  ledger: Pick<Ledger, 'stats'>;
  certificate?: Pick<Certificate, 'expiresAtMs'> | undefined;
}

/** Well below the default time-out of Prometheus, 10 s. */
const databaseWithinMs = 3_000;

interface DatabaseFigures {
  waiting: WaitingFigures;
  callbacks: CallbackStats;
}

export function addGauges(metrics: Metrics, { clock, database, callbacks, link, ledger, certificate }: Parts): void {
  const read = createDatabaseReader(clock, async () => {
    const [waiting, stats] = await Promise.all([countWaiting(database.queries), callbacks.stats(), database.checkWrite()]);
    return { waiting, callbacks: stats };
  });
  // Before the others: the queries of the scrape must not count as load.
  metrics.gauges('tillgate_database_connections', 'Connections to the database by state.', ['state'], () =>
    byLabel('state', { ...database.load() }),
  );
  addDatabaseGauges(metrics, read);
  const shortage = 'Statements and connections that PostgreSQL refused to this process for lack of disk, memory or connections.';
  metrics.counter('tillgate_database_shortages_total', shortage, [], () =>
    database.shortages === undefined ? [] : [{ labels: {}, value: database.shortages() }],
  );
  metrics.gauge('tillgate_callbacks_in_flight', 'Callbacks that this process is sending.', () => callbacks.counts().inFlight);
  metrics.counter('tillgate_callback_attempts_total', 'Callback attempts of this process by outcome.', ['outcome'], () => {
    const { delivered, failedAttempts, died } = callbacks.counts();
    return byLabel('outcome', { delivered, failed: failedAttempts, died });
  });
  metrics.gauge('tillgate_devices_live', 'Devices that are live on any channel.', () => link.stats().liveDevices);
  metrics.gauge('tillgate_link_waiting_calls', 'Calls that wait for a device.', () => link.stats().waitingCalls);
  metrics.gauges('tillgate_link_connected', 'Whether the channel is connected.', ['channel'], () =>
    Object.entries(link.stats().connected).map(([channel, isConnected]) => ({ labels: { channel }, value: isConnected ? 1 : 0 })),
  );
  metrics.counter('tillgate_link_dropped_messages_total', 'Messages of devices that were dropped, by reason.', ['reason'], () =>
    byLabel('reason', { ...link.stats().dropped }),
  );
  metrics.gauge('tillgate_ledger_in_flight', 'Commands in progress on this instance.', () => ledger.stats().inFlight);
  metrics.counter('tillgate_ledger_contradictions_total', 'Answers that contradicted a settled outcome.', [], () => [
    { labels: {}, value: ledger.stats().contradictions },
  ]);
  const expiry = 'When the TLS certificate of this process expires, in seconds since 1970; absent without one.';
  metrics.gauges('tillgate_certificate_expiry_timestamp_seconds', expiry, [], () =>
    certificate === undefined ? [] : [{ labels: {}, value: certificate.expiresAtMs / 1000 }],
  );
}

/** Metrics from the database, of all instances. */
function addDatabaseGauges(metrics: Metrics, read: () => Promise<DatabaseFigures>): void {
  metrics.gauge('tillgate_database_up', 'Whether the database answers and can be written.', () =>
    read().then(
      () => 1,
      () => 0,
    ),
  );
  metrics.gauge('tillgate_review_waiting', 'Commands that a person must decide.', async () => (await read()).waiting.review);
  metrics.gauge(
    'tillgate_contradictions_waiting',
    'Settled outcomes that an answer of the device contradicts, until a person resolves them.',
    async () => (await read()).waiting.contradictions,
  );
  const oldest = 'Age of the oldest open operation whose caller waits, or has no answer (3, or it has left).';
  metrics.gauges('tillgate_oldest_open_command_seconds', oldest, ['caller'], async () => {
    const { oldestWaitingMs, oldestWithoutAnswerMs } = (await read()).waiting;
    return byLabel('caller', { waiting: oldestWaitingMs / 1000, 'without-answer': oldestWithoutAnswerMs / 1000 });
  });
  metrics.gauge('tillgate_orphans_waiting', 'Refused payments that need a person.', async () => (await read()).waiting.orphans);
  metrics.gauge(
    'tillgate_unmatched_reports_waiting',
    'Reports of money about unknown commands and invoices that need a person.',
    async () => (await read()).waiting.unmatched,
  );
  metrics.gauge('tillgate_dead_callbacks_waiting', 'Dead callbacks that need a person.', async () => (await read()).waiting.deadCallbacks);
  metrics.gauges('tillgate_callbacks', 'Callbacks by state.', ['state'], async () => {
    const { pending, dead } = (await read()).callbacks;
    return byLabel('state', { pending, dead });
  });
  metrics.gauge(
    'tillgate_callbacks_oldest_pending_seconds',
    'Age of the oldest pending callback.',
    async () => (await read()).callbacks.oldestPendingAgeMs / 1000,
  );
}

function byLabel(name: string, values: Record<string, number>): Reading[] {
  return Object.entries(values).map(([label, value]) => ({ labels: { [name]: label } satisfies Labels, value }));
}

/** Concurrent scrapes share one query; after the time-out the database counts as down. */
function createDatabaseReader<T>(clock: Clock, ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= ask().finally(() => {
      asked = undefined;
    });
    const answer = asked;
    return new Promise((resolve, reject) => {
      const cancel = clock.after(databaseWithinMs, () => reject(databaseDown('The database does not answer.')));
      answer.then(resolve, reject).finally(cancel);
    });
  };
}
