// A database outage in the log: one line when it begins, one per minute while it lasts, one when it is over. Other lines about it, with
// their stack traces, go to debug meanwhile.
// A single line about a failing database is no outage yet (one connection may be lost, one statement be slow): a write is tried, and only
// if that fails, the outage begins; otherwise the line is written unchanged.
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { DatabaseBusy, isDatabaseDown } from './errors.ts';

const checkEveryMs = 1_000;
const sayEveryMs = 60_000;

type Level = 'warn' | 'error';

export function createOutageLog({ logger, clock }: { logger: Logger; clock: Clock }) {
  let canWrite: (() => Promise<void>) | undefined;
  /** On clock.elapsed(). */
  let suspectedSinceMs: number | undefined;
  let isAway = false;
  let linesLeftOut = 0;
  let saidAtMs = 0;
  let endPause = () => {};

  async function follow(fields: object, message: string, level: Level): Promise<void> {
    const sinceMs = clock.elapsed();
    suspectedSinceMs = sinceMs;
    for (;;) {
      const reason = await whyNotWritten();
      if (reason === undefined) break;
      say(sinceMs, reason);
      await new Promise<void>((resolve) => {
        const cancel = clock.after(checkEveryMs, resolve);
        endPause = () => {
          cancel();
          resolve();
        };
      });
    }
    if (canWrite === undefined) return;
    if (isAway) logger.info({ awayMs: Math.round(clock.elapsed() - sinceMs), linesLeftOut }, 'the database is back');
    else logger[level](fields, message);
    suspectedSinceMs = undefined;
    isAway = false;
    linesLeftOut = 0;
  }

  /** Undefined: it can be written, or the log is stopped. */
  async function whyNotWritten(): Promise<string | undefined> {
    try {
      await canWrite?.();
      return undefined;
    } catch (error) {
      return canWrite === undefined ? undefined : reasonOf(error);
    }
  }

  function say(sinceMs: number, reason: string): void {
    const nowMs = clock.elapsed();
    const awayMs = Math.round(nowMs - sinceMs);
    if (!isAway) logger.error({ reason }, 'the database is down; calls that need it are answered 2 or 3');
    else if (nowMs - saidAtMs >= sayEveryMs) logger.warn({ reason, awayMs, linesLeftOut }, 'the database is still down');
    else return;
    isAway = true;
    saidAtMs = nowMs;
  }

  const write = (level: Level) => (fields: object, message: string) => {
    if (canWrite === undefined || !isOfOutage(fields)) return logger[level](fields, message);
    logger.debug(fields, message);
    if (suspectedSinceMs !== undefined) linesLeftOut += 1;
    else void follow(fields, message, level);
  };

  const watched: Logger = {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: write('warn'),
    error: write('error'),
  };

  return {
    /** The logger for all parts of the gateway. */
    logger: watched,
    /** Sets the check whether the database can be written; before that, every line is written unchanged. */
    watch(check: () => Promise<void>): void {
      canWrite = check;
    },
    stop(): void {
      canWrite = undefined;
      endPause();
    },
  };
}

/** By the logged error, or by the errorCode of a call. */
function isOfOutage(fields: object): boolean {
  const { err, errorCode } = fields as { err?: unknown; errorCode?: unknown };
  return errorCode === 2 || (isDatabaseDown(err) && !(err instanceof DatabaseBusy));
}

/** Includes the driver's message: the operator needs the address, which API callers must not see. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== '' ? `${message} ${cause.message}` : message;
}
