// The story of one sale: one lane an actor, a message is an arrow, gaps are to scale, unknown spans are hatched.
// The drawing is for the eye; the words beside it are an ordered list with the same content.
import './timeline.css';
import { useTranslation } from 'react-i18next';
import { wasLearnedLater } from '../api/views.ts';
import { duration } from '../i18n/format.ts';
import { Icon, type IconName } from '../parts/icons.tsx';
import { useSaid, useSideLine } from '../parts/said.ts';
import { useWidth } from '../parts/use-width.ts';
import { Drawing } from './drawing.tsx';
import { foldSteps } from './fold.ts';
import { lanes, laneWidth, layOut, pxPerS } from './layout.ts';
import { SingleLine, type TimelineProps } from './single-line.tsx';
import { toneOfStep } from './tones.ts';

const icons: Record<(typeof lanes)[number], IconName> = {
  erp: 'erp',
  gateway: 'gateway',
  mqtt: 'mqtt',
  queue: 'queue',
  device: 'device',
  bank: 'bank',
  person: 'person',
};

/** Narrower than this the lanes would leave no room for words. */
const narrowestLanes = 620;

export function Timeline(whole: TimelineProps) {
  const story = { ...whole, steps: foldSteps(whole.steps) };
  const { steps, unclear } = story;
  const { t } = useTranslation();
  const [box, width] = useWidth<HTMLDivElement>();
  return (
    <div ref={box} className="timeline">
      {width > 0 && width < narrowestLanes ? (
        <SingleLine {...story} />
      ) : (
        <div className="card">
          <div className="tl-head" aria-hidden="true">
            <span className="tl-time">{t('timeline.time')}</span>
            {lanes.map((lane) => (
              <span key={lane} className="tl-lane" style={{ width: laneWidth }} title={t(`lane.${lane}`)}>
                <Icon name={icons[lane]} size={15} />
                {t(`lane.${lane}`)}
              </span>
            ))}
            <span className="tl-scale">
              {t('timeline.scale')}
              <svg width="8" height={pxPerS * 5 + 1} viewBox={`0 0 8 ${pxPerS * 5 + 1}`}>
                <path d={`M1 .5h6M4 .5v${pxPerS * 5}M1 ${pxPerS * 5 + 0.5}h6`} fill="none" stroke="currentColor" />
              </svg>
            </span>
          </div>
          <Lanes {...story} />
          <Legend hasUnclear={unclear.length > 0} hasLearned={steps.some(wasLearnedLater)} />
        </div>
      )}
    </div>
  );
}

function Lanes({ steps, unclear, nowMs, ownName }: TimelineProps) {
  const { t } = useTranslation();
  const said = useSaid();
  const sideLine = useSideLine(ownName);
  const layout = layOut(steps, unclear, nowMs);
  return (
    <div className="tl-body" style={{ height: layout.height }}>
      <Drawing layout={layout} />
      <ol>
        {layout.steps.map(({ step, y }, index) => (
          <li
            key={`${step.at} ${step.kind} ${index}`}
            className={`tl-step tone-${toneOfStep(step)}${step.isMoney ? ' money' : ''}`}
            style={{ top: y - 9 }}
          >
            <time dateTime={step.at} title={step.at}>
              {duration(step.sinceStartMs, t)}
            </time>
            <div className="tl-words">
              <b>
                {said(step.text)}
                {step.repeats !== undefined && step.repeats > 1 && (
                  <span className="tl-fold">{t('timeline.tries', { count: step.repeats })}</span>
                )}
              </b>
              <span title={sideLine(step.text)}>
                {[sideLine(step.text), wasLearnedLater(step) ? t('timeline.learnedAt', { at: step.learnedAt }) : '']
                  .filter(Boolean)
                  .join(' · ')}
              </span>
            </div>
          </li>
        ))}
      </ol>
      {layout.gaps.map((gap) => (
        <span key={gap.y} className={gap.isUnclear ? 'tl-gap unclear' : 'tl-gap'} style={{ top: gap.y - 8 }}>
          {gap.isCut
            ? t('timeline.later', { ms: gap.ms })
            : gap.isUnclear
              ? t('timeline.withoutAnswer', { ms: gap.ms })
              : duration(gap.ms, t)}
        </span>
      ))}
    </div>
  );
}

function Legend({ hasUnclear, hasLearned }: { hasUnclear: boolean; hasLearned: boolean }) {
  const { t } = useTranslation();
  return (
    <div className="tl-legend" aria-hidden="true">
      {hasUnclear && (
        <span>
          <i className="tl-hatch-sample" />
          {t('timeline.legend.unclear')}
        </span>
      )}
      {hasLearned && (
        <span>
          <svg width="14" height="14" viewBox="0 0 14 14">
            <circle cx="7" cy="7" r="5" fill="none" stroke="var(--ink)" strokeWidth="1.75" />
            <circle cx="7" cy="7" r="1.75" fill="var(--ink)" />
          </svg>
          {t('timeline.legend.learned')}
        </span>
      )}
      <span>
        <b>{t('timeline.legend.bold')}</b> {t('timeline.legend.money')}
      </span>
      <span>
        <svg width="16" height="6" viewBox="0 0 16 6">
          <path d="M0 4 4 1.5 8 4l4-2.5L16 4" fill="none" stroke="var(--ghost)" />
        </svg>
        {t('timeline.legend.cut')}
      </span>
    </div>
  );
}
