// How much the HTTP server accepts from a caller, and for how long [D62].
import type { JsonCaps } from './json-body.ts';

export interface HttpLimits {
  bodyBytes: number;
  json: JsonCaps;
  /** All headers must be in by then, and the whole request. Neither bounds how long an answer may take. */
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  keepAliveTimeoutMs: number;
  /** A client that does not read its answer is cut after this long without progress. */
  stalledAnswerMs: number;
  checkIntervalMs: number;
  /** Slots for requests whose body is in, and the part of them that one merchant or address may take for itself. */
  requestsInFlight: number;
  merchantSharePercent: number;
  connections: number;
  /** Of one address: connections that have not logged in, and bodies that are still coming. */
  newcomersPerAddress: number;
  bodiesPerAddress: number;
  /** Bytes of all bodies that are still coming. */
  bufferedBytes: number;
}

export const defaultLimits: HttpLimits = {
  bodyBytes: 1024 * 1024,
  json: { deepest: 32, maxValues: 50_000 },
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  stalledAnswerMs: 60_000,
  checkIntervalMs: 500,
  requestsInFlight: 5_000,
  merchantSharePercent: 50,
  connections: 20_000,
  newcomersPerAddress: 500,
  bodiesPerAddress: 500,
  bufferedBytes: 64 * 1024 * 1024,
};
