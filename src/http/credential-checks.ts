// Requests whose credential is being looked up [D62]. They hold no slot, so that a flood of wrong credentials takes none. Their number is
// bounded: one more refuses the request that has waited longest. A recently valid key is cached and therefore not affected.
// Invariant: each request gets exactly one outcome.
import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../kernel/error-codes.ts';

export type Next = (error?: Error) => void;

export function createCredentialChecks(max: number) {
  /** Oldest first. */
  const waiting = new Map<FastifyRequest, Next>();

  function refuseOldest(): void {
    for (const [request, next] of waiting) {
      waiting.delete(request);
      next(new GatewayError('Too_Many_Requests', 'Too many credentials are being looked up.', { retryAfterS: 1 }));
      return;
    }
  }

  function judge(request: FastifyRequest, judgement: Promise<void>, next: Next): void {
    if (waiting.size >= max) refuseOldest();
    waiting.set(request, next);
    judgement.then(
      () => {
        if (waiting.delete(request)) next();
      },
      (error: Error) => {
        if (waiting.delete(request)) next(error);
      },
    );
  }

  return {
    judge,
    /** The same as a promise. */
    judged: (request: FastifyRequest, judgement: Promise<void>) =>
      new Promise<void>((resolve, reject) => {
        judge(request, judgement, (error) => (error === undefined ? resolve() : reject(error)));
      }),
  };
}
