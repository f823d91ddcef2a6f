// The Playground: a till, a terminal and a register on the real wire, and the four books below. A fault can be set at every device.
import './playground.css';
import './stage.css';
import './wires.css';
import './things.css';
import './terminal.css';
import './panels.css';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PlayDevice, Playground as PlaygroundState, StoryName } from '../../api/playground.ts';
import { useViewer } from '../../api/session.tsx';
import { usePlay, usePlayground } from '../../api/use-playground.ts';
import { AskDialog } from '../../parts/dialog.tsx';
import { Icon } from '../../parts/icons.tsx';
import { PageHead, Read } from '../../parts/page.tsx';
import { Announcer } from './announcer.tsx';
import { Books } from './books.tsx';
import { CallCard } from './call-card.tsx';
import { ErpPanel } from './erp-panel.tsx';
import { HeldNotice } from './held-notice.tsx';
import { OutcomeCard } from './outcome-card.tsx';
import { beginningOf, roundOf } from './round.ts';
import { Stage } from './stage.tsx';
import { StoryBar } from './story-bar.tsx';

const modeKey = 'tillgate.playground';

export function Playground() {
  const { t } = useTranslation();
  const { may } = useViewer();
  const reading = usePlayground();
  const [isFree, setIsFree] = useState(() => localStorage.getItem(modeKey) === 'free');
  const [isEmptying, setIsEmptying] = useState(false);
  const choose = (free: boolean) => {
    localStorage.setItem(modeKey, free ? 'free' : 'stories');
    setIsFree(free);
  };
  return (
    <div className="playground">
      <PageHead name={t('page.playground')} sub={t('playground.sub')}>
        <div className="segments" role="group" aria-label={t('playground.mode.title')}>
          {[false, true].map((free) => (
            <button key={String(free)} type="button" aria-pressed={isFree === free} onClick={() => choose(free)}>
              {t(free ? 'playground.mode.free' : 'playground.mode.stories')}
            </button>
          ))}
        </div>
        {may('money') && (
          <button type="button" className="btn" onClick={() => setIsEmptying(true)}>
            <Icon name="refresh" size={14} />
            {t('playground.empty.button')}
          </button>
        )}
      </PageHead>
      <Read of={reading}>{(playground) => <Board playground={playground} isFree={isFree} />}</Read>
      {isEmptying && <EmptyDialog onClose={() => setIsEmptying(false)} />}
    </div>
  );
}

function EmptyDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const empty = usePlay(onClose);
  return (
    <AskDialog
      title={t('playground.empty.title')}
      consequence={t('playground.empty.consequence')}
      action={t('playground.empty.action')}
      isRunning={empty.isPending}
      error={empty.error}
      onClose={onClose}
      onConfirm={() => empty.mutate({ path: '/playground/books/empty' })}
    >
      {null}
    </AskDialog>
  );
}

function Board({ playground, isFree }: { playground: PlaygroundState; isFree: boolean }) {
  const { t } = useTranslation();
  const { may } = useViewer();
  const change = usePlay();
  const [chosen, setChosen] = useState<Partial<Record<PlayDevice['kind'], string>>>({});
  const [chosenStory, setChosenStory] = useState<StoryName>();
  const { devices, story, stories, wire } = playground;
  const play = may('money')
    ? (rest: string, body?: object) => change.mutate({ path: `/playground${rest}`, ...(body === undefined ? {} : { body }) })
    : undefined;
  const fromMs = beginningOf(playground);
  const shown = (kind: PlayDevice['kind']) => {
    const own = devices.filter((device) => device.kind === kind);
    // A story shows the device that it plays with; otherwise it is the one that was chosen.
    const played = isFree
      ? undefined
      : wire.findLast(({ deviceId, at }) => Date.parse(at) >= fromMs && own.some(({ id }) => id === deviceId));
    return (
      own.find(({ id }) => id === (story?.isRunning ? (played?.deviceId ?? chosen[kind]) : (chosen[kind] ?? played?.deviceId))) ?? own[0]
    );
  };
  const terminal = shown('terminal');
  const register = shown('register');
  const messages = useMemo(
    () => roundOf(playground, { terminalId: terminal?.id, registerId: register?.id }),
    [playground, terminal?.id, register?.id],
  );
  const storyName = (story?.isRunning ? story.name : undefined) ?? chosenStory ?? story?.name ?? stories[0];
  return (
    <>
      {!isFree && storyName !== undefined && (
        <StoryBar
          stories={stories}
          story={story}
          chosen={storyName}
          onChoose={setChosenStory}
          isStepByStep={playground.stepByStep}
          play={play}
        />
      )}
      <HeldNotice devices={devices} isIdle={playground.books.underWay === 0 && story?.isRunning !== true} mayClose={play !== undefined} />
      {change.error && (
        <p className="note tone-warn play-error" role="alert">
          {change.error.message}
        </p>
      )}
      <Stage
        playground={playground}
        messages={messages}
        terminal={terminal}
        register={register}
        onChoose={(device) => setChosen((before) => ({ ...before, [device.kind]: device.id }))}
        isFree={isFree}
        play={play}
      />
      <Books books={playground.books} />
      <div className="panels">
        <ErpPanel calls={playground.calls} callbacks={playground.callbacks} erp={playground.erp} play={play} />
        <CallCard calls={playground.calls} />
        <OutcomeCard story={story} lastSale={playground.till.lastSale} isFree={isFree} />
      </div>
      {!play && <p className="note">{t('playground.onlyLook')}</p>}
      <Announcer terminal={terminal} register={register} messages={messages} story={story} />
    </>
  );
}
