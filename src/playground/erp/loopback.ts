// Serves callbacks on loopback: for the ERP of the playground, and for `tillgate sink`.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Port 0: any free one. */
export async function serveOnLoopback(server: Server, port: number) {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
