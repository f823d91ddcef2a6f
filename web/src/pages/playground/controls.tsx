// What a person can do on the stage: choose the device, play its customer, and set a fault for the next command. Each button is a
// call to the sandbox; the pressed state comes from the sandbox, not from the click.
import { useTranslation } from 'react-i18next';
import { type Faults, type Play, type PlayDevice, vias } from '../../api/playground.ts';
import { Icon, type IconName } from '../../parts/icons.tsx';

interface DeviceControlsProps {
  device: PlayDevice;
  devices: readonly PlayDevice[];
  onChoose: (id: string) => void;
  play: Play | undefined;
}

const acts = [
  { action: 'presentCard', on: ['card'], icon: 'payments' },
  { action: 'pin', on: ['pin'], icon: undefined },
  { action: 'wrongPin', on: ['pin'], icon: undefined },
  { action: 'decline', on: ['pin'], icon: undefined },
  { action: 'cancel', on: ['card', 'pin'], icon: undefined },
] as const;

/** Without a card payment a register has a single step at which a fault can occur: before printing. */
const powerCuts = { terminal: ['beforeBank', 'afterBank'], register: ['afterBank'] } as const;

export function DeviceControls({ device, devices, onChoose, play }: DeviceControlsProps) {
  const { t } = useTranslation();
  const own = `/devices/${device.id}`;
  const title = t(`playground.controls.${device.kind}`);
  return (
    <div className={`controls ${device.kind}-controls`} role="group" aria-label={title}>
      <div className="controls-head">
        <label className="device-choice">
          <span className="unseen">{title}</span>
          <select className="input" value={device.id} onChange={(event) => onChoose(event.target.value)}>
            {devices.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        {device.kind === 'terminal' && (
          <div className="segments" role="group" aria-label={t('playground.controls.who')}>
            {[false, true].map((byHand) => (
              <button
                key={String(byHand)}
                type="button"
                aria-pressed={device.byHand === byHand}
                disabled={!play}
                onClick={() => play?.(`${own}/mode`, { byHand })}
              >
                {t(byHand ? 'playground.controls.byHand' : 'playground.controls.byItself')}
              </button>
            ))}
          </div>
        )}
      </div>
      {device.byHand && (
        <div className="buttons">
          {acts.map(({ action, on, icon }) => (
            <button
              key={action}
              type="button"
              className="btn compact"
              disabled={!play || !on.some((wanted) => wanted === device.waitsFor)}
              onClick={() => play?.(`${own}/act`, { action })}
            >
              {icon && <Icon name={icon} size={14} />}
              {t(`playground.act.${action}`)}
            </button>
          ))}
        </div>
      )}
      <Trouble device={device} play={play} />
    </div>
  );
}

function Trouble({ device, play }: { device: PlayDevice; play: Play | undefined }) {
  const { t } = useTranslation();
  const { faults } = device;
  const own = `/devices/${device.id}`;
  const arm = (change: { [name in keyof Faults]?: Faults[name] | null }) => play?.(`${own}/faults`, change);
  const isOutOfPaper = faults.paperOut || device.screen.state === 'outOfPaper';
  return (
    <div className="stack tight" role="group" aria-label={t('playground.controls.trouble')}>
      <span className="controls-name">{t('playground.controls.trouble')}</span>
      <div className="buttons">
        {vias.map((via) => {
          const isCut = device.channels.find((channel) => channel.via === via)?.isCut === true;
          return (
            <Toggle
              key={via}
              word={t('playground.trouble.cut', { channel: t(`lane.${via}`) })}
              icon={isCut ? 'offline' : via}
              isOn={isCut}
              play={play && (() => play(`${own}/channels`, { via, isCut: !isCut }))}
            />
          );
        })}
        <Toggle
          word={t('playground.trouble.loseAnswer')}
          icon="close"
          isOn={faults.loseAnswer}
          play={play && (() => arm({ loseAnswer: !faults.loseAnswer }))}
        />
        <Toggle
          word={t('playground.trouble.answerTwice')}
          isOn={faults.answerTwice}
          play={play && (() => arm({ answerTwice: !faults.answerTwice }))}
        />
        {isOutOfPaper ? (
          <Toggle word={t('playground.act.newRoll')} icon="fiscal" isOn play={play && (() => play(`${own}/act`, { action: 'newRoll' }))} />
        ) : (
          <Toggle word={t('playground.trouble.paperOut')} isOn={false} play={play && (() => arm({ paperOut: true }))} />
        )}
        {powerCuts[device.kind].map((when) => (
          <Toggle
            key={when}
            word={t(`playground.trouble.${device.kind === 'register' ? 'register' : when}`)}
            icon="power"
            isOn={faults.powerCut === when}
            play={play && (() => arm({ powerCut: faults.powerCut === when ? null : when }))}
          />
        ))}
        <Toggle
          word={t(device.isOn ? 'playground.trouble.switchOff' : 'playground.trouble.switchOn')}
          icon="power"
          isOn={!device.isOn}
          play={play && (() => play(`${own}/power`, { isOn: !device.isOn }))}
        />
      </div>
    </div>
  );
}

function Toggle({ word, icon, isOn, play }: { word: string; icon?: IconName; isOn: boolean; play: (() => void) | undefined }) {
  return (
    <button type="button" className="btn compact toggle" aria-pressed={isOn} disabled={!play} onClick={play}>
      {icon && <Icon name={icon} size={14} />}
      {word}
    </button>
  );
}
