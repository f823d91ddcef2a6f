// Six unhappy cases, one after the other: what was tried, what was seen at each step, and the next one.
import { useTranslation } from 'react-i18next';
import type { Play, Playground, StoryStep } from '../../api/playground.ts';
import { duration } from '../../i18n/format.ts';
import { Icon, type IconName } from '../../parts/icons.tsx';

interface StoryBarProps {
  stories: Playground['stories'];
  story: Playground['story'];
  /** Which one is looked at while none has been played. */
  chosen: string;
  onChoose: (name: string) => void;
  play: Play | undefined;
}

const looks: Record<StoryStep['state'], IconName | undefined> = { waiting: undefined, running: undefined, done: 'check', trouble: 'close' };

export function StoryBar({ stories, story, chosen, onChoose, play }: StoryBarProps) {
  const { t } = useTranslation();
  const isPlayed = story?.name === chosen;
  const number = stories.indexOf(chosen) + 1;
  const next = stories[number % stories.length];
  const start = (name: string) => {
    onChoose(name);
    play?.(`/stories/${name}`);
  };
  const isRunning = story?.isRunning === true;
  return (
    <section className="card story" aria-label={t('playground.story.title')}>
      <div className="story-name">
        <h2>{t(`playground.story.${chosen}.name`, { defaultValue: chosen })}</h2>
        <span className="faint">{t('playground.story.of', { number, of: stories.length })}</span>
        <div className="story-dots" role="group" aria-label={t('playground.story.choose')}>
          {stories.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === chosen}
              aria-label={t(`playground.story.${name}.name`, { defaultValue: name })}
              title={t(`playground.story.${name}.name`, { defaultValue: name })}
              disabled={isRunning}
              onClick={() => onChoose(name)}
            />
          ))}
        </div>
      </div>
      {isPlayed ? (
        <ol className="story-steps">
          {story.steps.map((step, index) => (
            <Step key={step.key} step={step} number={index + 1} />
          ))}
        </ol>
      ) : (
        <p className="story-about">{t(`playground.story.${chosen}.about`, { defaultValue: '' })}</p>
      )}
      <div className="story-buttons">
        {isRunning ? (
          <button type="button" className="btn" disabled={!play} onClick={() => play?.('/stories/stop')}>
            {t('playground.story.stop')}
          </button>
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

function Step({ step, number }: { step: StoryStep; number: number }) {
  const { t } = useTranslation();
  const icon = looks[step.state];
  const aside = t(`${step.key}.aside`, { ...step.params, defaultValue: '' });
  return (
    <li className={step.state} {...(step.state === 'running' ? { 'aria-current': 'step' as const } : {})}>
      <i>{icon ? <Icon name={icon} size={12} /> : number}</i>
      <b>{t(`${step.key}.name`, { ...step.params, defaultValue: step.key })}</b>
      <span>
        {aside === '' && step.atMs !== undefined ? duration(step.atMs, t) : aside}
        <span className="unseen"> {t(`playground.story.stepState.${step.state}`)}</span>
      </span>
    </li>
  );
}
