// Limits of the HTTP server on sizes, times and numbers [D62].
import type { JsonCaps } from './json-body.ts';

export interface HttpLimits {
  bodyBytes: number;
  json: JsonCaps;
  /** Time for all headers, and for the whole request, to arrive. Neither bounds the time of the answer. */
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  keepAliveTimeoutMs: number;
  /** A client that does not read its answer is disconnected after this long without progress. */
  stalledAnswerMs: number;
  checkIntervalMs: number;
  /** Slots for requests whose body has arrived, and the share of one merchant or address. */
  requestsInFlight: number;
  merchantSharePercent: number;
  connections: number;
  /** Per address: connections that have not logged in, and bodies that are still arriving. */
  unauthenticatedPerAddress: number;
  bodiesPerAddress: number;
  /** Bytes of all bodies that are still arriving. */
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
  unauthenticatedPerAddress: 500,
  bodiesPerAddress: 500,
  bufferedBytes: 64 * 1024 * 1024,
};
