// The options of a channel over an external broker.
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';

/** `Connect`: the function of the broker's library. */
export interface BrokerOptions<Connect> {
  /** With user and password: mqtt://, mqtts:// or, with a vhost, amqp://, amqps://. */
  url: string;
  gatewayId: string;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Instead of the package: for tests. */
  library?: () => Promise<{ connect: Connect }>;
}
