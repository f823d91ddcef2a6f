// Large bodies are expensive to parse [D160]: they need a valid credential, which is searched for before parsing.
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../kernel/callers.ts';
import { GatewayError } from '../kernel/error-codes.ts';

/** A body up to this size is cheap to parse, whatever it contains. A larger one needs a valid credential first. */
export const maxAnonymousBodyBytes = 4 * 1024;

/** The credential that was found before the body was parsed. */
export interface EarlyVerdict {
  key?: string;
  caller?: Caller;
}

/** A key as JSON libraries write it: they escape no character of the name or of a UUID. */
const keyFields = /"APIKey"\s*:\s*"([0-9a-f-]{36})"/gi;
/** The name may also occur in nested objects, where it is no credential. */
const maxKeyFields = 3;

/** The first valid key in the header or the body; parsing decides later which of them counts. `judge` throws on an invalid key. */
export async function findGoodKey(
  request: FastifyRequest,
  body: Buffer,
  judge: (presented: string) => Promise<Caller>,
): Promise<EarlyVerdict> {
  const inBody = body
    .toString('latin1')
    .matchAll(keyFields)
    .take(maxKeyFields)
    .map(([, key = '']) => key);
  let failure = new GatewayError('Invalid_API_Key', 'APIKey is missing.');
  for (const presented of new Set([...[request.headers['x-api-key'] ?? []].flat(), ...inBody])) {
    try {
      return { key: presented.toLowerCase(), caller: await judge(presented) };
    } catch (error) {
      if (!(error instanceof GatewayError) || error.errorName !== 'Invalid_API_Key') throw error;
      failure = error;
    }
  }
  throw failure;
}
