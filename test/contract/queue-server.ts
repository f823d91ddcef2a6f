// An HTTP server that judges logins and hands WebSockets over to the built-in queue, as the gateway does.
import type { BuiltInQueue } from '../../src/link/channels/queue/built-in-queue.ts';
import { createSample } from '../http/sample-server.ts';
import { checkDevice } from './channel.ts';

export async function startHttp() {
  let queue: BuiltInQueue | undefined;
  const { server } = createSample({
    findDevice: async (deviceId, secret) => ((await checkDevice(deviceId, secret)) ? { deviceId, merchantId: 'm' } : undefined),
  });
  server.onUpgrade('/queue', (upgrade) => queue?.handleUpgrade(upgrade));
  const { port } = await server.listen();
  return {
    port,
    url: `ws://127.0.0.1:${port}/tillgate/queue`,
    use(given: BuiltInQueue) {
      queue = given;
      return given;
    },
    stop: () => server.stop(0),
  };
}
