// Bodies that are still arriving [D62]. They hold no request slot. Two bounds apply: a number per address (beyond it the oldest body of the
// address is cut for the new one) and the memory of all bodies (beyond it the slowest are cut). A request whose body is cut is answered 408
// and its connection is closed; the request has done nothing. A chunk of one byte costs as much memory as one of some hundred, and time:
// the memory counts the chunks, and a body may have only so many.
import type { Readable } from 'node:stream';
import { ByOwner } from '../kernel/by-owner.ts';
import type { Clock } from '../kernel/clock.ts';
import type { GatewayError } from '../kernel/error-codes.ts';
import { protocolFailure } from './envelope.ts';

export interface IntakeOptions {
  clock: Clock;
  bodyBytes: number;
  bodiesPerAddress: number;
  bufferedBytes: number;
}

interface BodyOptions {
  contentLength?: number | undefined;
  maxBytes?: number;
  /** Calls `read` when the body, which has arrived, may be read; until then it takes memory as before. */
  inTurn?: (bytes: number, read: () => void) => void;
}

interface Unfinished {
  /** The memory that it takes. */
  cost: number;
  /** Bytes of the last seconds, with exponential decay; last computed at `fadedAtMs`. */
  recentBytes: number;
  fadedAtMs: number;
  end(outcome: GatewayError | Buffer): void;
}

const atOnce = (_bytes: number, read: () => void) => read();

const fadesWithinMs = 2_000;
/** A new body counts as fast for its first seconds. */
const creditBytes = 64 * 1024;
/** Memory of an unfinished body besides its chunks, and of a chunk besides its bytes (measured: 0.5 KB). */
const overheadBytes = 2_048;
const chunkOverheadBytes = 512;
/** Many times more than a client needs that writes each name and value of a receipt by itself. */
const maxChunks = 10_000;
/** Bodies are cut down to this part of the bound, so that one scan makes room for many. */
const cutDownTo = 0.9;

const mebibyte = 1024 * 1024;
const inWords = (bytes: number) => (bytes < mebibyte ? `${bytes / 1024} KiB` : `${bytes / mebibyte} MiB`);
const tooLarge = (maxBytes: number) => protocolFailure(413, `The body must not be larger than ${inWords(maxBytes)}.`);
const tooManyChunks = () => protocolFailure(413, `The body must not arrive in more than ${maxChunks} chunks.`);
const wrongLength = () => protocolFailure(400, 'The header Content-Length must be equal to the length of the body.');
const brokenOff = () => protocolFailure(400, 'The connection ended before the whole request had arrived.');
const tooMany = () =>
  protocolFailure(408, 'The body was still arriving when newer requests of this address came in; the request was dropped and did nothing.');
const tooSlow = () =>
  protocolFailure(408, 'The body arrived too slowly while other requests needed the memory; the request was dropped and did nothing.');

export function createBodyIntake(options: IntakeOptions) {
  const { clock } = options;
  const bodies = new ByOwner<Unfinished>();
  let bufferedBytes = 0;

  function recentBytesOf(body: Unfinished, nowMs: number): number {
    return body.recentBytes * Math.exp((body.fadedAtMs - nowMs) / fadesWithinMs);
  }

  function add(address: string, body: Unfinished): void {
    bodies.add(address, body);
    bufferedBytes += overheadBytes;
    const [oldest] = bodies.of(address);
    if (bodies.of(address).size > options.bodiesPerAddress) oldest?.end(tooMany());
    makeRoom();
  }

  function remove(body: Unfinished): void {
    if (bodies.delete(body)) bufferedBytes -= overheadBytes + body.cost;
  }

  function grow(body: Unfinished, bytes: number): void {
    const nowMs = clock.elapsed();
    body.recentBytes = recentBytesOf(body, nowMs) + bytes;
    body.fadedAtMs = nowMs;
    body.cost += bytes + chunkOverheadBytes;
    bufferedBytes += bytes + chunkOverheadBytes;
    makeRoom();
  }

  function makeRoom(): void {
    if (bufferedBytes <= options.bufferedBytes) return;
    const nowMs = clock.elapsed();
    const slowestFirst = [...bodies.all()]
      .map((body) => ({ body, recentBytes: recentBytesOf(body, nowMs) }))
      .sort((one, other) => one.recentBytes - other.recentBytes);
    for (const { body } of slowestFirst) {
      if (bufferedBytes <= options.bufferedBytes * cutDownTo) return;
      body.end(tooSlow());
    }
  }

  return {
    get unfinished() {
      return bodies.size;
    },
    get bufferedBytes() {
      return bufferedBytes;
    },
    /** The whole body, or a failure for the caller. */
    read(
      address: string,
      payload: Readable,
      { contentLength, maxBytes = options.bodyBytes, inTurn = atOnce }: BodyOptions = {},
    ): Promise<Buffer> {
      return new Promise((resolve, reject) => {
        if (contentLength !== undefined && contentLength > maxBytes) {
          reject(tooLarge(maxBytes));
          return;
        }
        const chunks: Buffer[] = [];
        let length = 0;
        const body: Unfinished = {
          cost: 0,
          recentBytes: creditBytes,
          fadedAtMs: clock.elapsed(),
          end(outcome) {
            remove(body);
            stopReading();
            if (Buffer.isBuffer(outcome)) resolve(outcome);
            else {
              // The rest of the body is read and dropped, so that a client that is still writing can read the answer.
              payload.resume();
              reject(outcome);
            }
          },
        };
        const onData = (chunk: Buffer) => {
          length += chunk.length;
          if (length > maxBytes) return body.end(tooLarge(maxBytes));
          if (chunks.length === maxChunks) return body.end(tooManyChunks());
          chunks.push(chunk);
          grow(body, chunk.length);
        };
        const onEnd = () => {
          if (contentLength !== undefined && contentLength !== length) return body.end(wrongLength());
          stopReading();
          inTurn(length, () => body.end(whole(chunks)));
        };
        const onClose = () => body.end(brokenOff());
        const stopReading = () => payload.off('data', onData).off('end', onEnd).off('close', onClose);
        payload.on('data', onData).on('end', onEnd).on('close', onClose);
        // Never removed: the connection may break after the body was cut.
        payload.on('error', onClose);
        add(address, body);
      });
    },
  };
}

/** Nearly every body is a single chunk. */
function whole(chunks: readonly Buffer[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only ? only : Buffer.concat(chunks);
}
