// A fiscal register as a thing, and the paper that came out of it: exactly the lines that it printed.
import { useTranslation } from 'react-i18next';
import type { PlayDevice } from '../../api/playground.ts';
import { lei } from '../../i18n/format.ts';

export function Register({ device }: { device: PlayDevice }) {
  const { t } = useTranslation();
  const { screen, paper } = device;
  const isOff = screen.state === 'off' || !device.isOn;
  const state = isOff ? 'off' : screen.state;
  return (
    <div className="register" role="group" aria-label={device.name}>
      <div className="roll" data-wire="paper">
        {paper && (
          // A new print is a new piece of paper: its animation starts again.
          <div className="print-wrap" key={paper.at}>
            {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it */}
            <div className="print" tabIndex={0} role="region" aria-label={t('playground.register.paper')}>
              <pre>{paper.lines.join('\n')}</pre>
            </div>
          </div>
        )}
        {!paper && <p className="roll-empty">{t('playground.register.empty')}</p>}
      </div>
      <div className={`register-body ${isOff ? 'dark' : ''}`} data-wire="register">
        <div className="register-slot" />
        <div className={`register-display ${state === 'outOfPaper' ? 'trouble' : ''}`}>
          <span>{t(`playground.registerScreen.${state}`)}</span>
          <span>
            {isOff ? ' ' : (paper?.number ?? ' ')}
            {screen.amount === undefined || isOff ? '' : ` ${lei(screen.amount)}`}
          </span>
        </div>
        <div className="register-keys" aria-hidden="true">
          {Array.from({ length: 9 }, (_, key) => (
            <i key={key} />
          ))}
        </div>
      </div>
    </div>
  );
}
