// The operator's log, written by pino. Secrets that are logged by mistake are masked; of errors only the messages are logged.
// Callers and devices can put nothing into it that a terminal would obey, also where its strings are printed decoded.
import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { maskCardNumbers } from '../kernel/card-numbers.ts';
import { visibleJson } from '../kernel/visible-text.ts';

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

// No code should log these fields; this masks mistakes.
const secretFields: ReadonlySet<string> = new Set(['APIKey', 'apiKey', 'secret', 'password', 'token', 'adminToken', 'authorization']);

export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    serializers: { err: describeError },
    formatters: { log: maskSecrets },
    hooks: { streamWrite: visibleJson },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/**
 * Masks secret fields of a line, and of the objects in it. Not pino's `redact`: it copies every line twice, which was a fifth of all memory
 * that the gateway allocated.
 */
function maskSecrets(fields: Record<string, unknown>, depth = 1): Record<string, unknown> {
  let masked = fields;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    const shown = secretFields.has(name) ? '[secret]' : depth > 0 && isPlain(value) ? maskSecrets(value, depth - 1) : value;
    if (shown === value) continue;
    if (masked === fields) masked = { ...fields };
    masked[name] = shown;
  }
  return masked;
}

/** An error is written by `describeError`. */
function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Error);
}

/** The messages of an error and its causes. Other properties that drivers add (the connection, the failing row) may contain secrets. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return maskCardNumbers(String(error));
  const { type, message, stack } = stdSerializers.err(error);
  return { type, message: maskCardNumbers(message), code: (error as { code?: unknown }).code, stack: maskCardNumbers(stack ?? '') };
}
