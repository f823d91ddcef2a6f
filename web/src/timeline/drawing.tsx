// The drawing behind the words of a timeline: lanes, bars, arrows, rings, crosses, the hatched span, the cut.
import { useId } from 'react';
import { type Lane, wasLearnedLater } from '../api/views.ts';
import { type Layout, lanes, laneWidth, laneX, type PlacedStep, timeWidth } from './layout.ts';
import { type StepTone, toneOfStep } from './tones.ts';

const colours: Record<StepTone, string> = {
  plain: 'var(--accent)',
  ok: 'var(--ok)',
  warn: 'var(--warn-mark)',
  bad: 'var(--bad)',
  faint: 'var(--ink-3)',
};
const right = timeWidth + laneWidth * lanes.length;

export function Drawing({ layout }: { layout: Layout }) {
  const hatch = useId();
  const { height } = layout;
  return (
    <svg className="tl-drawing" width={right + 8} height={height} aria-hidden="true">
      <defs>
        <pattern id={hatch} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <path d="M0 0V6" stroke="var(--hatch)" strokeWidth="3.5" />
        </pattern>
      </defs>
      {lanes.map((lane) => (
        <path key={lane} d={`M${laneX(lane) + 0.5} 0V${height}`} stroke="var(--line)" />
      ))}
      {layout.bars.map((bar) => (
        <rect key={bar.lane} x={laneX(bar.lane) - 2} y={bar.top} width="5" height={bar.bottom - bar.top} rx="2.5" fill="var(--busy)" />
      ))}
      {layout.unclear.map((span) => (
        <g key={span.top}>
          <rect
            x={timeWidth + 4}
            y={span.top}
            width={right - timeWidth - 4}
            height={Math.max(0, span.bottom - span.top)}
            fill={`url(#${hatch})`}
          />
          <path
            d={`M${timeWidth + 4} ${span.top}H${right}${span.isOpen ? '' : `M${timeWidth + 4} ${span.bottom}H${right}`}`}
            stroke="var(--warn-mark)"
            strokeDasharray="2 3"
          />
        </g>
      ))}
      <LostChannels layout={layout} />
      {layout.gaps
        .filter((gap) => gap.isCut)
        .map((gap) => (
          <Cut key={gap.y} y={gap.y} />
        ))}
      {layout.steps.map((placed, index) => (
        <StepMark key={index} placed={placed} nextY={layout.steps[index + 1]?.y ?? placed.y + 30} />
      ))}
    </svg>
  );
}

/** A channel that broke stays dotted until something passes it again. */
function LostChannels({ layout }: { layout: Layout }) {
  const lines: { x: number; top: number; bottom: number }[] = [];
  for (const channel of ['mqtt', 'queue'] as const) {
    const lost = layout.steps.find(({ step }) => step.isLost && step.via === channel);
    if (!lost) continue;
    const back = layout.steps.find(({ step, y }) => y > lost.y && step.via === channel && !step.isLost);
    lines.push({ x: laneX(channel) + 0.5, top: lost.y, bottom: back?.y ?? layout.unclear[0]?.bottom ?? lost.y + 40 });
  }
  return lines.map((line) => (
    <path key={line.x} d={`M${line.x} ${line.top}V${line.bottom}`} stroke="var(--warn-mark)" strokeWidth="1.5" strokeDasharray="1.5 4" />
  ));
}

function Cut({ y }: { y: number }) {
  const zigzag = (offset: number) => {
    let path = `M${timeWidth + 4} ${y + offset}`;
    for (let x = timeWidth + 4, isUp = true; x < right; x += 6, isUp = !isUp) path += `l6 ${isUp ? -4 : 4}`;
    return path;
  };
  return (
    <g>
      <rect x={timeWidth + 2} y={y - 7} width={right - timeWidth} height="12" fill="var(--surface)" />
      <path d={`${zigzag(-2)}${zigzag(5)}`} fill="none" stroke="var(--ghost)" />
    </g>
  );
}

