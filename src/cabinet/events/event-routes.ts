// The event stream over HTTP: hints as server-sent events. It ends with its session, its connection or this process.

import { Type } from 'typebox';
import { adminAnswers } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { viewerOf } from '../../http/viewer.ts';
import { type Cancel, every } from '../../kernel/clock.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { scopeOfView } from '../list-fields.ts';
import type { EventHub } from './event-hub.ts';

/** Shorter than the idle time-outs of proxies and of this server. */
const beatEveryMs = 20_000;
/** A reader with this much unread data is disconnected; it reconnects and reads everything again. */
const maxBehindBytes = 64 * 1024;

export function registerEventRoutes(app: RouteApp, { clock, events, people }: CabinetDeps & { events: Pick<EventHub, 'join'> }): void {
  addRoute(app, 'GET /events', 'streamEvents', {
    isLongLived: true,
    summary: 'Hints about changes, as they happen',
    description:
      'Server-sent events `hint` with `{kind, id, version}`, of the viewer’s own merchant only. A hint has no content: read the object that it names again, and everything after a reconnect.',
    response: {
      ...adminAnswers({ description: 'The stream.', example: {} }),
      200: { description: 'The stream.', content: { 'text/event-stream': { schema: Type.String() } } },
    },
    handle(request, reply) {
      const { userId, sessionId, actor, merchantId } = viewerOf(request);
      const { raw } = reply;
      const write = (text: string) => {
        raw.write(text);
        return raw.writableLength <= maxBehindBytes;
      };
      const stops: Cancel[] = [];
      const end = () => {
        for (const stop of stops.splice(0)) stop();
        raw.end();
      };
      const leave = events.join({
        scope: scopeOfView(request),
        user: userId ?? actor,
        merchantOfUser: merchantId,
        send: (hint) => write(`event: hint\ndata: ${JSON.stringify(hint)}\n\n`),
        end,
      });
      reply.hijack();
      raw.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
        'x-content-type-options': 'nosniff',
      });
      write('retry: 3000\n\nevent: hello\ndata: {}\n\n');
      stops.push(every(clock, beatEveryMs, () => void (write(': beat\n\n') || leave())));
      if (sessionId !== undefined) stops.push(people.onSessionEnded(sessionId, leave));
      raw.once('close', leave);
    },
  });
}
