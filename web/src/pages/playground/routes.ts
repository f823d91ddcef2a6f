// Where the lines of the stage run, from the places of the things that they join. Three forms: side by side, the register below,
// everything in one column. Pure: places in, paths out.
import type { LineName } from './round.ts';

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export type Form = 'wide' | 'middle' | 'stacked';
export type Anchor = 'left' | 'centre' | 'right';

export interface Spot {
  x: number;
  y: number;
  anchor: Anchor;
}

export interface Route {
  /** From the gateway outwards; on the till's lines from till to gateway. */
  path: string;
  out: Spot;
  back: Spot;
  cross: Spot;
  /** Where it is said that something was lost. */
  lost: Spot;
  label: Spot;
}

export interface Places {
  width: number;
  till: Box;
  gateway: Box;
  terminal: Box;
  register: Box;
  /** The roll above the register. */
  paper: Box;
}

type Point = readonly [x: number, y: number];

const cornerPx = 12;
const padPx = 12;
/** Two messages and a cross between them. */
const shortPx = 212;

export function formOf(widthPx: number): Form {
  return widthPx >= 1020 ? 'wide' : widthPx >= 728 ? 'middle' : 'stacked';
}

export function routesOf(form: Form, places: Places): Record<LineName, Route> {
  return form === 'stacked' ? stacked(places) : { ...sideBySide(places), ...(form === 'wide' ? overTheTop(places) : below(places)) };
}

function sideBySide({ till, gateway, terminal }: Places): Record<'ask' | 'tell' | 'terminal.mqtt' | 'terminal.queue', Route> {
  const at = (share: number) => Math.round(gateway.top + (gateway.bottom - gateway.top) * share);
  /** `side`: on which side of the line its name stands. */
  const level = (from: number, to: number, y: number, side: -1 | 1): Route => {
    // Where two messages do not fit beside each other, they stand above and below.
    const isShort = to - from < shortPx;
    const away = isShort ? padPx + 1 : 0;
    return {
      path: pathOf([
        [from, y],
        [to, y],
      ]),
      out: { x: from + padPx, y: y - away, anchor: 'left' },
      back: { x: to - padPx, y: y + away, anchor: 'right' },
      cross: isShort ? { x: to - padPx - 8, y: y - away, anchor: 'centre' } : { x: (from + to) / 2, y, anchor: 'centre' },
      lost: isShort ? { x: to - padPx, y: y + (side < 0 ? 37 : 56), anchor: 'right' } : { x: (from + to) / 2, y: y + 26, anchor: 'centre' },
      label: { x: from + padPx, y: y + side * (26 + away), anchor: 'left' },
    };
  };
  const centred = (route: Route, y: number, labelY: number): Route => {
    const middle: Spot = { x: (till.right + gateway.left) / 2, y, anchor: 'centre' };
    return { ...route, out: middle, back: middle, label: { ...middle, y: labelY } };
  };
  const [askY, tellY, mqttY, queueY] = [at(0.34), at(0.62), at(0.27), at(0.73)];
  return {
    ask: centred(level(till.right, gateway.left, askY, -1), askY, askY - 26),
    tell: centred(level(till.right, gateway.left, tellY, 1), tellY, tellY + 26),
    'terminal.mqtt': level(gateway.right, terminal.left, mqttY, -1),
    'terminal.queue': level(gateway.right, terminal.left, queueY, 1),
  };
}

/** The register stands on the right: its lines leave the gateway at the top and come down beside the terminal. */
function overTheTop({ gateway, terminal, register }: Places): Record<'register.mqtt' | 'register.queue', Route> {
  const middle = (gateway.left + gateway.right) / 2;
  const between = (share: number) => Math.round(terminal.right + (register.left - terminal.right) * share);
  const line = (x: number, y: number, turnX: number, endY: number): Route => ({
    path: pathOf([
      [x, gateway.top],
      [x, y],
      [turnX, y],
      [turnX, endY],
      [register.left, endY],
    ]),
    out: { x: middle + 48, y, anchor: 'left' },
    back: { x: turnX - 24, y, anchor: 'right' },
    cross: { x: (middle + turnX) / 2 + 40, y, anchor: 'centre' },
    lost: { x: (middle + turnX) / 2 + 56, y, anchor: 'left' },
    label: { x: middle - 28, y, anchor: 'right' },
  });
  return {
    'register.mqtt': line(middle - 12, 24, between(0.66), register.top + 20),
    'register.queue': line(middle + 12, 54, between(0.33), register.top + 46),
  };
}

