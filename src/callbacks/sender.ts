// One attempt: an HTTP GET that ends within its time limit, whatever the server does. It never rejects and follows no redirect.
// Every connection goes through the address guard.
import type { ClientRequest, Agent as HttpAgent, IncomingMessage, RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { maskCardNumbers } from '../kernel/card-numbers.ts';
import type { Clock } from '../kernel/clock.ts';
import { http } from '../kernel/node-http.ts';
import { type AddressGuard, AddressRefused } from './address-guard.ts';
import { signCallback } from './signature.ts';

export interface OutgoingCallback {
  id: string;
  sequence: number;
  url: string;
  /** The merchant's secrets, `whsec_` and Base64: each of them signs. */
  secrets: readonly string[];
  /** The trace that the ERP may continue; sent unchanged. */
  traceparent?: string | undefined;
}

/** Either `status` or `error` is set. */
export interface AttemptResult {
  status: number | null;
  error: string | null;
  durationMs: number;
  responseHead: string | null;
}

/** Resolves within a bounded time and never rejects. */
export type Send = (callback: OutgoingCallback, signal: AbortSignal) => Promise<AttemptResult>;

export interface SenderOptions {
  clock: Clock;
  guard: AddressGuard;
  /** For name look-up, connection, TLS and response together [D25]. */
  attemptTimeoutMs: number;
  socketsPerHost: number;
}

const maxBodyBytes = 4096;
const keptBytes = 512;
/** The status line decides; the body is only for the delivery log and must not occupy a slot for long. */
const bodyTimeoutMs = 2_000;
const idleSocketMs = 5_000;

type Answer = Pick<AttemptResult, 'status' | 'responseHead'>;

/** The request in flight, and the reason if it was aborted. */
interface Attempt {
  request: ClientRequest | undefined;
  brokenOffBy: Error | undefined;
}

export function createSender(options: SenderOptions) {
  const { clock, guard, attemptTimeoutMs } = options;
  const kept = { keepAlive: true, maxSockets: options.socketsPerHost, maxFreeSockets: options.socketsPerHost, timeout: idleSocketMs };
  const agents = {
    'http:': { kept: guarded(new http.Agent(kept), guard), fresh: guarded(new http.Agent(), guard) },
    'https:': { kept: guarded(new HttpsAgent(kept), guard), fresh: guarded(new HttpsAgent(), guard) },
  };

  async function send(callback: OutgoingCallback, signal: AbortSignal): Promise<AttemptResult> {
    const startedAt = clock.elapsed();
    const attempt: Attempt = { request: undefined, brokenOffBy: undefined };
    const breakOff = (reason: Error) => {
      attempt.brokenOffBy ??= reason;
      attempt.request?.destroy(reason);
    };
    const onAbort = () => breakOff(signal.reason as Error);
    const cancel = clock.after(attemptTimeoutMs, () => breakOff(new Error(`No answer within ${attemptTimeoutMs / 1000} s.`)));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
    const took = () => Math.round(clock.elapsed() - startedAt);
    try {
      return { error: null, ...(await exchange(callback, attempt)), durationMs: took() };
    } catch (error) {
      return { status: null, error: describe(attempt.brokenOffBy ?? error), responseHead: null, durationMs: took() };
    } finally {
      signal.removeEventListener('abort', onAbort);
      cancel();
    }
  }

  async function exchange(callback: OutgoingCallback, attempt: Attempt): Promise<Answer> {
    const url = new URL(callback.url);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`${url.protocol} is not http or https.`);
    const { kept: keptAgent, fresh } = agents[url.protocol];
    const request = requestOptions(url, callback, Math.floor(clock.now() / 1000));
    const first = open(url.protocol, { ...request, agent: keptAgent }, attempt);
    try {
      return await answerOf(first, clock);
    } catch (error) {
      // The server closed an idle connection just as it was reused, so the request is sent again on a new one.
      if (!first.reusedSocket || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
      return await answerOf(open(url.protocol, { ...request, agent: fresh }, attempt), clock);
    }
  }

  return {
    send,
    close(): void {
      for (const pair of Object.values(agents)) for (const agent of Object.values(pair)) agent.destroy();
    },
  };
}

/** Node calls `lookup` only for names; a literal address would be dialled unchecked, so it is checked here. */
function guarded<AgentKind extends HttpAgent>(agent: AgentKind, guard: AddressGuard): AgentKind {
  const dial = agent.createConnection.bind(agent);
  agent.createConnection = (options, done) => {
    const host = (options.host ?? '').replace(/^\[|\]$/g, '');
    const reason = isIP(host.replace(/%.*$/, '')) === 0 ? undefined : guard.refusal(host);
    if (reason !== undefined) {
      process.nextTick(() => done?.(new AddressRefused(reason), undefined as never));
      return undefined;
    }
    return dial({ ...options, lookup: guard.lookup }, done);
  };
  return agent;
}

function requestOptions(url: URL, callback: OutgoingCallback, timestampS: number): RequestOptions {
  // The path unparsed: parsing it again would resolve dots that came from a value.
  const written = callback.url.replace(/^[^/]*\/\/[^/?#]*/, '').replace(/#.*/s, '');
  const path = written.startsWith('/') ? written : `/${written}`;
  // The ERP never sees user and password in the URL, so they are not signed.
  const parts = { id: callback.id, timestampS, sequence: callback.sequence, url: `${url.protocol}//${url.host}${path}` };
  return {
    method: 'GET',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    path,
    ...(url.username === '' && url.password === ''
      ? {}
      : { auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` }),
    headers: {
      host: url.host,
      accept: '*/*',
      'user-agent': 'Tillgate/1',
      'webhook-id': callback.id,
      'webhook-timestamp': String(timestampS),
      'webhook-signature': callback.secrets.map((secret) => signCallback(secret, parts)).join(' '),
      'tillgate-sequence': String(callback.sequence),
      ...(callback.traceparent === undefined ? {} : { traceparent: callback.traceparent }),
    },
  };
}

function open(protocol: 'http:' | 'https:', options: RequestOptions, attempt: Attempt): ClientRequest {
  if (attempt.brokenOffBy) throw attempt.brokenOffBy;
  const request = protocol === 'https:' ? httpsRequest({ ...options, rejectUnauthorized: true }) : http.request(options);
  attempt.request = request;
  return request;
}

function answerOf(request: ClientRequest, clock: Clock): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let hasAnswer = false;
    // A failure after the status line affects only the body: the ERP has the callback.
    const fail = (error: Error) => {
      if (!hasAnswer) reject(error);
    };
    request.on('error', fail);
    // A response such as 101 ends without an error and without a 'response' event.
    request.on('close', () => fail(new Error('The connection was closed without an answer.')));
    request.on('response', (response) => {
      hasAnswer = true;
      readHead(response, clock, (responseHead) => resolve({ status: response.statusCode ?? 0, responseHead }));
    });
    request.end();
  });
}

function readHead(response: IncomingMessage, clock: Clock, done: (head: string | null) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  let isOver = false;
  const finish = () => {
    if (isOver) return;
    isOver = true;
    cancel();
    // Unread data cannot be distinguished from the next response, so the connection is closed.
    if (!response.complete) response.destroy();
    done(readableText(Buffer.concat(chunks).subarray(0, keptBytes)));
  };
  const cancel = clock.after(bodyTimeoutMs, finish);
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBodyBytes) finish();
  });
  response.on('end', finish);
  response.on('error', finish);
  response.on('close', finish);
}

/** Removes control characters and card numbers, for the database and the delivery log. */
function readableText(bytes: Buffer): string | null {
  if (bytes.length === 0) return null;
  return maskCardNumbers(bytes.toString('utf8').replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '\ufffd'));
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, 300);
  const code = (error as NodeJS.ErrnoException).code;
  // If several addresses were tried, Node's own message is empty.
  const message = error instanceof AggregateError ? error.errors.map((each) => (each as Error).message).join('; ') : error.message;
  return (code === undefined || message.includes(code) ? message : `${code}: ${message}`).slice(0, 300);
}
