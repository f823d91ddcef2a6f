// What an instance writes about itself with each heartbeat: its connections and how much waits in it. Operators see it in the cabinet and with
// `tillgate instances`, for all instances at once; /metrics has the same figures of one instance over time.
import type { Callbacks } from '../callbacks/callbacks.ts';
import type { Database } from '../database/database.ts';
import type { InstanceStatus } from '../database/instances.ts';
import type { HttpServer } from '../http/server.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Link } from '../link/link.ts';

interface Parts {
  database: Pick<Database, 'load'>;
  server: Pick<HttpServer, 'countConnections'>;
  callbacks: Pick<Callbacks, 'counts'>;
  link: Pick<Link, 'stats'>;
  ledger: Pick<Ledger, 'stats'>;
}

export function createStatusReader({ database, server, callbacks, link, ledger }: Parts): () => Promise<InstanceStatus> {
  return async () => {
    const http = await server.countConnections();
    const { liveDevices: devices, connected: channels, waitingCalls } = link.stats();
    return {
      http,
      devices,
      channels,
      database: database.load(),
      waitingCalls,
      commands: ledger.stats().inFlight,
      callbacks: callbacks.counts().inFlight,
    };
  };
}
