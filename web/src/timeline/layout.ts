// Where each step of a timeline stands. Pure: steps in, positions out.
// A row is 38 px; the gap to the step before adds 4.2 px a second up to a minute; a longer one is cut and says how long it was.
import type { Lane, Step, UnclearSpan } from '../api/views.ts';

export const lanes: readonly Lane[] = ['erp', 'gateway', 'mqtt', 'queue', 'device', 'bank', 'person'];
export const timeWidth = 72;
export const laneWidth = 40;
export const rowHeight = 38;
export const pxPerS = 4.2;
const longestDrawnMs = 60_000;
/** Where everything is known, a long wait is cut sooner: it carries no information. */
const longestQuietMs = 45_000;
const cutHeight = 34;
const firstY = 16;
/** A gap smaller than this needs no words: the eye sees it. */
const quietGapMs = 4_000;

export interface PlacedStep {
  step: Step;
  y: number;
}

export interface Gap {
  y: number;
  ms: number;
  isCut: boolean;
  isUnclear: boolean;
}

export interface Span {
  top: number;
  bottom: number;
  isOpen: boolean;
}

export interface Bar extends Omit<Span, 'isOpen'> {
  lane: Lane;
}

export interface Layout {
  steps: PlacedStep[];
  gaps: Gap[];
  unclear: Span[];
  bars: Bar[];
  height: number;
}

export function laneX(lane: Lane): number {
  return timeWidth + laneWidth / 2 + laneWidth * lanes.indexOf(lane);
}

export function layOut(steps: readonly Step[], unclear: readonly UnclearSpan[], nowMs?: number): Layout {
  const placed: PlacedStep[] = [];
  const gaps: Gap[] = [];
  let y = firstY;
  for (const [index, step] of steps.entries()) {
    const before = steps[index - 1];
    if (before) {
      const gapMs = Math.max(0, step.sinceStartMs - before.sinceStartMs);
      const isUnclear = unclear.some(({ fromMs, toMs = Infinity }) => before.sinceStartMs >= fromMs && step.sinceStartMs <= toMs);
      const isCut = gapMs > (isUnclear ? longestDrawnMs : longestQuietMs);
      const gapPx = isCut ? cutHeight : (gapMs / 1000) * pxPerS;
      y += rowHeight + gapPx;
      if (isCut || gapMs >= quietGapMs) {
        gaps.push({
          // In the middle of the free room between the text of the one and the next.
          y: y - gapPx / 2 - (isCut ? 2 : 0),
          ms: gapMs,
          isCut,
          isUnclear,
        });
      }
    }
    placed.push({ step, y });
  }
  const last = placed.at(-1);
  const spans = unclear.map((span) => {
    const top = yAt(placed, span.fromMs);
    if (span.toMs !== undefined) return { top, bottom: yAt(placed, span.toMs), isOpen: false };
    const passedMs = nowMs === undefined ? 0 : Math.max(0, nowMs - (last?.step.sinceStartMs ?? 0));
    return { top, bottom: (last?.y ?? firstY) + rowHeight + (Math.min(passedMs, longestDrawnMs) / 1000) * pxPerS, isOpen: true };
  });
  const height = Math.max((last?.y ?? 0) + rowHeight + 6, ...spans.map(({ bottom }) => bottom + 12));
  return { steps: placed, gaps, unclear: spans, bars: barsOf(placed), height };
}

/** Between two steps the way is straight; before the first and after the last it stands still. */
function yAt(placed: readonly PlacedStep[], ms: number): number {
  const nextIndex = placed.findIndex(({ step }) => step.sinceStartMs >= ms);
  if (nextIndex === -1) return placed.at(-1)?.y ?? firstY;
  const next = placed[nextIndex];
  const before = placed[nextIndex - 1];
  if (!next) return firstY;
  if (!before || next.step.sinceStartMs === ms) return next.y;
  const share = (ms - before.step.sinceStartMs) / Math.max(1, next.step.sinceStartMs - before.step.sinceStartMs);
  return before.y + share * (next.y - before.y);
}

/** Who was busy or waiting: the ERP and the gateway until the answer, the device from its first message to its last before that. */
function barsOf(placed: readonly PlacedStep[]): Bar[] {
  const touches = (lane: Lane) => placed.filter(({ step }) => (step.from === lane || step.to === lane) && step.actor !== 'callback');
  const answered = placed.find(({ step }) => step.from === 'gateway' && step.to === 'erp' && step.actor !== 'callback');
  const bars: Bar[] = [];
  const add = (lane: Lane, top: number | undefined, bottom: number | undefined) => {
    if (top !== undefined && bottom !== undefined && bottom > top) bars.push({ lane, top, bottom });
  };
  const first = placed[0];
  if (first?.step.from === 'erp') {
    add('erp', first.y, (answered ?? placed.at(-1))?.y);
    add('gateway', first.y, (answered ?? placed.at(-1))?.y);
  }
  const ofDevice = touches('device').filter(({ step }) => step.isLost !== true || step.from === 'device');
  const started = ofDevice.find(({ step }) => step.from === 'device');
  const ended = ofDevice.filter(({ y }) => answered === undefined || y <= answered.y + 3 * rowHeight).at(-1);
  add('device', started?.y, ended?.y);
  return bars;
}
