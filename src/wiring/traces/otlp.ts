// Spans as OTLP/HTTP with JSON, which every collector accepts: https://opentelemetry.io/docs/specs/otlp/
import type { Attributes, EndedSpan, SpanKind } from './tracer.ts';

const kinds: Record<SpanKind, number> = { internal: 1, server: 2, client: 3, producer: 4 };
const failed = { code: 2 };
const maxTextLength = 1_000;

/** One body for many spans. */
export function writeSpans(spans: readonly EndedSpan[], resource: Attributes): string {
  const scope = { name: 'tillgate', version: String(resource['service.version'] ?? '') };
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: writeAttributes(resource) }, scopeSpans: [{ scope, spans: spans.map(writeSpan) }] }],
  });
}

function writeSpan(span: EndedSpan) {
  const { traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, events, isFailed } = span;
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)),
    attributes: writeAttributes(attributes),
    ...(events.length === 0
      ? {}
      : {
          events: events.map((event) => ({
            timeUnixNano: nanoseconds(event.atMs),
            name: event.name,
            attributes: writeAttributes(event.attributes),
          })),
        }),
    status: isFailed ? failed : {},
  };
}

function writeAttributes(attributes: Attributes) {
  return Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: writeValue(value) }]));
}

/** 64-bit integers are strings in this JSON. */
function writeValue(value: string | number | boolean) {
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'string') return { stringValue: value.slice(0, maxTextLength) };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Nanoseconds exceed the precision of a number: microseconds, with three zeros appended. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1_000)}000`;
}
