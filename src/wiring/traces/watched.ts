// Spans for requests, statements, commands at a device, sends on a channel, and callback attempts.
// Spans contain route patterns, texts of statements without values, names of commands, ids, hosts and codes. Never: a URL with its query, a
// body, a header, the message of an error, or any other text of a caller or a device [D9].
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Send } from '../../callbacks/sender.ts';
import type { WatchStatement } from '../../database/watched-dialect.ts';
import { factsOf } from '../../http/request-facts.ts';
import { routeOf, subjectsOf } from '../../http/request-log.ts';
import type { CarryResult, LinkStep } from '../../link/carrying/delivery.ts';
import type { Channel } from '../../link/channel.ts';
import type { Link } from '../../link/link.ts';
import { readTraceparent, writeTraceparent } from './traceparent.ts';
import type { Attributes, Span, Tracer } from './tracer.ts';

/** A span for each request except probes, RabbitMQ's checks and long-lived streams. */
export function watchRequests(tracer: Tracer, app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const route = routeOf(request);
    const { isLongLived, logsSuccessAtDebug } = request.routeOptions.config;
    if (isLongLived === true || logsSuccessAtDebug === true) return done();
    const attributes = { 'http.request.method': request.method, 'http.route': route, 'tillgate.request_id': request.id };
    const begun = { name: `${request.method} ${route}`, kind: 'server', attributes } as const;
    const span = tracer.begin(begun, readTraceparent(request.headers['traceparent']));
    reply.raw.once('close', () => endRequest(span, request, reply));
    return tracer.within(span, done);
  });
}

function endRequest(span: Span, request: FastifyRequest, reply: FastifyReply): void {
  const { merchantId, errorCode } = factsOf(request);
  const { deviceId, documentNr, oid } = subjectsOf(request);
  span.set({
    'http.response.status_code': reply.raw.statusCode,
    'tillgate.error_code': errorCode,
    'tillgate.merchant_id': merchantId,
    'tillgate.device_id': deviceId,
    'tillgate.document_nr': documentNr,
    'tillgate.oid': oid,
    ...(reply.raw.writableFinished ? {} : { 'tillgate.client_left': true }),
  });
  if (errorCode === 1 || errorCode === 2 || reply.raw.statusCode >= 500) span.fail();
  span.end();
}

/** Only within a current span: background jobs would be traces of one statement each. */
export function watchStatements(tracer: Tracer, engine: 'sqlite' | 'postgres'): WatchStatement {
  const attributes = { 'db.system.name': engine === 'postgres' ? 'postgresql' : 'sqlite' };
  return (statement, run) => {
    const span = tracer.child({
      name: summaryOf(statement),
      kind: 'client',
      attributes: { ...attributes, 'db.query.text': statement },
    });
    return span === undefined ? run() : ended(span, run());
  };
}

/** Tables written together with a command's row; the statement is named after the command. */
const besideCommands: ReadonlySet<string> = new Set([
  'device_locks',
  'claims',
  'idempotency_keys',
  'bank_operations',
  'decisions',
  'settlements',
]);
const maxReadCharacters = 8_000;

/** Verb and first table: `select commands`; of a statement that writes several tables, the main one: `insert commands`. */
function summaryOf(statement: string): string {
  const head = statement.slice(0, 2_000);
  const [verb = 'statement'] = /^[a-z]+/i.exec(head) ?? [];
  if (verb === 'with') {
    const writes = [...statement.slice(0, maxReadCharacters).matchAll(/\b(insert|update|delete)(?: into| from)? "([a-z_]+)"/g)];
    const [, written, into] = writes.find(([, , name]) => !besideCommands.has(name ?? '')) ?? writes[0] ?? [];
    if (into !== undefined) return `${written} ${into}`;
  }
  const [, table] = /\b(?:from|into|update)\s+"?([a-z_]+)"?/i.exec(head) ?? [];
  return table === undefined ? verb.toLowerCase() : `${verb.toLowerCase()} ${table}`;
}

export function watchedChannel(tracer: Tracer, channel: Channel): Channel {
  return {
    name: channel.name,
    get isConnected() {
      return channel.isConnected;
    },
    get tellsAbsence() {
      return channel.tellsAbsence;
    },
    start: (listener) => channel.start(listener),
    stop: () => channel.stop(),
    disconnectDevice: (deviceId) => channel.disconnectDevice?.(deviceId),
    send(deviceId, command, expiresInMs) {
      const attributes = { 'messaging.system': channel.name, 'messaging.operation.type': 'send', ...commandOf(deviceId, command) };
      const span = tracer.child({ name: `send ${channel.name}`, kind: 'producer', attributes });
      const sent = channel.send(deviceId, command, expiresInMs);
      return span === undefined ? sent : ended(span, sent);
    },
  };
}

const commandOf = (deviceId: string, { id, name }: { id: string; name: string }): Attributes => ({
  'tillgate.device_id': deviceId,
  'tillgate.command': name,
  'tillgate.command_id': id,
});

/** From the first copy to the answer: includes the time of the customer, the card and the bank. */
export function watchedLink(tracer: Tracer, link: Link): Link {
  return {
    ...link,
    carry(delivery) {
      const span = tracer.child({
        name: `device ${delivery.name}`,
        kind: 'client',
        attributes: commandOf(delivery.deviceId, delivery),
      });
      if (span === undefined) return link.carry(delivery);
      const onStep = (step: LinkStep) => {
        span.event(step.step, {
          channel: step.channel,
          outcome: step.step === 'answered' || step.step === 'recalled' ? step.detail : undefined,
        });
        delivery.onStep(step);
      };
      return tracer.within(span, async () => {
        const result = await link.carry({ ...delivery, onStep });
        span.set({ 'tillgate.outcome': outcomeOf(result) });
        if (result.kind !== 'ended') span.fail();
        span.end();
        return result;
      });
    },
    ask(deviceId, command) {
      const attributes = { 'tillgate.device_id': deviceId, 'tillgate.command': command.name };
      const span = tracer.child({ name: `device ${command.name}`, kind: 'client', attributes });
      return span === undefined ? link.ask(deviceId, command) : tracer.within(span, () => ended(span, link.ask(deviceId, command)));
    },
  };
}

function outcomeOf(result: CarryResult): string {
  return result.kind === 'ended' ? result.outcome : result.kind;
}

/** Continues the trace that wrote the callback, on any instance, and passes it to the ERP. */
export function watchedSend(tracer: Tracer, send: Send): Send {
  return async (callback, signal) => {
    const attributes = { 'server.address': new URL(callback.url).hostname, 'tillgate.callback_id': callback.id };
    const begun = { name: 'callback', kind: 'client', attributes: { ...attributes, 'tillgate.sequence': callback.sequence } } as const;
    const span = tracer.begin(begun, readTraceparent(callback.traceparent));
    const result = await tracer.within(span, () => send({ ...callback, traceparent: writeTraceparent(span.context) }, signal));
    span.set({ 'http.response.status_code': result.status ?? undefined });
    if (result.status === null || result.status > 299) span.fail();
    span.end();
    return result;
  };
}

async function ended<Result>(span: Span, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    // The message may contain values; the name cannot.
    span.set({ 'error.type': (error as { code?: string }).code ?? (error as Error).name });
    span.fail();
    throw error;
  } finally {
    span.end();
  }
}
