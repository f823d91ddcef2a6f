// The call behind the button: as curl, as it was sent, with its answer. The key is never shown.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PlayCall } from '../../api/playground.ts';
import { duration } from '../../i18n/format.ts';
import { copyText, useBriefly } from '../../parts/values.tsx';
import { Json } from '../raw-card.tsx';
import { nameOf } from './round.ts';

const shownCalls = 6;

export function CallCard({ calls }: { calls: readonly PlayCall[] }) {
  const { t } = useTranslation();
  const [chosenId, setChosenId] = useState<number>();
  const [isCopied, markCopied] = useBriefly();
  const recent = calls.slice(0, shownCalls);
  const call = recent.find(({ id }) => id === chosenId) ?? recent[0];
  return (
    <section className="card call-card" aria-label={t('playground.call.title')}>
      <header>
        <h2 className="grow">{t('playground.call.title')}</h2>
        {call && (
          <button type="button" className="btn compact" onClick={() => void copyText(call.curl).then(markCopied)}>
            {isCopied ? t('copy.done') : t('playground.call.copy')}
          </button>
        )}
      </header>
      {!call && <p className="inside second">{t('playground.call.none')}</p>}
      {recent.length > 1 && (
        <div className="call-list" role="group" aria-label={t('playground.call.which')}>
          {recent.map((one) => (
            <button key={one.id} type="button" aria-pressed={one === call} onClick={() => setChosenId(one.id)}>
              {nameOf(one)}
            </button>
          ))}
        </div>
      )}
      {call && (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it
        <div className="raw" tabIndex={0} role="region" aria-label={t('playground.call.title')}>
          <pre className="code">
            <Curl text={call.curl} />
            {'\n\n'}
            {call.tookMs === undefined ? (
              <span className="remark"># {t('playground.call.waiting')}</span>
            ) : (
              <>
                <span className="remark"># {t('playground.call.later', { took: duration(call.tookMs, t) })}</span>
                {'\n'}
                <Json value={call.answer ?? null} />
              </>
            )}
          </pre>
        </div>
      )}
    </section>
  );
}

/** The quoted part is the body that was sent. */
function Curl({ text }: { text: string }) {
  return text.split(/('(?:[^'\\]|\\.)*')/).map((piece, index) =>
    index % 2 === 1 ? (
      // biome-ignore lint: the pieces of one text never change their places
      <span key={index} className="json-text">
        {piece}
      </span>
    ) : (
      piece
    ),
  );
}
