// One HTTP request and what came of it. Always holds: `notSent` is said only when no byte of the request left, because every request has a
// connection of its own and is written when that stands; whatever breaks later is `lost`. No redirect is followed.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';

export interface HttpRequest {
  method: 'GET' | 'POST';
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
  timeoutMs: number;
}

export interface Envelope {
  errorCode: number;
  errorMessage: string;
  report?: string;
  OID?: string;
  Operation?: string;
  [field: string]: unknown;
}

export type Heard =
  | { kind: 'answer'; status: number; retryAfterMs: number; body: Envelope }
  /** Somebody answered who is not Tillgate. */
  | { kind: 'foreign'; status: number; why: string }
  | { kind: 'notSent'; why: string }
  | { kind: 'lost'; why: string };

const maxAnswerBytes = 8 * 1024 * 1024;
const connectTimeoutMs = 10_000;
const maxRetryAfterS = 60;

/** `ca`: certificates to trust instead of the system's, as PEM. */
export function createTransport(options: { ca?: string | undefined }): (request: HttpRequest) => Promise<Heard> {
  return (request) =>
    new Promise((resolve) => {
      let isConnected = false;
      let timer: ReturnType<typeof setTimeout>;
      const end = (heard: Heard) => {
        clearTimeout(timer);
        resolve(heard);
        outgoing.destroy();
      };
      const broke = (why: string) => end({ kind: isConnected ? 'lost' : 'notSent', why });
      const isTls = request.url.startsWith('https:');
      const outgoing = (isTls ? httpsRequest : httpRequest)(request.url, {
        method: request.method,
        headers: { ...request.headers, connection: 'close' },
        agent: false,
        ...(isTls && options.ca !== undefined ? { ca: options.ca } : {}),
      });
      timer = setTimeout(() => broke('no connection in time'), Math.min(connectTimeoutMs, request.timeoutMs));
      outgoing.on('socket', (socket: Socket) => {
        socket.once(isTls ? 'secureConnect' : 'connect', () => {
          isConnected = true;
          clearTimeout(timer);
          timer = setTimeout(() => broke('no answer in time'), request.timeoutMs);
        });
      });
      outgoing.on('error', (error) => broke(error.message));
      outgoing.on('response', (response) => readAnswer(response, end, broke));
      outgoing.end(request.body);
    });
}

function readAnswer(response: IncomingMessage, end: (heard: Heard) => void, broke: (why: string) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > maxAnswerBytes) broke('the answer is too large');
  });
  response.on('error', (error) => broke(error.message));
  response.on('aborted', () => broke('the answer broke off'));
  response.on('end', () => {
    const status = response.statusCode ?? 0;
    const body = parseEnvelope(Buffer.concat(chunks).toString('utf8'));
    if (!body) end({ kind: 'foreign', status, why: `HTTP ${status} without errorCode; this was not Tillgate` });
    else end({ kind: 'answer', status, retryAfterMs: readRetryAfterMs(response.headers['retry-after']), body });
  });
}

function parseEnvelope(text: string): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const { errorCode, errorMessage } = (value ?? {}) as Partial<Envelope>;
    return Number.isInteger(errorCode) && typeof errorMessage === 'string' ? (value as Envelope) : undefined;
  } catch {
    return undefined;
  }
}

function readRetryAfterMs(header: string | undefined): number {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Math.min(Number(header), maxRetryAfterS) * 1000 : 0;
}
