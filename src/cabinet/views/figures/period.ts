// Days in a viewer's time zone. Pure. A day begins at local midnight, also on days with a clock change.
import { fromLocalTime, isTimeZone } from '../../../kernel/time-zones.ts';

export type PeriodName = 'today' | 'yesterday' | '7d';

const dayMs = 86_400_000;
const weekMs = 7 * dayMs;

/** Some systems have only an offset from UTC instead of a place, and browsers send it. */
const offset = /^(?<sign>[+-])(?<hours>\d\d):?(?<minutes>\d\d)?$/;

/**
 * The name of a place, or an offset in quarters of an hour, as all places have. Hours are summed and stored per starting minute: each
 * further minute would cost a scan of two weeks of commands of all merchants.
 */
export function isZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone) && !isOffset(zone)) return false;
  return isTimeZone(zone);
}

function isOffset(zone: string): boolean {
  const { sign, hours, minutes = '0' } = offset.exec(zone)?.groups ?? {};
  const fromUtc = Number(hours) * 60 + Number(minutes);
  return fromUtc % 15 === 0 && fromUtc <= (sign === '-' ? 12 : 14) * 60;
}

/** Midnight of the day of `atMs`, plus `days`. */
export function startOfDay(atMs: number, zone: string, days = 0): number {
  const parts = new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(atMs);
  const utcMidnight = Date.parse(`${parts}T00:00:00Z`) + days * dayMs;
  return fromLocalTime(utcMidnight, zone);
}

/** `before`: the period of comparison, the same day a week before, or the seven days before. */
export function periodOf(name: PeriodName, nowMs: number, zone: string) {
  const today = startOfDay(nowMs, zone);
  if (name === 'today') return { fromMs: today, toMs: nowMs, before: { fromMs: startOfDay(nowMs, zone, -7), toMs: nowMs - weekMs } };
  if (name === 'yesterday') {
    const fromMs = startOfDay(nowMs, zone, -1);
    return { fromMs, toMs: today, before: { fromMs: startOfDay(nowMs, zone, -8), toMs: startOfDay(nowMs, zone, -7) } };
  }
  const fromMs = startOfDay(nowMs, zone, -6);
  return { fromMs, toMs: nowMs, before: { fromMs: fromMs - weekMs, toMs: nowMs - weekMs } };
}
