// The gateway in the middle: what it knows about the money of this round, in two words.
import { useTranslation } from 'react-i18next';
import { duration } from '../../i18n/format.ts';
import { Mark } from '../../parts/icons.tsx';
import { State } from '../../parts/state-mark.tsx';
import type { Message } from './round.ts';

export interface GatewayNodeProps {
  messages: readonly Message[];
  unknown: number;
}

export function GatewayNode({ messages, unknown }: GatewayNodeProps) {
  const { t } = useTranslation();
  const asked = messages.filter(({ line }) => line === 'ask');
  const answers = messages.filter(({ key }) => key.startsWith('answer '));
  const isRunning = asked.length > answers.length;
  const last = answers.at(-1);
  const state = unknown > 0 ? 'unknown' : isRunning ? 'waiting' : last ? 'done' : 'none';
  return (
    <div className={`gateway-node ${state}`} data-wire="gateway">
      <Mark size={44} />
      <b>Tillgate</b>
      <State state={state} word={t(`playground.gateway.${state}`)} />
      <small className="num">{state === 'done' && last ? t('playground.gateway.in', { took: duration(last.sinceMs, t) }) : ' '}</small>
    </div>
  );
}
