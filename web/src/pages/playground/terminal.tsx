// A card terminal as a thing: screen, keys, slot, and the card. By hand its keys work: digits and the tick are the PIN, the cross
// cancels, the card is presented by pressing it.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Play, PlayDevice } from '../../api/playground.ts';
import { lei } from '../../i18n/format.ts';
import { Icon } from '../../parts/icons.tsx';

const digits = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];
const pinLength = 4;

const tones: Partial<Record<PlayDevice['screen']['state'], string>> = {
  presentCard: 'wait',
  enterPin: 'wait',
  asking: 'wait',
  printing: 'wait',
  approved: 'yes',
  declined: 'no',
  refused: 'no',
  busy: 'off',
  off: 'off',
  outOfPaper: 'no',
};

export function Terminal({ device, bankName, play }: { device: PlayDevice; bankName: string; play: Play | undefined }) {
  const { t } = useTranslation();
  const { screen, waitsFor } = device;
  // The typed digits belong to one prompt of one command; the next prompt starts empty.
  const question = `${waitsFor} ${screen.commandId} ${screen.text}`;
  const [answer, setAnswer] = useState({ question, digits: '' });
  const typed = answer.question === question ? answer.digits : '';
  const type = (digit: string) => setAnswer({ question, digits: (typed + digit).slice(0, pinLength) });
  const act = (action: string) => play?.(`/devices/${device.id}/act`, { action });
  const isPin = waitsFor === 'pin' && play !== undefined;
  const isOff = screen.state === 'off' || !device.isOn;
  const state = isOff ? 'off' : screen.state;
  return (
    <div className={isOff ? 'pos dark' : 'pos'} data-wire="terminal" role="group" aria-label={device.name}>
      <div className="pos-screen">
        <div className="pos-bar">
          <span className="cut">{device.name}</span>
          <Icon name={device.channels.some(({ isConnected }) => isConnected) ? 'mqtt' : 'offline'} size={11} />
        </div>
        <div className="pos-middle">
          {screen.amount === undefined || isOff ? (
            <span className="pos-quiet">{isOff ? '' : t('playground.screen.ready')}</span>
          ) : (
            <>
              <span>{t('playground.till.total')}</span>
              <b>
                {lei(screen.amount)} <small>MDL</small>
              </b>
              <span className="cut">{isPin ? '•'.repeat(typed.length) || t('playground.screen.pinOf') : cardLine(screen)}</span>
            </>
          )}
        </div>
        <div className={`pos-verdict ${tones[state] ?? 'idle'}`}>
          {state === 'approved' && <Icon name="check" size={14} />}
          {state === 'declined' && <Icon name="close" size={14} />}
          <span>{t(`playground.screen.${state}`)}</span>
        </div>
      </div>
      <div className="pos-keys">
        {digits.map((digit) => (
          <button key={digit} type="button" disabled={!isPin} onClick={() => type(digit)}>
            {digit}
          </button>
        ))}
        <button
          type="button"
          className="cancel"
          aria-label={t('playground.keys.cancel')}
          disabled={waitsFor === undefined || !play}
          onClick={() => act('cancel')}
        >
          <Icon name="close" size={12} />
        </button>
        <button type="button" disabled={!isPin} onClick={() => type('0')}>
          0
        </button>
        <button
          type="button"
          className="enter"
          aria-label={t('playground.keys.enter')}
          disabled={!isPin || typed.length < pinLength}
          onClick={() => act('pin')}
        >
          <Icon name="check" size={12} />
        </button>
      </div>
      <div className="pos-maker">{bankName}</div>
      <div className="pos-slot" />
      <div className={`pos-card ${hasCard(device) ? 'in' : 'out'}`}>
        <svg width="100" height="62" viewBox="0 0 100 62" aria-hidden="true">
          <rect width="100" height="62" rx="7" fill="#3b4fc9" />
          <path d="M0 40C30 22 64 58 100 30V55a7 7 0 0 1-7 7H7a7 7 0 0 1-7-7z" fill="#fff" opacity=".08" />
          <rect x="12" y="26" width="17" height="13" rx="2.5" fill="#e9d9a8" />
          <path d="M12 32.500h6m5 0h6M18 26v13m5-13v13" stroke="#a8955c" strokeWidth=".8" />
          <text x="12" y="54" fontSize="9" fontWeight="600" letterSpacing=".5" fill="#fff">
            {screen.maskedCard?.slice(-4) === undefined ? '••••' : `•••• ${screen.maskedCard.slice(-4)}`}
          </text>
        </svg>
      </div>
    </div>
  );
}

function hasCard({ screen, waitsFor, isOn }: PlayDevice): boolean {
  return isOn && waitsFor !== 'card' && ['enterPin', 'asking', 'approved', 'declined', 'printing'].includes(screen.state);
}

function cardLine({ authCode, maskedCard }: PlayDevice['screen']): string {
  return [authCode === undefined ? '' : `auth ${authCode}`, maskedCard === undefined ? '' : `•••• ${maskedCard.slice(-4)}`]
    .filter((part) => part !== '')
    .join(' · ');
}
