// The lines of the stage and their messages: each message is drawn on the line of its channel with its number and name, and runs
// along it when it is new. A lost one ends with a cross, a duplicate is drawn twice. The list below the stage has the same content as text.
import { type CSSProperties, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PlayDevice } from '../../api/playground.ts';
import { duration } from '../../i18n/format.ts';
import { isNo, type LineName, type Message, type OnLine } from './round.ts';
import type { Route, Spot } from './routes.ts';

interface WiresProps {
  routes: Record<LineName, Route>;
  messages: readonly Message[];
  lines: ReadonlyMap<LineName, OnLine>;
  terminal: PlayDevice | undefined;
  register: PlayDevice | undefined;
}

type LineState = 'open' | 'used' | 'lossy' | 'cut' | 'away';

export function Wires({ routes, messages, lines, terminal, register }: WiresProps) {
  const { t } = useTranslation();
  const { runners, finish } = useRunners(messages);
  const names = Object.keys(routes) as LineName[];
  const stateOf = (name: LineName): LineState => {
    const [kind, via] = name.split('.');
    const channel = (kind === 'terminal' ? terminal : register)?.channels.find((one) => one.via === via);
    if (via !== undefined && channel?.isCut) return 'cut';
    if (via !== undefined && channel?.isConnected !== true) return 'away';
    const line = lines.get(name);
    if (line?.lost) return 'lossy';
    return line?.hasCarried ? 'used' : 'open';
  };
  return (
    <div className="wires" aria-hidden="true">
      <svg width="100%" height="100%">
        {names.map((name) => (
          <path key={name} d={routes[name].path} className={`wire ${stateOf(name)}`} />
        ))}
      </svg>
      {names
        .filter((name) => name !== 'tell')
        .map((name) => (
          <span key={name} className={`wire-label at-${routes[name].label.anchor}`} style={placeOf(routes[name].label)}>
            <LineLabel name={name} state={stateOf(name)} />
          </span>
        ))}
      {names.map((name) => {
        const line = lines.get(name);
        const route = routes[name];
        return (
          <span key={name}>
            {line?.out && <Pill message={line.out} spot={route.out} />}
            {line?.back && <Pill message={line.back} spot={route.back} />}
            {line?.lost && name !== 'tell' && (
              <span className={`wire-cross at-${route.cross.anchor}`} style={placeOf(route.cross)}>
                <svg width="22" height="22" viewBox="-11 -11 22 22">
                  <circle r="10" />
                  <path d="m-4-4 8 8m0-8-8 8" />
                </svg>
              </span>
            )}
            {line?.lost && name !== 'tell' && (
              <span className={`wire-lost at-${route.lost.anchor}`} style={placeOf(route.lost)}>
                {t('playground.wire.lostAt', { at: duration(line.lost.sinceMs, t) })}
              </span>
            )}
          </span>
        );
      })}
      {runners.flatMap(({ message, delayMs }) =>
        (message.fate === 'doubled' ? [0, 320] : [0]).map((laterMs) => (
          <span
            key={`${message.key} ${laterMs}`}
            className={`runner ${message.direction} ${message.fate} ${message.line === 'tell' ? 'to-till' : ''}`}
            style={{ offsetPath: `path('${routes[message.line].path}')`, animationDelay: `${delayMs + laterMs}ms` }}
            onAnimationEnd={() => finish(message.key)}
          >
            <PillFace message={message} />
          </span>
        )),
      )}
    </div>
  );
}

function LineLabel({ name, state }: { name: LineName; state: LineState }) {
  const { t } = useTranslation();
  const [kind, via] = name.split('.');
  if (via === undefined) return <b>HTTPS</b>;
  const aside = state === 'cut' || state === 'away' ? t(`playground.wire.${state}`) : t(`playground.wire.${via}`);
  return (
    <>
      <b>{t(`lane.${via}`)}</b>
      {(kind === 'terminal' || state === 'cut' || state === 'away') && <small> {aside}</small>}
    </>
  );
}

function placeOf({ x, y }: Spot): CSSProperties {
  return { left: x, top: y };
}

function Pill({ message, spot }: { message: Message; spot: Spot }) {
  return (
    <span className={`pill-spot ${message.line} at-${spot.anchor}`} style={placeOf(spot)}>
      <PillFace message={message} />
    </span>
  );
}

/** Number, name and direction. */
export function PillFace({ message }: { message: Message }) {
  const isBack = message.direction === 'back';
  return (
    <span className={`pill ${isBack ? 'back' : 'out'} ${message.fate} ${isBack && isNo(message) ? 'no' : ''}`}>
      <i className="num">{message.number}</i>
      <span className="cut">
        {isBack ? '← ' : ''}
        {message.what}
        {isBack ? '' : ' →'}
      </span>
      {message.fate === 'doubled' && <em>×2</em>}
    </span>
  );
}

interface Runner {
  message: Message;
  delayMs: number;
}

const mostRunners = 12;
const betweenMs = 260;

/** Messages that arrived since the last read, one after the other. Earlier ones do not run again. */
function useRunners(messages: readonly Message[]) {
  const [runners, setRunners] = useState<Runner[]>([]);
  const seen = useRef<Set<string> | undefined>(undefined);
  useEffect(() => {
    const before = seen.current;
    seen.current = new Set(messages.map(({ key }) => key));
    if (!before || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    const fresh = messages.filter(({ key }) => !before.has(key));
    if (fresh.length === 0) return;
    setRunners((running) => [...running, ...fresh.map((message, index) => ({ message, delayMs: index * betweenMs }))].slice(-mostRunners));
  }, [messages]);
  const finish = (key: string) => setRunners((running) => running.filter(({ message }) => message.key !== key));
  return { runners, finish };
}

/** The round as text, for readers without the animation. */
export function WireLog({ messages }: { messages: readonly Message[] }) {
  const { t } = useTranslation();
  return (
    <section className="wire-log" aria-label={t('playground.wire.title')}>
      <h2>{t('playground.wire.title')}</h2>
      {messages.length === 0 && <p>{t('playground.wire.none')}</p>}
      <ol>
        {messages.map((message) => (
          <li key={message.key} className={message.fate}>
            <PillFace message={message} />
            <small>
              {t(`playground.line.${message.line.split('.').at(-1)}`)}, {duration(message.sinceMs, t)}
              {message.fate !== 'carried' && <b> {t(`playground.fate.${message.line === 'tell' ? 'refused' : message.fate}`)}</b>}
              {message.isRepeat && <span> {t('playground.fate.repeat')}</span>}
            </small>
          </li>
        ))}
      </ol>
    </section>
  );
}
