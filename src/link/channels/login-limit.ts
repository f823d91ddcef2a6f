// Rate limit of successful logins of one device, at the embedded broker and the built-in queue [D62]: without it, two machines with one secret
// would replace each other's connection endlessly. A burst, then one a second; wrong secrets are not counted here.
import type { Clock } from '../../kernel/clock.ts';
import { createRateLimiter, type RateLimiter } from '../../kernel/rate-limiter.ts';

const defaultLogins = 60;

export function createLoginLimit(clock: Clock, burst: number = defaultLogins): RateLimiter {
  return createRateLimiter({ clock, burst, perS: 1 });
}
