// Log of broker failures: one warning with the reason when the failure begins, and one a minute while it lasts. Each failed attempt, with its
// stack trace, is logged at debug, because the gateway retries every few seconds.
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { systemSentence } from '../../kernel/system-errors.ts';
import type { ChannelName } from '../channel.ts';

export type TroubleLog = ReturnType<typeof createTroubleLog>;

const sayEveryMs = 60_000;

export function createTroubleLog({ logger, clock }: { logger: Logger; clock: Clock }, channel: ChannelName) {
  /** By clock.elapsed(). */
  let sinceMs: number | undefined;
  let saidAtMs = 0;
  let linesLeftOut = 0;
  return {
    note(error: unknown, sentence: string): void {
      logger.debug({ err: error, channel }, sentence);
      const nowMs = clock.elapsed();
      if (sinceMs !== undefined && nowMs - saidAtMs < sayEveryMs) {
        linesLeftOut += 1;
        return;
      }
      const reason = systemSentence(error) ?? (error instanceof Error ? error.message : String(error));
      const lasting = sinceMs === undefined ? {} : { awayMs: Math.round(nowMs - sinceMs), linesLeftOut };
      logger.warn({ channel, reason, ...lasting }, sentence);
      sinceMs ??= nowMs;
      saidAtMs = nowMs;
      linesLeftOut = 0;
    },
    /** The channel is connected: the next failure is a new one. */
    over(): void {
      sinceMs = undefined;
      linesLeftOut = 0;
    },
  };
}
