// Loggers for tests: one that says nothing, and one that keeps what was said.
import type { Logger } from '../../src/kernel/logger.ts';

export const quietLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

export interface LogLine {
  level: keyof Logger;
  fields: object;
  message: string;
}

export interface RecordingLogger extends Logger {
  readonly lines: LogLine[];
}

export function recordingLogger(): RecordingLogger {
  const lines: LogLine[] = [];
  const write = (level: keyof Logger) => (fields: object, message: string) => {
    lines.push({ level, fields, message });
  };
  return { lines, debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
