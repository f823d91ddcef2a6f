// Traces of this gateway, if a receiver is configured [D100]; otherwise this directory is not loaded.
// The rooms do not depend on it: wrappers around their dependencies record spans and change no call and no result.

import type { FastifyInstance } from 'fastify';
import type { Send } from '../../callbacks/sender.ts';
import type { World } from '../../kernel/world.ts';
import type { Channel } from '../../link/channel.ts';
import type { Link } from '../../link/link.ts';
import { createExporter } from './exporter.ts';
import { writeTraceparent } from './traceparent.ts';
import { createTracer } from './tracer.ts';
import { watchedChannel, watchedLink, watchedSend, watchRequests, watchStatements } from './watched.ts';

export type Traces = ReturnType<typeof createTraces>;

interface Options extends World {
  url: string;
  token: string | undefined;
  recordedPercent: number;
  engine: 'sqlite' | 'postgres';
  version: string;
  hostname: string;
  pid: number;
}

export function createTraces(options: Options) {
  const { version, hostname, pid } = options;
  const resource = { 'service.name': 'tillgate', 'service.version': version, 'host.name': hostname, 'process.pid': pid };
  const exporter = createExporter({ ...options, resource });
  const tracer = createTracer({ ...options, onEnd: exporter.add });
  return {
    watchStatement: watchStatements(tracer, options.engine),
    /** Call it before the routes are added. */
    watchRequests: (app: FastifyInstance) => watchRequests(tracer, app),
    channel: (channel: Channel) => watchedChannel(tracer, channel),
    link: (link: Link) => watchedLink(tracer, link),
    send: (send: Send) => watchedSend(tracer, send),
    /** The traceparent of the current work, for work that continues later or in another process. */
    current(): string | undefined {
      const span = tracer.current();
      return span === undefined ? undefined : writeTraceparent(span.context);
    },
    /** Sends the remaining spans. */
    stop: exporter.stop,
  };
}
