// Bodies that cost something to parse [D160]: only a caller with a good credential may send them, and it is looked for without parsing.
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../kernel/callers.ts';
import { GatewayError } from '../kernel/error-codes.ts';

/** A body of so many bytes costs next to nothing to parse, whatever it holds; a larger one needs a good credential first. */
export const maxAnonymousBodyBytes = 4 * 1024;

/** What a credential was found to be before the body was parsed. */
export interface EarlyVerdict {
  key?: string;
  caller?: Caller;
}

/** A key as any ERP's JSON library writes it: no letter of the name or of a UUID is ever escaped. */
const keyFields = /"APIKey"\s*:\s*"([0-9a-f-]{36})"/gi;
/** The name may also stand further in, where it is no credential. */
const maxKeyFields = 3;

/** The first good key of the header or the body: which of them counts is known when the body is parsed. `judge` throws on a bad one. */
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
