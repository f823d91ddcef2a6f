// The operator's log, written by pino. Secrets that are logged by mistake are masked; of errors only the messages are logged.
import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { maskCardNumbers } from '../kernel/card-numbers.ts';

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

// No code should log these fields; this masks mistakes.
const secretPaths = ['APIKey', 'apiKey', 'secret', 'password', 'token', 'adminToken', 'authorization'];

export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    serializers: { err: describeError },
    redact: { paths: [...secretPaths, ...secretPaths.map((path) => `*.${path}`)], censor: '[secret]' },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** The messages of an error and its causes. Other properties that drivers add (the connection, the failing row) may contain secrets. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return maskCardNumbers(String(error));
  const { type, message, stack } = stdSerializers.err(error);
  return { type, message: maskCardNumbers(message), code: (error as { code?: unknown }).code, stack: maskCardNumbers(stack ?? '') };
}
