// Traces of this gateway, when a receiver is configured [D100]: this file and its neighbours are not even loaded otherwise.
// The rooms know nothing of it: what they are given is watched from outside, by wrappers that change no call and no outcome.
import type { FastifyInstance } from 'fastify';
import type { Send } from '../../callbacks/sender.ts';
import type { WatchStatement } from '../../database/watched-dialect.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';
import type { Channel } from '../../link/channel.ts';
import type { Link } from '../../link/link.ts';
import { createExporter } from './exporter.ts';
import { writeTraceparent } from './traceparent.ts';
import { createTracer } from './tracer.ts';
import { watchedChannel, watchedLink, watchedSend, watchRequests, watchStatements } from './watched.ts';

export interface Traces {
  watchStatement: WatchStatement;
  /** Before its routes are added. */
  watchRequests(app: FastifyInstance): void;
  channel(channel: Channel): Channel;
  link(link: Link): Link;
  send(send: Send): Send;
  /** Of the work at hand, for what goes on in another process or later. */
  current(): string | undefined;
  /** Sends what is left. */
  stop(): Promise<void>;
}

interface Options {
  clock: Clock;
  random: Random;
  logger: Logger;
  url: string;
  token: string | undefined;
  recordedPercent: number;
  engine: 'sqlite' | 'postgres';
  version: string;
  hostname: string;
  pid: number;
}

export function createTraces(options: Options): Traces {
  const { version, hostname, pid } = options;
  const resource = { 'service.name': 'tillgate', 'service.version': version, 'host.name': hostname, 'process.pid': pid };
  const exporter = createExporter({ ...options, resource });
  const tracer = createTracer({ ...options, onEnd: exporter.add });
  return {
    watchStatement: watchStatements(tracer, options.engine),
    watchRequests: (app) => watchRequests(tracer, app),
    channel: (channel) => watchedChannel(tracer, channel),
    link: (link) => watchedLink(tracer, link),
    send: (send) => watchedSend(tracer, send),
    current() {
      const span = tracer.current();
      return span === undefined ? undefined : writeTraceparent(span.context);
    },
    stop: exporter.stop,
  };
}
