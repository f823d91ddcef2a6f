// The log interface of all rooms. pino implements it; tests may pass a silent one.

type Write = (fields: object, message: string) => void;

export interface Logger {
  debug: Write;
  info: Write;
  warn: Write;
  error: Write;
}
