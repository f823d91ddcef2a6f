// Steps that write their audit entry before they send anything: a refused one leaves an entry, too. One user could fill the audit log with
// them, so refused steps of a user are bounded; steps that were executed, or whose outcome is open, do not count. Operators are not bounded.
import type { FastifyRequest } from 'fastify';
import { viewerOf } from '../../http/viewer.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type ErrorName, GatewayError } from '../../kernel/error-codes.ts';
import { createRateLimiter } from '../../kernel/rate-limiter.ts';

const refusedSteps = { burst: 30, perS: 1 / 120 };
/** Of one user: those that are still running may be refused as well. */
const maxStepsAtOnce = 8;
const notRefused: readonly ErrorName[] = ['Timeout_or_no_response', 'Error_Connection_Database', 'Internal_error'];

export type StepBound = ReturnType<typeof createStepBound>;

export function createStepBound(clock: Clock) {
  const refused = createRateLimiter({ clock, ...refusedSteps });
  const running = new Map<string, number>();

  return async function bounded<Result>(request: FastifyRequest, step: () => Promise<Result>): Promise<Result> {
    const { role, userId } = viewerOf(request);
    if (role === 'operator' || userId === undefined) return step();
    const count = running.get(userId) ?? 0;
    const retryAfterS = refused.peek(userId) ?? (count < maxStepsAtOnce ? undefined : 1);
    if (retryAfterS !== undefined) {
      throw new GatewayError('Too_Many_Requests', 'Too many of your steps were refused or are running; wait a little.', { retryAfterS });
    }
    running.set(userId, count + 1);
    try {
      return await step();
    } catch (error) {
      if (error instanceof GatewayError && !notRefused.includes(error.errorName)) refused.take(userId);
      throw error;
    } finally {
      const left = (running.get(userId) ?? 1) - 1;
      if (left === 0) running.delete(userId);
      else running.set(userId, left);
    }
  };
}
