// What the ERP receives: answers to its calls and callbacks, as they arrived, and whether the signature is valid.
import { useTranslation } from 'react-i18next';
import type { Play, PlayCall, PlayCallback, Playground } from '../../api/playground.ts';
import { duration } from '../../i18n/format.ts';
import { Icon } from '../../parts/icons.tsx';
import { StateShape } from '../../parts/state-mark.tsx';
import { ExactMoment, shortId } from '../../parts/values.tsx';
import { errorCodeOf, nameOf } from './round.ts';

const shownLines = 8;

type Received = { at: string; key: string } & ({ call: PlayCall } | { callback: PlayCallback });

export function ErpPanel({ play, calls, callbacks, erp }: Pick<Playground, 'calls' | 'callbacks' | 'erp'> & { play: Play | undefined }) {
  const { t } = useTranslation();
  const received: Received[] = [
    ...calls.flatMap((call): Received[] =>
      call.tookMs === undefined ? [] : [{ at: new Date(Date.parse(call.at) + call.tookMs).toISOString(), key: `call ${call.id}`, call }],
    ),
    ...callbacks.map((callback): Received => ({ at: callback.at, key: `${callback.id} ${callback.attempt}`, callback })),
  ]
    .sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
    .slice(0, shownLines);
  const isVerified = callbacks.length > 0 && callbacks.every((callback) => callback.isVerified);
  return (
    <section className="card erp-panel" aria-label={t('playground.erp.title')}>
      <header>
        <h2>{t('playground.erp.title')}</h2>
        {isVerified && (
          <span className="chip tone-ok">
            <Icon name="lock" size={12} />
            {t('playground.erp.verified')}
          </span>
        )}
        <span className="grow" />
        <button
          type="button"
          className="btn compact toggle"
          aria-pressed={erp.isDown}
          disabled={!play}
          onClick={() => play?.('/erp', { isDown: !erp.isDown })}
        >
          {t('playground.erp.down')}
        </button>
      </header>
      {received.length === 0 && <p className="inside second">{t('playground.erp.none')}</p>}
      <ol>
        {received.map((one) => (
          <li key={one.key}>
            <StateShape state={looksOf(one)} />
            <b>{'call' in one ? <AnswerHead call={one.call} /> : <CallbackHead callback={one.callback} />}</b>
            <span className="faint num small">
              <ExactMoment at={one.at} shape="clock" />
            </span>
            <span className="small second break">
              {'call' in one
                ? t('playground.erp.answer', { name: nameOf(one.call), took: duration(one.call.tookMs ?? 0, t) })
                : t('playground.erp.callback', {
                    state: one.callback.state,
                    status: one.callback.answered,
                    took: duration(one.callback.tookMs, t),
                  })}
              {'callback' in one && one.callback.attempt > 1 && `, ${t('playground.erp.attempt', { n: one.callback.attempt })}`}
              {'callback' in one && !one.callback.isVerified && <b className="tone-bad"> {t('playground.erp.notVerified')}</b>}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function looksOf(one: Received): string {
  if ('call' in one) return errorCodeOf(one.call) === 0 ? 'ok' : 'declined';
  if (!one.callback.isVerified) return 'bad';
  return one.callback.answered >= 200 && one.callback.answered < 300 ? 'ok' : 'warn';
}

function AnswerHead({ call }: { call: PlayCall }) {
  return (
    <>
      {nameOf(call)} · errorCode {errorCodeOf(call) ?? '?'}
    </>
  );
}

function CallbackHead({ callback }: { callback: PlayCallback }) {
  return (
    <>
      {callback.state} · {shortId(callback.oid ?? callback.subject)}
    </>
  );
}
