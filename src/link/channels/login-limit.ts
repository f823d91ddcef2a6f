// How often one device may log in with its right secret, at the embedded broker and at the built-in queue alike [D62]: two machines with one
// secret would otherwise replace each other without end. So many at once, then one a second; a wrong secret is not counted here.
import type { Clock } from '../../kernel/clock.ts';
import { createRateLimiter, type RateLimiter } from '../../kernel/rate-limiter.ts';

const defaultLogins = 60;

export function createLoginLimit(clock: Clock, burst: number = defaultLogins): RateLimiter {
  return createRateLimiter({ clock, burst, perS: 1 });
}
