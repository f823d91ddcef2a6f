// The header traceparent of W3C Trace Context.

export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  /** The originator of the trace requests recording. */
  isSampled: boolean;
}

const pattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.{0,400})?$/;

/** undefined if the text is invalid: then a new trace begins, as the standard requires. */
export function readTraceparent(line: unknown): TraceContext | undefined {
  if (typeof line !== 'string') return undefined;
  const [, traceId, spanId, flags] = pattern.exec(line) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  // Version 00 has exactly four parts.
  if (line.startsWith('00') && line.length !== 55) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function writeTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