function StepMark({ placed: { step, y }, nextY }: { placed: PlacedStep; nextY: number }) {
  const tone = toneOfStep(step);
  const colour = step.isMoney && tone === 'plain' ? 'var(--ink)' : colours[tone];
  const own: Lane = step.from ?? (step.actor === 'callback' ? 'gateway' : step.actor);
  if (step.kind.startsWith('settled') && step.to === undefined) return <Tick x={laneX(own)} y={y} colour={colour} />;
  if (step.to === undefined || step.to === own) {
    if (step.isLost) return <Cross x={laneX(step.via ?? own)} y={y} colour={colour} />;
    return !wasLearnedLater(step) ? (
      <circle cx={laneX(own)} cy={y} r={step.isMoney ? 4.5 : 3.5} fill={colour} />
    ) : (
      <Learned x={laneX(own)} y={y} />
    );
  }
  const fromX = laneX(own);
  const toX = laneX(step.to);
  const viaX = step.via === undefined ? undefined : laneX(step.via);
  const endX = step.isLost ? (viaX ?? toX) : toX;
  const dashes = tone === 'faint' || (step.repeats ?? 1) > 1 ? { strokeDasharray: '3 3' } : {};
  const isFinal = tone === 'ok' && step.actor === 'callback';
  return (
    <g className="tl-mark">
      <path d={`M${fromX} ${y}H${endX + (endX > fromX ? -5 : 5)}`} stroke={colour} strokeWidth={step.isMoney ? 2.25 : 1.5} {...dashes} />
      <circle cx={fromX} cy={y} r={step.isMoney ? 4.5 : 3.25} fill={colour} />
      {viaX !== undefined && !step.isLost && <circle cx={viaX} cy={y} r="3" fill="var(--surface)" stroke={colour} strokeWidth="1.5" />}
      {step.isLost ? (
        <Cross x={endX} y={y} colour={colour} />
      ) : isFinal ? (
        <Tick x={endX} y={y} colour={colour} />
      ) : step.to === 'mqtt' || step.to === 'queue' ? (
        <circle cx={endX} cy={y} r="3" fill="var(--surface)" stroke={colour} strokeWidth="1.5" />
      ) : !wasLearnedLater(step) ? (
        <Head x={endX} y={y} isRight={endX > fromX} colour={colour} />
      ) : (
        <Learned x={endX} y={y} />
      )}
      <Repeats fromX={fromX} toX={viaX ?? toX} y={y} nextY={nextY} count={step.repeats ?? 1} colour={colour} />
    </g>
  );
}

function Repeats({
  fromX,
  toX,
  y,
  nextY,
  count,
  colour,
}: {
  fromX: number;
  toX: number;
  y: number;
  nextY: number;
  count: number;
  colour: string;
}) {
  const drawn = Math.min(count - 1, 5, Math.floor((nextY - y - 10) / 9));
  const gap = (nextY - y) / (drawn + 1);
  return Array.from({ length: Math.max(0, drawn) }, (_, index) => (
    <g key={index} opacity="0.75">
      <path d={`M${fromX} ${y + gap * (index + 1)}H${toX}`} stroke={colour} strokeDasharray="3 3" />
      <circle cx={toX} cy={y + gap * (index + 1)} r="2" fill="var(--surface)" stroke={colour} />
    </g>
  ));
}

function Head({ x, y, isRight, colour }: { x: number; y: number; isRight: boolean; colour: string }) {
  return <path d={isRight ? `M${x - 8} ${y - 4}l7 4-7 4z` : `M${x + 8} ${y - 4}l-7 4 7 4z`} fill={colour} />;
}

function Cross({ x, y, colour }: { x: number; y: number; colour: string }) {
  return (
    <g>
      <circle cx={x} cy={y} r="6.5" fill="var(--surface)" stroke={colour} strokeWidth="1.5" />
      <path d={`M${x - 2.5} ${y - 2.5}l5 5m0-5-5 5`} stroke={colour} strokeWidth="1.5" strokeLinecap="round" />
    </g>
  );
}

function Tick({ x, y, colour }: { x: number; y: number; colour: string }) {
  return (
    <g>
      <circle cx={x} cy={y} r="8" fill={colour} />
      <path
        d={`M${x - 3.5} ${y + 0.3}l2.4 2.4 4.6-5`}
        fill="none"
        stroke="var(--surface)"
        strokeWidth="1.75"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </g>
  );
}

function Learned({ x, y }: { x: number; y: number }) {
  return (
    <g>
      <circle cx={x} cy={y} r="6.5" fill="var(--surface)" stroke="var(--ink)" strokeWidth="2" />
      <circle cx={x} cy={y} r="2.25" fill="var(--ink)" />
    </g>
  );
}
