// What a room may say to the operator. pino fits this shape; tests may pass a quiet one.

type Write = (fields: object, message: string) => void;

export interface Logger {
  debug: Write;
  info: Write;
  warn: Write;
  error: Write;
}