/** The register stands below: its lines leave the gateway at the bottom. */
function below({ gateway, register }: Places): Record<'register.mqtt' | 'register.queue', Route> {
  const middle = (gateway.left + gateway.right) / 2;
  const line = (x: number, y: number, shift: number, labelY: number): Route => ({
    path: pathOf([
      [x, gateway.bottom],
      [x, y],
      [register.left, y],
    ]),
    out: { x: x + shift, y: gateway.bottom + 56, anchor: shift < 0 ? 'right' : 'left' },
    back: { x: register.left - padPx, y, anchor: 'right' },
    cross: { x, y: y - 60, anchor: 'centre' },
    lost: { x: x + shift * 1.6, y: y - 60, anchor: shift < 0 ? 'right' : 'left' },
    label: { x: x + shift, y: labelY, anchor: shift < 0 ? 'right' : 'left' },
  });
  return {
    'register.mqtt': line(middle + 14, register.top + 20, 10, gateway.bottom + 24),
    'register.queue': line(middle - 14, register.top + 50, -10, gateway.bottom + 24),
  };
}

/** One column: the register's lines pass the terminal on both sides. */
function stacked({ width, till, gateway, terminal, register, paper }: Places): Record<LineName, Route> {
  const middle = width / 2;
  const upright = (x: number, from: number, to: number, labelAnchor: Anchor): Route => ({
    path: pathOf([
      [x, from],
      [x, to],
    ]),
    out: { x, y: from + 24, anchor: 'centre' },
    back: { x, y: to - 24, anchor: 'centre' },
    cross: { x, y: (from + to) / 2, anchor: 'centre' },
    lost: { x: middle, y: (from + to) / 2 + (labelAnchor === 'left' ? 16 : -2), anchor: 'centre' },
    label: { x: x + (labelAnchor === 'left' ? 16 : -16), y: (from + to) / 2, anchor: labelAnchor },
  });
  const around = (side: 'left' | 'right'): Route => {
    const edge = side === 'left' ? 12 : width - 12;
    const from: Point = [gateway[side], (gateway.top + gateway.bottom) / 2];
    const to: Point = [register[side], (register.top + register.bottom) / 2];
    const gap = paper.top - 72;
    return {
      path: pathOf([from, [edge, from[1]], [edge, to[1]], to]),
      out: { x: edge, y: gap, anchor: side },
      back: { x: edge, y: gap + 30, anchor: side },
      cross: { x: edge + (side === 'left' ? 12 : -12), y: gap + 60, anchor: 'centre' },
      lost: { x: edge + (side === 'left' ? 26 : -26), y: gap + 60, anchor: side },
      label: { x: edge + (side === 'left' ? 8 : -8), y: from[1] - 14, anchor: side },
    };
  };
  return {
    ask: upright(middle - 64, till.bottom, gateway.top, 'right'),
    tell: upright(middle + 64, till.bottom, gateway.top, 'left'),
    'terminal.mqtt': upright(middle - 62, gateway.bottom, terminal.top, 'right'),
    'terminal.queue': upright(middle + 62, gateway.bottom, terminal.top, 'left'),
    'register.mqtt': around('left'),
    'register.queue': around('right'),
  };
}

/** Straight pieces with round corners. */
export function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return '';
  const pieces = [`M${first[0]} ${first[1]}`];
  for (const [index, point] of rest.entries()) {
    const next = rest[index + 1];
    const before = points[index] ?? first;
    if (!next) {
      pieces.push(`L${point[0]} ${point[1]}`);
      continue;
    }
    const radius = Math.min(cornerPx, distance(before, point) / 2, distance(point, next) / 2);
    const [enter, leave] = [towards(point, before, radius), towards(point, next, radius)];
    pieces.push(`L${enter[0]} ${enter[1]}Q${point[0]} ${point[1]} ${leave[0]} ${leave[1]}`);
  }
  return pieces.join('');
}

function distance([ax, ay]: Point, [bx, by]: Point): number {
  return Math.hypot(bx - ax, by - ay);
}

function towards(from: Point, to: Point, px: number): Point {
  const whole = distance(from, to) || 1;
  const round = (value: number) => Math.round(value * 10) / 10;
  return [round(from[0] + ((to[0] - from[0]) * px) / whole), round(from[1] + ((to[1] - from[1]) * px) / whole)];
}
