// Every state has a shape, a colour that repeats it, and its word.
import { useTranslation } from 'react-i18next';

export type Tone = 'ok' | 'warn' | 'bad' | 'run' | 'off' | 'faint';
type Shape = 'tick' | 'half' | 'question' | 'exclaim' | 'octagon' | 'cross' | 'back' | 'stroke' | 'dashed' | 'clock';

const looks: Readonly<Record<string, { shape: Shape; tone: Tone }>> = {
  paid: { shape: 'tick', tone: 'ok' },
  done: { shape: 'tick', tone: 'ok' },
  delivered: { shape: 'tick', tone: 'ok' },
  agrees: { shape: 'tick', tone: 'ok' },
  notified: { shape: 'tick', tone: 'ok' },
  active: { shape: 'tick', tone: 'ok' },
  closed: { shape: 'tick', tone: 'ok' },
  printed: { shape: 'tick', tone: 'ok' },
  Payed: { shape: 'tick', tone: 'ok' },
  ok: { shape: 'tick', tone: 'ok' },
  waiting: { shape: 'half', tone: 'run' },
  sent: { shape: 'half', tone: 'run' },
  Scanned: { shape: 'half', tone: 'run' },
  unknown: { shape: 'question', tone: 'warn' },
  notClosed: { shape: 'exclaim', tone: 'warn' },
  erpNotNotified: { shape: 'exclaim', tone: 'warn' },
  paidByCard: { shape: 'exclaim', tone: 'warn' },
  open: { shape: 'exclaim', tone: 'warn' },
  differs: { shape: 'exclaim', tone: 'warn' },
  warn: { shape: 'exclaim', tone: 'warn' },
  receiptWithoutPayment: { shape: 'exclaim', tone: 'warn' },
  paymentWithoutReceipt: { shape: 'exclaim', tone: 'warn' },
  voidedAfterReceipt: { shape: 'exclaim', tone: 'warn' },
  needsPerson: { shape: 'octagon', tone: 'bad' },
  unmatched: { shape: 'octagon', tone: 'bad' },
  chargedTwice: { shape: 'octagon', tone: 'bad' },
  contradiction: { shape: 'octagon', tone: 'bad' },
  paydRefused: { shape: 'octagon', tone: 'bad' },
  dead: { shape: 'octagon', tone: 'bad' },
  bad: { shape: 'octagon', tone: 'bad' },
  declined: { shape: 'cross', tone: 'off' },
  refused: { shape: 'cross', tone: 'off' },
  busy: { shape: 'cross', tone: 'off' },
  disabled: { shape: 'cross', tone: 'off' },
  revoked: { shape: 'cross', tone: 'off' },
  refunded: { shape: 'back', tone: 'off' },
  partlyRefunded: { shape: 'back', tone: 'off' },
  voided: { shape: 'stroke', tone: 'off' },
  Cancelled: { shape: 'stroke', tone: 'off' },
  never: { shape: 'dashed', tone: 'faint' },
  none: { shape: 'dashed', tone: 'faint' },
  Expired: { shape: 'clock', tone: 'faint' },
  expired: { shape: 'clock', tone: 'faint' },
  NewItem: { shape: 'dashed', tone: 'faint' },
  pending: { shape: 'clock', tone: 'faint' },
  new: { shape: 'clock', tone: 'faint' },
};

export function toneOf(state: string): Tone {
  return looks[state]?.tone ?? 'off';
}

const colours: Record<Tone, string> = {
  ok: 'var(--ok)',
  warn: 'var(--warn-mark)',
  bad: 'var(--bad)',
  run: 'var(--accent)',
  off: 'var(--ink-2)',
  faint: 'var(--ink-3)',
};

export function StateShape({ state, size = 14 }: { state: string; size?: number }) {
  const { shape, tone } = looks[state] ?? { shape: 'dashed', tone: 'faint' };
  const colour = colours[tone];
  const pen = { fill: 'none', stroke: colour, strokeWidth: 1.5, strokeLinecap: 'round', strokeLinejoin: 'round' } as const;
  const cut = { fill: 'none', stroke: 'var(--surface)', strokeWidth: 1.6, strokeLinecap: 'round', strokeLinejoin: 'round' } as const;
  return (
    <svg width={size} height={size} viewBox="0 0 14 14" aria-hidden="true">
      {shape === 'tick' && (
        <>
          <circle cx="7" cy="7" r="6.75" fill={colour} />
          <path d="m4 7.2 2.1 2.1L10.1 5" {...cut} />
        </>
      )}
      {shape === 'half' && (
        <>
          <circle cx="7" cy="7" r="6" {...pen} />
          <path d="M7 3.2a3.8 3.8 0 0 1 0 7.6z" fill={colour} />
        </>
      )}
      {shape === 'question' && (
        <>
          <path d="M7 1 13.3 12.5H.7z" fill={colour} stroke={colour} strokeLinejoin="round" />
          <path d="M5.7 6.2c0-.8.6-1.3 1.3-1.3s1.3.5 1.3 1.2c0 .9-1.3 1-1.3 1.9M7 10.3h.01" {...cut} strokeWidth={1.3} />
        </>
      )}
      {shape === 'exclaim' && (
        <>
          <circle cx="7" cy="7" r="6.2" {...pen} />
          <path d="M7 3.9v3.5M7 10h.01" {...pen} strokeWidth={1.6} />
        </>
      )}
      {shape === 'octagon' && (
        <>
          <path d="M4.3.7h5.4l3.6 3.6v5.4l-3.6 3.6H4.3L.7 9.7V4.3z" fill={colour} />
          <path d="M7 3.8v3.6M7 10h.01" {...cut} strokeWidth={1.7} />
        </>
      )}
      {shape === 'cross' && (
        <path
          d="M2.5 1h9A1.5 1.5 0 0 1 13 2.5v9a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 1 11.5v-9A1.5 1.5 0 0 1 2.5 1zM5 5l4 4M9 5 5 9"
          {...pen}
        />
      )}
      {shape === 'back' && (
        <>
          <circle cx="7" cy="7" r="6.2" {...pen} />
          <path d="M4.3 6.2h3.6a1.6 1.6 0 0 1 0 3.2H6.6M5.7 4.7 4.2 6.2l1.5 1.5" {...pen} strokeWidth={1.3} />
        </>
      )}
      {shape === 'stroke' && (
        <>
          <circle cx="7" cy="7" r="6.2" {...pen} />
          <path d="m3 11 8-8" {...pen} />
        </>
      )}
      {shape === 'dashed' && <circle cx="7" cy="7" r="6.2" {...pen} strokeDasharray="2.4 2.5" />}
      {shape === 'clock' && (
        <>
          <circle cx="7" cy="7" r="6.2" {...pen} />
          <path d="M7 3.8V7l2.2 1.4" {...pen} />
        </>
      )}
    </svg>
  );
}

/** `word` where the state's own word in the catalogue is not the right one. */
export function State({ state, word, tone }: { state: string; word?: string; tone?: Tone }) {
  const { t } = useTranslation();
  return (
    <span className={`state tone-${tone ?? toneOf(state)}`}>
      <StateShape state={state} />
      {word ?? t(`state.${state}`)}
    </span>
  );
}

export function StateChip({ state, word }: { state: string; word?: string }) {
  const { t } = useTranslation();
  return (
    <span className={`chip tone-${toneOf(state)}`}>
      <StateShape state={state} />
      {word ?? t(`state.${state}`)}
    </span>
  );
}
