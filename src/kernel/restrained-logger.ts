// A rate-limited logger for events that unauthenticated clients can cause: a bounded number of lines per minute; the next line after that
// has the number of omitted ones. Otherwise a client could fill the disk by connecting often, and hide its other actions among those lines.
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';

export function restrainLogger(logger: Logger, clock: Clock, linesPerMinute = 20): Logger {
  let minuteBeganMs = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let leftOut = 0;
  const write = (level: keyof Logger) => (fields: object, message: string) => {
    const nowMs = clock.elapsed();
    if (nowMs - minuteBeganMs >= 60_000) {
      minuteBeganMs = nowMs;
      lines = 0;
    }
    lines += 1;
    if (lines > linesPerMinute) {
      leftOut += 1;
      return;
    }
    logger[level](leftOut === 0 ? fields : { ...fields, linesLeftOut: leftOut }, message);
    leftOut = 0;
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
