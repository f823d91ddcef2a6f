// Amounts, times and durations as people read them, in the form of the page's language: 1,234.50 in English, 1.234,50 in Romanian,
// 1 234,50 in Russian; always two places and a true minus sign. Times are in the viewer's own zone.
import type { TFunction } from 'i18next';

const numberFormats = new Map<string, Intl.NumberFormat>();
/** English as it is written on receipts. Thousands are grouped from 1.000 on; by default Romanian groups from 10.000 on. */
const numberTags: Readonly<Record<string, string>> = { en: 'en-US', ro: 'ro-RO', ru: 'ru-RU' };

function numberFormat(places: number): Intl.NumberFormat {
  const language = document.documentElement.lang;
  const key = `${language} ${places}`;
  let format = numberFormats.get(key);
  if (!format) {
    format = new Intl.NumberFormat(numberTags[language] ?? 'en-US', {
      minimumFractionDigits: places,
      maximumFractionDigits: places,
      useGrouping: 'always',
    });
    numberFormats.set(key, format);
  }
  return format;
}

export function lei(amount: number): string {
  return `${amount < 0 ? '−' : ''}${numberFormat(2).format(Math.abs(amount))}`;
}

export function decimal(value: number, places: number): string {
  return numberFormat(places).format(value);
}

/** Weights and numbers of pieces: as many places as there are, at most three. */
export function quantity(value: number): string {
  return decimal(value, [0, 1, 2].find((places) => Math.abs(value - Number(value.toFixed(places))) < 1e-9) ?? 3);
}

/** An amount to be edited: the decimal sign of the language, no groups. */
export function editable(amount: number): string {
  return lei(amount)
    .replaceAll(/[^\d.,]/g, '')
    .replace(/[.,](?=.*[.,])/g, '');
}

export function duration(ms: number, t: TFunction): string {
  if (ms === 0) return t('time.s', { n: 0 });
  if (ms < 1000) return t('time.ms', { n: Math.round(ms) });
  if (ms < 60_000) return t('time.s', { n: ms < 100_000 ? trimmed(ms / 1000) : Math.round(ms / 1000) });
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return withRest(t('time.min', { n: minutes }), Math.floor((ms % 60_000) / 1000), 's', t);
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return withRest(t('time.h', { n: hours }), minutes % 60, 'min', t);
  return withRest(t('time.d', { n: Math.floor(hours / 24) }), hours % 24, 'h', t);
}

function trimmed(seconds: number): string {
  return decimal(seconds, Math.round(seconds * 10) % 10 === 0 ? 0 : 1);
}

function withRest(whole: string, rest: number, unit: 's' | 'min' | 'h', t: TFunction): string {
  return rest === 0 ? whole : `${whole}\u00a0${t(`time.${unit}`, { n: String(rest).padStart(2, '0') })}`;
}

/** How long ago, short; older than a day it is the date. */
export function ago(iso: string, nowMs: number, language: string, t: TFunction): string {
  const ms = nowMs - Date.parse(iso);
  if (ms < 45_000) return t('time.now');
  if (ms < 3_600_000) return t('time.min', { n: Math.max(1, Math.floor(ms / 60_000)) });
  if (ms < 86_400_000) return duration(Math.floor(ms / 60_000) * 60_000, t);
  return exactTime(iso, language);
}

const shapes = {
  short: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
  full: { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' },
  minute: { hour: '2-digit', minute: '2-digit' },
  clock: { hour: '2-digit', minute: '2-digit', second: '2-digit' },
  day: { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

const formatters = new Map<string, Intl.DateTimeFormat>();

export function exactTime(iso: string, language: string, shape: keyof typeof shapes = 'short'): string {
  // English as it is written in Moldova: the day before the month, 24 hours.
  const tag = language === 'en' ? 'en-GB' : language;
  const key = `${tag} ${shape}`;
  let formatter = formatters.get(key);
  if (!formatter) {
    formatter = new Intl.DateTimeFormat(tag, { ...shapes[shape], hourCycle: 'h23' });
    formatters.set(key, formatter);
  }
  const moment = Date.parse(iso);
  return Number.isNaN(moment) ? iso : formatter.format(moment);
}
