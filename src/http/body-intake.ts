// Bodies that are still coming [D62]. They take no slot for requests, and what they hold is bounded: so many of one address (over that
// its oldest is cut and the new one let in), and so many bytes in all (over that the slowest are cut). A body that is cut is answered
// 408 and its connection closed; the request has begun nothing.
import type { Readable } from 'node:stream';
import type { Clock } from '../kernel/clock.ts';
import type { GatewayError } from '../kernel/error-codes.ts';
import { protocolFailure } from './envelope.ts';

export interface IntakeOptions {
  clock: Clock;
  bodyBytes: number;
  bodiesPerAddress: number;
  bufferedBytes: number;
}

export interface BodyIntake {
  /** The whole body, or a failure for the caller. */
  read(address: string, payload: Readable, contentLength: number | undefined, maxBytes?: number): Promise<Buffer>;
  readonly unfinished: number;
  readonly bufferedBytes: number;
}

interface Unfinished {
  address: string;
  bytes: number;
  /** Bytes of the last seconds, fading; `fadedAtMs` is when it was last worked out. */
  recentBytes: number;
  fadedAtMs: number;
  end(outcome: GatewayError | Buffer): void;
}

const fadesWithinMs = 2_000;
/** A body that has just begun counts as quick, until it has had the time to show it. */
const creditBytes = 64 * 1024;
/** What an unfinished body costs besides its bytes. */
const overheadBytes = 2_048;
/** Cut down to this part of the bound, so that one look at all of them makes room for many. */
const cutDownTo = 0.9;

const mebibyte = 1024 * 1024;
const inWords = (bytes: number) => (bytes < mebibyte ? `${bytes / 1024} KiB` : `${bytes / mebibyte} MiB`);
const tooLarge = (maxBytes: number) => protocolFailure(413, `The body must not be larger than ${inWords(maxBytes)}.`);
const wrongLength = () => protocolFailure(400, 'The header Content-Length must be equal to the length of the body.');
const brokenOff = () => protocolFailure(400, 'The connection ended before the whole request had come.');
const tooMany = () =>
  protocolFailure(408, 'The body was still coming while newer requests of this address came in; it was cut, and nothing was begun.');
const tooSlow = () => protocolFailure(408, 'The body came too slowly while others needed the room; it was cut, and nothing was begun.');

export function createBodyIntake(options: IntakeOptions): BodyIntake {
  const { clock } = options;
  const byAddress = new Map<string, Set<Unfinished>>();
  let unfinished = 0;
  let bufferedBytes = 0;

  function recentBytesOf(body: Unfinished, nowMs: number): number {
    return body.recentBytes * Math.exp((body.fadedAtMs - nowMs) / fadesWithinMs);
  }

  function add(body: Unfinished): void {
    const ofAddress = byAddress.get(body.address) ?? new Set();
    byAddress.set(body.address, ofAddress);
    ofAddress.add(body);
    unfinished += 1;
    bufferedBytes += overheadBytes;
    const [oldest] = ofAddress;
    if (ofAddress.size > options.bodiesPerAddress) oldest?.end(tooMany());
    makeRoom();
  }

  function remove(body: Unfinished): void {
    const ofAddress = byAddress.get(body.address);
    if (!ofAddress?.delete(body)) return;
    if (ofAddress.size === 0) byAddress.delete(body.address);
    unfinished -= 1;
    bufferedBytes -= overheadBytes + body.bytes;
  }

  function grow(body: Unfinished, bytes: number): void {
    const nowMs = clock.elapsed();
    body.recentBytes = recentBytesOf(body, nowMs) + bytes;
    body.fadedAtMs = nowMs;
    body.bytes += bytes;
    bufferedBytes += bytes;
    makeRoom();
  }

  function makeRoom(): void {
    if (bufferedBytes <= options.bufferedBytes) return;
    const nowMs = clock.elapsed();
    const slowestFirst = [...byAddress.values()]
      .flatMap((bodies) => [...bodies])
      .map((body) => ({ body, recentBytes: recentBytesOf(body, nowMs) }))
      .sort((one, other) => one.recentBytes - other.recentBytes);
    for (const { body } of slowestFirst) {
      if (bufferedBytes <= options.bufferedBytes * cutDownTo) return;
      body.end(tooSlow());
    }
  }

  return {
    get unfinished() {
      return unfinished;
    },
    get bufferedBytes() {
      return bufferedBytes;
    },
    read(address, payload, contentLength, maxBytes = options.bodyBytes) {
      return new Promise((resolve, reject) => {
        if (contentLength !== undefined && contentLength > maxBytes) {
          reject(tooLarge(maxBytes));
          return;
        }
        const chunks: Buffer[] = [];
        const body: Unfinished = {
          address,
          bytes: 0,
          recentBytes: creditBytes,
          fadedAtMs: clock.elapsed(),
          end(outcome) {
            remove(body);
            payload.off('data', onData).off('end', onEnd).off('close', onClose);
            if (Buffer.isBuffer(outcome)) resolve(outcome);
            else {
              // What still comes is dropped, so that a client that writes on can read the answer.
              payload.resume();
              reject(outcome);
            }
          },
        };
        const onData = (chunk: Buffer) => {
          if (body.bytes + chunk.length > maxBytes) {
            body.end(tooLarge(maxBytes));
            return;
          }
          chunks.push(chunk);
          grow(body, chunk.length);
        };
        const onEnd = () => body.end(contentLength !== undefined && contentLength !== body.bytes ? wrongLength() : whole(chunks));
        const onClose = () => body.end(brokenOff());
        payload.on('data', onData).on('end', onEnd).on('close', onClose);
        // Stays for good: a connection may break after the body was cut.
        payload.on('error', onClose);
        add(body);
      });
    },
  };
}

/** Nearly every body comes in one piece. */
function whole(chunks: readonly Buffer[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only ? only : Buffer.concat(chunks);
}
