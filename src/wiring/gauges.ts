// The gauges of a running gateway, read when somebody scrapes /metrics. docs/operating.md lists them, held by a test.
import type { Callbacks } from '../callbacks/callbacks.ts';
import type { Database } from '../database/database.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Link } from '../link/link.ts';

interface Rooms {
  database: Database;
  callbacks: Callbacks;
  link: Link;
  ledger: Ledger;
}

export function addGauges(metrics: Metrics, { database, callbacks, link, ledger }: Rooms): void {
  metrics.gauge('tillgate_database_connections', 'Connections to the database by state.', ['state'], () => {
    const load = database.load();
    return Object.entries(load).map(([state, value]) => ({ labels: { state }, value }));
  });
  metrics.gauge('tillgate_callbacks', 'Callbacks by state.', ['state'], async () => {
    const { pending, dead, inFlight } = await callbacks.stats();
    return Object.entries({ pending, dead, in_flight: inFlight }).map(([state, value]) => ({ labels: { state }, value }));
  });
  metrics.gauge('tillgate_callbacks_total', 'Callback attempts of this process by outcome.', ['outcome'], async () => {
    const { delivered, failedAttempts, died } = await callbacks.stats();
    return Object.entries({ delivered, failed: failedAttempts, died }).map(([outcome, value]) => ({ labels: { outcome }, value }));
  });
  metrics.gauge(
    'tillgate_callbacks_oldest_pending_seconds',
    'Age of the oldest callback that still waits.',
    async () => (await callbacks.stats()).oldestPendingAgeMs / 1000,
  );
  metrics.gauge('tillgate_devices_live', 'Devices that are live on some channel.', () => link.stats().liveDevices);
  metrics.gauge('tillgate_link_waiting_calls', 'Calls that wait for a device.', () => link.stats().waitingCalls);
  metrics.gauge('tillgate_link_connected', 'Whether the channel is connected.', ['channel'], () =>
    Object.entries(link.stats().connected).map(([channel, isConnected]) => ({ labels: { channel }, value: isConnected ? 1 : 0 })),
  );
  metrics.gauge('tillgate_link_dropped_messages', 'Messages of devices that were dropped, by reason.', ['reason'], () =>
    Object.entries(link.stats().dropped).map(([reason, value]) => ({ labels: { reason }, value })),
  );
  metrics.gauge('tillgate_ledger_in_flight', 'Commands that this instance is carrying.', () => ledger.stats().inFlight);
  metrics.gauge('tillgate_ledger_contradictions', 'Answers that contradicted a settled outcome.', () => ledger.stats().contradictions);
}
