// The gateway in the middle: what it knows about the money of this round, in two words.
import { useTranslation } from 'react-i18next';
import { duration } from '../../i18n/format.ts';
import { Mark } from '../../parts/icons.tsx';
import { State } from '../../parts/state-mark.tsx';
import { isNo, type Message } from './round.ts';

interface GatewayNodeProps {
  messages: readonly Message[];
  /** How many outcomes the ledger does not know. */
  unknown: number;
}

export function GatewayNode({ messages, unknown }: GatewayNodeProps) {
  const { t } = useTranslation();
  const asked = messages.filter(({ line }) => line === 'ask');
  const answers = messages.filter(({ key }) => key.startsWith('answer '));
  const last = answers.at(-1);
  const isRunning = asked.length > answers.length;
  // A customer at the terminal is normal; a lost answer makes the outcome unknown until it is found.
  const isUnclear = isRunning ? hasLost(messages) : unknown > 0;
  const state = isUnclear ? 'unknown' : isRunning ? 'waiting' : !last ? 'none' : isNo(last) ? 'refused' : 'done';
  return (
    <div className={`gateway-node ${state}`} data-wire="gateway">
      <Mark size={44} />
      <b>Tillgate</b>
      <State state={state} word={t(`playground.gateway.${state}`)} />
      <small className="num">{last && !isRunning ? t('playground.gateway.in', { took: duration(last.sinceMs, t) }) : ' '}</small>
    </div>
  );
}

function hasLost(messages: readonly Message[]): boolean {
  const lost = messages.findLast(({ line, fate }) => line !== 'tell' && fate === 'lost');
  // Answered to the till, or reported again by the device: the outcome is known.
  return (
    lost !== undefined &&
    !messages.some(({ number, direction, about }) => number > lost.number && direction === 'back' && about === lost.about)
  );
}
