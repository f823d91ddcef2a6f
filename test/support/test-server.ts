// The HTTP server as tests need it: on loopback, ready, with room for many calls; each test says whom it knows.
import { createMetrics } from '../../src/http/metrics.ts';
import { createHttpServer, type HttpServer, type HttpServerOptions } from '../../src/http/server.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { quietLogger } from './quiet-logger.ts';

type Known = 'basePath' | 'findCaller' | 'findDevice' | 'isAdminToken';

export function createTestServer(options: Pick<HttpServerOptions, Known> & Partial<HttpServerOptions>): HttpServer {
  return createHttpServer({
    host: '127.0.0.1',
    port: 0,
    logger: quietLogger,
    clock: systemClock,
    random: systemRandom,
    metrics: createMetrics(),
    rateLimitPerS: 10_000,
    merchantRatePerS: 50_000,
    onCutOff: () => () => {},
    readiness: async () => ({ modes: { POS: 'up', QR: 'up', Fiscal: 'up' }, channels: { mqtt: true, queue: true } }),
    ...options,
  });
}
