// Six failures, one after the other: each with its steps and what was observed at each of them.
import { useTranslation } from 'react-i18next';
import type { Play, Playground, StoryName, StoryStep } from '../../api/playground.ts';
import { duration } from '../../i18n/format.ts';
import { Icon, type IconName } from '../../parts/icons.tsx';

interface StoryBarProps {
  stories: Playground['stories'];
  story: Playground['story'];
  /** The story that is shown before one has been played. */
  chosen: StoryName;
  onChoose: (name: StoryName) => void;
  /** Stories wait before each step. */
  isStepByStep: boolean;
  play: Play | undefined;
}

/** Steps that fail on purpose: they are marked, and the story continues. */
const mishaps = new Set(['answerLost', 'powerLost', 'erpDown', 'callbackFailed', 'scanRefused', 'moreRefused']);

type Look = StoryStep['state'] | 'mishap';
const icons: Partial<Record<Look, IconName>> = { done: 'check', mishap: 'close', trouble: 'attention' };

export function StoryBar({ stories, story, chosen, onChoose, isStepByStep, play }: StoryBarProps) {
  const { t } = useTranslation();
  const isPlayed = story?.name === chosen;
  const number = stories.indexOf(chosen) + 1;
  const next = stories[number % stories.length];
  const start = (name: StoryName) => {
    onChoose(name);
    play?.(`/stories/${name}`);
  };
  const isRunning = story?.isRunning === true;
  return (
    <section className="card story" aria-label={t('playground.story.title')}>
      <div className="story-choice" role="group" aria-label={t('playground.story.choose')}>
        {stories.map((name) => (
          <button key={name} type="button" aria-pressed={name === chosen} disabled={isRunning} onClick={() => onChoose(name)}>
            {t(`playground.story.${name}.name`, { defaultValue: name })}
          </button>
        ))}
      </div>
      <div className="story-name">
        <h2>{t(`playground.story.${chosen}.name`, { defaultValue: chosen })}</h2>
        <span className="faint">{t('playground.story.of', { number, of: stories.length })}</span>
      </div>
      {isPlayed ? (
        <ol className="story-steps">
          {story.steps.map((step, index) => (
            <Step key={step.key} story={story.name} step={step} number={index + 1} />
          ))}
        </ol>
      ) : (
        <p className="story-about">{t(`playground.story.${chosen}.about`, { defaultValue: '' })}</p>
      )}
      <div className="story-buttons">
        <label className="check step-mode">
          <input
            type="checkbox"
            checked={isStepByStep}
            disabled={!play}
            onChange={(event) => play?.('/stories/mode', { stepByStep: event.target.checked })}
          />
          {t('playground.story.stepByStep')}
        </label>
        {isRunning ? (
          <>
            <button type="button" className="btn" disabled={!play} onClick={() => play?.('/stories/stop')}>
              {t('playground.story.stop')}
            </button>
            {isStepByStep && (
              <button
                type="button"
                className="btn primary"
                disabled={!play || story.isWaiting !== true}
                onClick={() => play?.('/stories/next')}
              >
                {t('playground.story.nextStep')}
                <Icon name="right" size={14} />
              </button>
            )}
          </>
        ) : isPlayed ? (
          <>
            <button type="button" className="btn" disabled={!play} onClick={() => start(chosen)}>
              <Icon name="refresh" size={14} />
              {t('playground.story.replay')}
            </button>
            {next !== undefined && (
              <button type="button" className="btn primary" disabled={!play} onClick={() => start(next)}>
                {t('playground.story.next', { name: t(`playground.story.${next}.name`, { defaultValue: next }) })}
                <Icon name="right" size={14} />
              </button>
            )}
          </>
        ) : (
          <button type="button" className="btn primary" disabled={!play} onClick={() => start(chosen)}>
            <Icon name="playground" size={14} />
            {t('playground.story.play')}
          </button>
        )}
      </div>
    </section>
  );
}

function Step({ story, step, number }: { story: string; step: StoryStep; number: number }) {
  const { t } = useTranslation();
  const { key, params } = step;
  const look: Look = step.state === 'done' && mishaps.has(key) ? 'mishap' : step.state;
  const icon = icons[look];
  const isOver = step.state === 'done' || step.state === 'trouble';
  const aside = params?.['reason'] ?? t(`playground.steps.${story}.${key}.aside`, { ...params, defaultValue: '' });
  return (
    <li className={look} {...(step.state === 'running' ? { 'aria-current': 'step' as const } : {})}>
      <i>{icon ? <Icon name={icon} size={12} /> : number}</i>
      <b>{t(`playground.steps.${story}.${key}.name`, { defaultValue: key })}</b>
      <span>
        {isOver && (aside === '' && step.atMs !== undefined ? duration(step.atMs, t) : aside)}
        <span className="unseen"> {t(`playground.story.stepState.${look}`)}</span>
      </span>
    </li>
  );
}
