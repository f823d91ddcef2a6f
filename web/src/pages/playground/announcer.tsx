// Announces to screen readers what happens on the stage: the terminal's screen, lost messages, the end of the story. One sentence at a time.
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PlayDevice, Playground } from '../../api/playground.ts';
import type { Message } from './round.ts';

interface AnnouncerProps {
  terminal: PlayDevice | undefined;
  register: PlayDevice | undefined;
  messages: readonly Message[];
  story: Playground['story'];
}

export function Announcer({ terminal, register, messages, story }: AnnouncerProps) {
  const { t } = useTranslation();
  const [spoken, setSpoken] = useState('');
  const lost = messages.findLast(({ fate, line }) => fate === 'lost' && line !== 'tell');
  const before = useRef<(string | undefined)[] | undefined>(undefined);
  const speak = useEffectEvent((...keys: (string | undefined)[]) => {
    const earlier = before.current;
    before.current = keys;
    // What was there when the page opened is read from the page itself.
    if (!earlier) return;
    const sentences = [
      terminal && t(`playground.screen.${terminal.isOn ? terminal.screen.state : 'off'}`),
      register?.paper && t('playground.said.printed', { number: register.paper.number ?? '' }),
      lost && t('playground.said.lost', { what: lost.what }),
      story?.verdict && t(story.verdict.key, { ...story.verdict.params, defaultValue: story.verdict.key }),
    ];
    const news = sentences.filter((sentence, index) => sentence !== undefined && keys[index] !== earlier[index]);
    if (news.length > 0) setSpoken(news.join('. '));
  });
  const screenKey = terminal && `${terminal.id} ${terminal.isOn} ${terminal.screen.state} ${terminal.screen.commandId}`;
  const verdictKey = story?.verdict && story.runId;
  const paperKey = register?.paper?.at;
  const lostKey = lost?.key;
  useEffect(() => speak(screenKey, paperKey, lostKey, verdictKey), [screenKey, paperKey, lostKey, verdictKey]);
  return (
    <p className="unseen" role="status" aria-live="polite" data-said>
      {spoken}
    </p>
  );
}
