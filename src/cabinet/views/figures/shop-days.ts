// Which closes of a shop are one day [D297]. Pure.
// In order of time, the closes are cut into days. A run of closes is too long for a day if a terminal and a register closed twice in it, or if
// it takes more than 18 hours; in each run that is only just too long, the cut is where it separates the fewest operations from their close.
// So every close is in exactly one day. What is further away than `closesBeforeMs` and `closesAfterMs` changes nothing for a close: its day
// is the same whether it is read from all closes or from these, and from whichever of its closes.

export type CloseKind = 'bank' | 'z';

export interface DeviceClose {
  id: string;
  kind: CloseKind;
  deviceId: string;
  atMs: number;
}

export interface ShopBooks<Close extends DeviceClose = DeviceClose> {
  /** Oldest first; of equal times, the lesser id first. */
  closes: readonly Close[];
  /** Of the shop's devices. */
  kinds: ReadonlySet<CloseKind>;
  /** No close follows the last one: the next close of every device is still to come. */
  isOpen: boolean;
}

/** Two closes of one day are at most this far apart. */
export const longestDayMs = 18 * 3_600_000;
export const closesBeforeMs = 4 * longestDayMs;
export const closesAfterMs = 3 * longestDayMs;

/** From one close to another, by index; to the number of closes: to those that are still to come. */
interface Run {
  from: number;
  to: number;
}

/** The runs that are too long for a day and contain no shorter one that is. */
export function longRuns(books: ShopBooks): Run[] {
  const runs = books.closes.map((_, from) => ({ from, to: firstTooMany(books, from) }));
  return runs.flatMap(({ from, to }, index) => (to === undefined || to === runs[index + 1]?.to ? [] : [{ from, to }]));
}

/** The first close that is not in one day with the given one and all between. */
function firstTooMany({ closes, kinds, isOpen }: ShopBooks, from: number): number | undefined {
  const devices = new Set<string>();
  const closed = new Set<CloseKind>();
  const twice = new Set<CloseKind>();
  for (let to = from; to < closes.length; to += 1) {
    const close = closes[to];
    if (!close) break;
    if (close.atMs - (closes[from]?.atMs ?? 0) > longestDayMs) return to;
    if (devices.has(close.deviceId)) twice.add(close.kind);
    devices.add(close.deviceId);
    closed.add(close.kind);
    if (twice.size === kinds.size) return to;
  }
  // Every device is still to be closed after the last close.
  return isOpen && closed.size === kinds.size ? closes.length : undefined;
}

/** `operationTimes`: of each device, at least from 18 hours before the first of the runs. */
export function daysOf<Close extends DeviceClose>(
  books: ShopBooks<Close>,
  operationTimes: ReadonlyMap<string, readonly number[]>,
): Close[][] {
  const { closes } = books;
  const separated = new Map<number, number>();
  const separatedAt = (index: number): number => {
    const known = separated.get(index) ?? countSeparated(books, operationTimes, index);
    separated.set(index, known);
    return known;
  };
  const gapAt = (index: number) => (closes[index + 1]?.atMs ?? Number.POSITIVE_INFINITY) - (closes[index]?.atMs ?? 0);
  const cuts = new Set<number>();
  for (const { from, to } of longRuns(books)) {
    let best = from;
    for (let index = from + 1; index < to; index += 1) {
      const difference = separatedAt(index) - separatedAt(best);
      if (difference < 0 || (difference === 0 && gapAt(index) > gapAt(best))) best = index;
    }
    cuts.add(best);
  }
  const days: Close[][] = [];
  for (const [index, close] of closes.entries()) {
    if (index === 0 || cuts.has(index - 1)) days.push([]);
    days.at(-1)?.push(close);
  }
  return days;
}

/** Operations of the 18 hours until a close that later closes contain: a day that ends with this close would not have them. */
function countSeparated({ closes, isOpen }: ShopBooks, operationTimes: ReadonlyMap<string, readonly number[]>, index: number): number {
  const atMs = closes[index]?.atMs ?? 0;
  let count = 0;
  for (const [deviceId, times] of operationTimes) {
    const isOwn = (close: DeviceClose) => close.deviceId === deviceId;
    // A close that is still to come is made after the last one.
    const next = closes.slice(index + 1).find(isOwn) ?? (isOpen ? closes.at(-1) : undefined);
    if (!next || next.atMs - atMs > longestDayMs) continue;
    const afterMs = Math.max(closes.slice(0, index + 1).findLast(isOwn)?.atMs ?? 0, atMs - longestDayMs);
    count += times.filter((timeMs) => timeMs > afterMs && timeMs < atMs).length;
  }
  return count;
}
