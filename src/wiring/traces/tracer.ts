// Spans. The current span is in Node's AsyncLocalStorage, so that no room has to pass it.
// Invariants: a span is reported once, when it ends; a trace that is not recorded costs no further work; the spans of a trace are bounded,
// and none begins long after the trace has ended (a timer started by a call may run for ever).

import { AsyncLocalStorage } from 'node:async_hooks';
import type { World } from '../../kernel/world.ts';
import type { TraceContext } from './traceparent.ts';

export type SpanKind = 'internal' | 'server' | 'client' | 'producer';
/** Must not contain a secret, a card number or text of a caller: see watched.ts. */
export type Attributes = Record<string, string | number | boolean | undefined>;

export interface SpanEvent {
  name: string;
  atMs: number;
  attributes: Attributes;
}

export interface EndedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  kind: SpanKind;
  startMs: number;
  endMs: number;
  attributes: Attributes;
  events: SpanEvent[];
  isFailed: boolean;
}

export interface Span {
  /** For outgoing calls. */
  readonly context: TraceContext;
  set(attributes: Attributes): void;
  event(name: string, attributes?: Attributes): void;
  fail(): void;
  /** A second call does nothing. */
  end(): void;
}

export interface Begun {
  name: string;
  kind: SpanKind;
  attributes?: Attributes;
}

export type Tracer = ReturnType<typeof createTracer>;

interface Deps extends Pick<World, 'clock' | 'random'> {
  /** Percentage of the traces that begin here. */
  recordedPercent: number;
  onEnd(span: EndedSpan): void;
}

/** Shared state of the spans of one trace on this instance. */
interface Trace {
  isRecorded: boolean;
  spansLeft: number;
  endedAt: number | undefined;
}

const maxSpansPerTrace = 1_000;
const maxEventsPerSpan = 64;
const afterEndMs = 60_000;

export function createTracer({ clock, random, recordedPercent, onEnd }: Deps) {
  const context = new AsyncLocalStorage<Span>();
  const traces = new WeakMap<Span, Trace>();
  const newId = (bytes: number) => Buffer.from(random.bytes(bytes)).toString('hex');

  function open({ name, kind, attributes = {} }: Begun, trace: Trace, traceId: string, parentSpanId: string | undefined): Span {
    const spanId = newId(8);
    const [startMs, startedAt] = [clock.now(), clock.elapsed()];
    const nowMs = () => startMs + clock.elapsed() - startedAt;
    const ended: Omit<EndedSpan, 'endMs'> = {
      traceId,
      spanId,
      parentSpanId,
      name,
      kind,
      startMs,
      attributes: { ...attributes },
      events: [],
      isFailed: false,
    };
    let isEnded = false;
    const span: Span = {
      context: { traceId, spanId, isSampled: trace.isRecorded },
      set: (more) => void Object.assign(ended.attributes, more),
      event(eventName, more = {}) {
        if (ended.events.length < maxEventsPerSpan) ended.events.push({ name: eventName, atMs: nowMs(), attributes: more });
      },
      fail() {
        ended.isFailed = true;
      },
      end() {
        if (isEnded) return;
        isEnded = true;
        if (trace.isRecorded) onEnd({ ...ended, endMs: nowMs() });
      },
    };
    traces.set(span, trace);
    return span;
  }

  return {
    /** The first span on this instance: continues the trace of `parent`, recorded if that one is; or begins a trace. */
    begin(begun: Begun, parent?: TraceContext): Span {
      const isRecorded = parent?.isSampled ?? random.fraction() * 100 < recordedPercent;
      const trace: Trace = { isRecorded, spansLeft: maxSpansPerTrace - 1, endedAt: undefined };
      const span = open(begun, trace, parent?.traceId ?? newId(16), parent?.spanId);
      const { end } = span;
      span.end = () => {
        trace.endedAt ??= clock.elapsed();
        end();
      };
      return span;
    },
    /** A child of the current span; undefined if there is none or it is not recorded. */
    child(begun: Begun): Span | undefined {
      const above = context.getStore();
      const trace = above && traces.get(above);
      if (above === undefined || trace === undefined || !trace.isRecorded || trace.spansLeft <= 0) return undefined;
      if (trace.endedAt !== undefined && clock.elapsed() - trace.endedAt > afterEndMs) return undefined;
      trace.spansLeft -= 1;
      return open(begun, trace, above.context.traceId, above.context.spanId);
    },
    /** Runs `work`, and everything it starts, within the span. */
    within: <Result>(span: Span, work: () => Result) => context.run(span, work),
    current: (): Span | undefined => context.getStore(),
  };
}
