// The way of spans to their receiver: bounded whatever the receiver does, and the tracer's own bounds.
import { beforeEach, expect, it } from 'vitest';
import { createExporter, type Exporter } from '../../../src/wiring/traces/exporter.ts';
import { readTraceparent, writeTraceparent } from '../../../src/wiring/traces/traceparent.ts';
import { createTracer, type EndedSpan } from '../../../src/wiring/traces/tracer.ts';
import { type RecordingLogger, recordingLogger } from '../../support/quiet-logger.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

let clock: VirtualClock;
let logger: RecordingLogger;
let exporter: Exporter;
let named: number;
let status: number;
let bodies: string[];
let taken: string[];
beforeEach(() => {
  clock = createVirtualClock(0, { settle: 'microtasks' });
  logger = recordingLogger();
  [named, status, bodies, taken] = [0, 200, [], []];
  exporter = createExporter({ clock, logger, url: 'http://unused', token: undefined, resource: {}, post });
});

async function post(body: string, signal: AbortSignal): Promise<number> {
  bodies.push(body);
  if (status === 0) return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('given up'))));
  if (status === 200) taken.push(...JSON.parse(body).resourceSpans[0].scopeSpans[0].spans.map(({ name }: { name: string }) => name));
  return status;
}

function addSpans(count: number): void {
  for (let index = 0; index < count; index += 1) {
    const ids = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), parentSpanId: undefined };
    exporter.add({ ...ids, name: `span ${named++}`, kind: 'internal', startMs: 1, endMs: 2, attributes: {}, events: [], isFailed: false });
  }
}
const inOrder = (count: number) => Array.from({ length: count }, (_, index) => `span ${index}`);

it('sends spans together after a while, or as soon as there are many', async () => {
  addSpans(3);
  await clock.advance(1_999);
  expect(bodies).toHaveLength(0);
  await clock.advance(1);
  expect(taken).toEqual(inOrder(3));
  addSpans(512);
  await clock.settle();
  expect(taken).toEqual(inOrder(515));
  expect(clock.pending).toBe(0);
});

it.each([503, 0])('keeps a bounded number while the receiver fails (%s), loses none of those, and says so once', async (failing) => {
  status = failing;
  addSpans(512);
  await clock.settle();
  addSpans(20_000);
  await clock.advance(90_000);
  expect(bodies.length).toBeGreaterThan(2);
  expect(bodies.length).toBeLessThan(10);
  status = 200;
  await clock.advance(120_000);
  expect(taken).toEqual(inOrder(8_192));
  expect(logger.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
    'warn: spans do not reach their receiver; the gateway will retry',
    'info: spans reach their receiver again',
  ]);
  expect(logger.lines[1]?.fields).toEqual({ dropped: 512 + 20_000 - 8_192 });
});

it('drops what the receiver will never take, and goes on with the next', async () => {
  status = 400;
  addSpans(512);
  await clock.settle();
  status = 200;
  addSpans(1);
  await clock.advance(10_000);
  expect(taken).toEqual(['span 512']);
});

it('sends what is left when the gateway stops, and waits for that no longer than it may', async () => {
  addSpans(600);
  await exporter.stop();
  expect(taken).toEqual(inOrder(600));
  addSpans(1);
  await clock.advance(10_000);
  expect(bodies).toHaveLength(2);

  status = 0;
  exporter = createExporter({ clock, logger, url: 'http://unused', token: undefined, resource: {}, post });
  addSpans(1);
  let isOver = false;
  void exporter.stop().then(() => {
    isOver = true;
  });
  await clock.advance(2_999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  expect(isOver).toBe(true);
  expect(clock.pending).toBe(0);
});

it('bounds the spans of a trace, and lets none begin long after its end', async () => {
  const ended: EndedSpan[] = [];
  const tracer = createTracer({ clock, random: seededRandom(1), recordedPercent: 100, onEnd: (span) => void ended.push(span) });
  const root = tracer.begin({ name: 'root', kind: 'server' });
  tracer.within(root, () => {
    for (let index = 0; index < 2_000; index += 1) tracer.child({ name: 'child', kind: 'internal' })?.end();
  });
  root.end();
  root.end();
  expect(ended).toHaveLength(1_000);

  const other = tracer.begin({ name: 'other', kind: 'server' });
  other.end();
  const late = () => tracer.within(other, () => tracer.child({ name: 'late', kind: 'internal' }));
  expect(late()).toBeDefined();
  await clock.advance(60_001);
  expect(late()).toBeUndefined();
});

it('records so many of the traces that begin here, and those that a caller records', () => {
  const ended: EndedSpan[] = [];
  const tracer = createTracer({ clock, random: seededRandom(1), recordedPercent: 25, onEnd: (span) => void ended.push(span) });
  for (let index = 0; index < 1_000; index += 1) tracer.begin({ name: 'own', kind: 'server' }).end();
  expect(ended.length).toBeGreaterThan(200);
  expect(ended.length).toBeLessThan(300);
  const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };
  for (let index = 0; index < 10; index += 1) tracer.begin({ name: 'called', kind: 'server' }, parent).end();
  expect(ended.filter(({ name }) => name === 'called')).toHaveLength(10);
});

it('reads what the standard allows as a traceparent, and nothing else', () => {
  const context = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', isSampled: true };
  const line = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  expect(readTraceparent(line)).toEqual(context);
  expect(writeTraceparent(context)).toBe(line);
  // A later version may have more parts.
  expect(readTraceparent(`01${line.slice(2)}-what-comes`)).toEqual(context);
  const wrong = [undefined, '', `${line}-more`, line.toUpperCase(), `ff${line.slice(2)}`, line.replace(/0af\w+/, '0'.repeat(32))];
  for (const one of [...wrong, line.replace('b7ad6b7169203331', '0'.repeat(16)), `${line} `, [line]])
    expect(readTraceparent(one)).toBeUndefined();
});
