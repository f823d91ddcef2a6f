// Values with one form everywhere: amounts, times, ids that copy on click.
import { useEffect, useState, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { ago, exactTime } from '../i18n/format.ts';

// One timer for all relative times of the page.
let nowMs = Date.now();
const watchers = new Set<() => void>();
setInterval(() => {
  nowMs = Date.now();
  for (const watcher of watchers) watcher();
}, 10_000);

export function useNowMs(): number {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    () => nowMs,
  );
}

/** How long ago, with the exact moment on hover and for screen readers' own tools. */
export function Moment({ at }: { at: string | undefined }) {
  const { t, i18n } = useTranslation();
  const now = useNowMs();
  if (at === undefined) return <span className="faint">{t('none')}</span>;
  return (
    <time dateTime={at} title={exactTime(at, i18n.language, 'full')} className="nowrap">
      {ago(at, Math.max(now, Date.parse(at)), i18n.language, t)}
    </time>
  );
}

/** In lists: the time of day, and how long ago; older than a day it is the date. */
export function ListMoment({ at }: { at: string }) {
  const { t, i18n } = useTranslation();
  const now = useNowMs();
  const ms = Math.max(0, now - Date.parse(at));
  return (
    <time dateTime={at} title={exactTime(at, i18n.language, 'full')} className="nowrap num">
      {exactTime(at, i18n.language, ms < dayMs ? 'minute' : 'short')}
      {ms < dayMs && (
        <span className="faint"> · {ms < 45_000 ? t('time.now') : t('time.ago', { span: ago(at, now, i18n.language, t) })}</span>
      )}
    </time>
  );
}

const dayMs = 86_400_000;

export function ExactMoment({ at, shape = 'short' }: { at: string; shape?: 'short' | 'full' | 'clock' }) {
  const { i18n } = useTranslation();
  return (
    <time dateTime={at} title={at}>
      {exactTime(at, i18n.language, shape)}
    </time>
  );
}

export async function copyText(text: string): Promise<void> {
  // The clipboard is there only on HTTPS and on this machine; a selection works everywhere.
  if ('clipboard' in navigator && window.isSecureContext) return navigator.clipboard.writeText(text);
  const holder = document.createElement('textarea');
  holder.value = text;
  document.body.append(holder);
  holder.select();
  document.execCommand('copy');
  holder.remove();
}

/** True for a moment after `mark` was called: "Copied". */
export function useBriefly(ms = 1_500): [boolean, () => void] {
  const [isOn, setIsOn] = useState(false);
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setTimeout(() => setIsOn(false), ms);
    return () => clearTimeout(timer);
  }, [isOn, ms]);
  return [isOn, () => setIsOn(true)];
}

export function shortId(id: string): string {
  return id.length > 18 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}

export function Copyable({ text, shown }: { text: string; shown?: string }) {
  const { t } = useTranslation();
  const [isCopied, markCopied] = useBriefly();
  return (
    <button
      type="button"
      className="copy"
      title={`${text} · ${t('copy.click')}`}
      onClick={(event) => {
        event.stopPropagation();
        void copyText(text).then(markCopied);
      }}
    >
      {isCopied ? t('copy.done') : (shown ?? shortId(text))}
    </button>
  );
}
