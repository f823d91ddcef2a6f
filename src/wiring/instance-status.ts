// The status that an instance writes with each heartbeat: its connections and queues. The cabinet and `tillgate instances` show it for all
// instances; /metrics has the same figures of one instance.
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
