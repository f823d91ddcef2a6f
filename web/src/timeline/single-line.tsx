// The same story on a narrow page: one line, the actor as an icon on it, gaps to scale, unknown spans hatched.
import { useTranslation } from 'react-i18next';
import type { Step, UnclearSpan } from '../api/views.ts';
import { duration } from '../i18n/format.ts';
import { Icon, type IconName } from '../parts/icons.tsx';
import { useSaid, useSideLine } from '../parts/said.ts';
import { toneOfStep } from './tones.ts';

const icons: Record<Step['actor'], IconName> = {
  erp: 'erp',
  gateway: 'gateway',
  device: 'device',
  bank: 'bank',
  person: 'person',
  callback: 'callbacks',
};
const longestDrawnMs = 60_000;

export interface TimelineProps {
  steps: Step[];
  unclear: UnclearSpan[];
  /** Since the start, while the story goes on. */
  nowMs?: number | undefined;
  /** The command whose story it is: its name is not repeated in every line. */
  ownName?: string | undefined;
}

export function SingleLine({ steps, unclear, ownName }: TimelineProps) {
  const { t } = useTranslation();
  const said = useSaid();
  const sideLine = useSideLine(ownName);
  const isUnclear = (step: Step | undefined) =>
    step !== undefined && unclear.some(({ fromMs, toMs = Infinity }) => step.sinceStartMs >= fromMs && step.sinceStartMs < toMs);
  return (
    <ol className="tl-single">
      {steps.map((step, index) => {
        const next = steps[index + 1];
        const gapMs = next ? next.sinceStartMs - step.sinceStartMs : 0;
        const isLong = gapMs >= 4_000;
        return (
          <li
            key={`${step.at} ${step.kind} ${index}`}
            className={`tone-${toneOfStep(step)}${step.isMoney ? ' money' : ''}${isUnclear(step) ? ' unclear' : ''}`}
            style={{ paddingBottom: 12 + (gapMs > longestDrawnMs ? 28 : (gapMs / 1000) * 1.6) }}
          >
            <span className="tl-bead">
              <Icon name={step.isLost && step.via ? step.via : icons[step.actor]} size={14} />
            </span>
            <div className="tl-words">
              <b>
                {said(step.text)}
                {step.repeats !== undefined && step.repeats > 1 && (
                  <span className="tl-fold">{t('timeline.tries', { count: step.repeats })}</span>
                )}
              </b>
              <span>
                {t(`actor.${step.actor}`)}
                {sideLine(step.text) !== '' && ` · ${sideLine(step.text)}`}
              </span>
              {isLong && (
                <em className={isUnclear(step) ? 'unclear' : ''}>
                  {gapMs > 60_000
                    ? t('timeline.later', { ms: gapMs })
                    : isUnclear(step)
                      ? t('timeline.withoutAnswer', { ms: gapMs })
                      : duration(gapMs, t)}
                </em>
              )}
            </div>
            <time dateTime={step.at}>{duration(step.sinceStartMs, t)}</time>
          </li>
        );
      })}
    </ol>
  );
}
