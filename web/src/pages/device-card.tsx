// One device: its channels, its health, its last command, and its actions.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { useViewer } from '../api/session.tsx';
import { duration } from '../i18n/format.ts';
import { DeviceShape, reachOf } from '../parts/device-shape.tsx';
import { RowMenu } from '../parts/row-menu.tsx';
import { State, StateShape } from '../parts/state-mark.tsx';
import { Copyable, Moment } from '../parts/values.tsx';
import type { Device, DeviceTask } from './device-dialogs.tsx';

const asks = { terminal: ['status', 'lastTransaction', 'closeDay'], register: ['status', 'xReport', 'zReport'] } as const;

interface DeviceCardProps {
  device: Device;
  isChosen: boolean;
  onTask: (task: DeviceTask) => void;
}

export function DeviceCard({ device, isChosen, onTask }: DeviceCardProps) {
  const { t } = useTranslation();
  const { may, session } = useViewer();
  const bank = session.banks.find(({ code }) => code === device.bank)?.name ?? device.bank;
  const isDisabled = device.state === 'disabled';
  const menu = [
    { word: t('devices.rename.button'), run: () => onTask({ kind: 'rename', device }) },
    { word: t('devices.pair.button'), run: () => onTask({ kind: 'pair', device }) },
    { word: t('devices.secret.button'), run: () => onTask({ kind: 'secret', device }) },
    { word: t('devices.hardware-lost.button'), run: () => onTask({ kind: 'hardware-lost', device }) },
    isDisabled
      ? { word: t('devices.enable.button'), run: () => onTask({ kind: 'enable', device }) }
      : { word: t('devices.disable.button'), run: () => onTask({ kind: 'disable', device }), isDanger: true },
  ];
  return (
    <article className={isChosen ? 'card device chosen' : 'card device'} id={`device-${device.id}`}>
      <header>
        <DeviceShape kind={device.kind} reach={reachOf(device.liveOn)} />
        <h3 className="grow cut strong">{device.name}</h3>
        {device.state === 'paired' ? <span className="small second">{bank}</span> : <State state={device.state} />}
        {may('setup') && <RowMenu label={t('list.actionsOf', { name: device.name })} actions={menu} />}
      </header>
      <div className="channels">
        {(['mqtt', 'queue'] as const).map((channel) => (
          <span key={channel} className="channel">
            <StateShape state={device.liveOn.includes(channel) ? 'ok' : 'none'} size={12} />
            {t(`lane.${channel}`)}
          </span>
        ))}
        <span className="channel">
          {device.liveOn.length === 0 && <>{t('devices.lastSeen')} </>}
          {device.liveOn.length === 0 && <Moment at={device.lastSeenAt} />}
        </span>
      </div>
      {device.waitingForOther !== undefined && (
        <p className="note tone-warn">{t('devices.otherHardware', { count: device.waitingForOther })}</p>
      )}
      <DeviceFacts device={device} />
      {(device.dropped ?? []).length > 0 && (
        <ul className="dropped">
          {device.dropped?.map((drop) => (
            <li key={drop.reason}>
              {t('devices.dropped', { count: drop.count })} {t(`dropped.${drop.reason}`, { defaultValue: drop.reason })}
              {drop.lastAt !== undefined && (
                <>
                  {' · '}
                  <Moment at={drop.lastAt} />
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {may('money') && !isDisabled && (
        <footer>
          {asks[device.kind].map((ask) => (
            <button key={ask} type="button" className="btn compact" onClick={() => onTask({ kind: 'ask', device, ask })}>
              {t(`devices.ask.${ask}.button`)}
            </button>
          ))}
        </footer>
      )}
    </article>
  );
}

function DeviceFacts({ device }: { device: Device }) {
  const { t } = useTranslation();
  const facts: [name: string, value: string | undefined][] = [
    ['battery', device.battery === undefined ? undefined : `${device.battery} %`],
    ['paper', device.paper === undefined ? undefined : t(`paper.${device.paper.toLowerCase()}`, { defaultValue: device.paper })],
    ['signal', device.signal === undefined ? undefined : `${device.signal} %`],
    [
      'clock',
      device.clockOffsetMs === undefined
        ? undefined
        : `${device.clockOffsetMs < 0 ? '−' : '+'}${duration(Math.abs(device.clockOffsetMs), t)}`,
    ],
    ['firmware', device.firmware],
  ];
  const lastId = device.lastCommand?.id;
  return (
    <dl>
      {facts
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{t(`devices.fact.${name}`)}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      <div>
        <dt>{t('devices.fact.last')}</dt>
        <dd>
          {device.lastCommand && lastId !== undefined ? (
            <Link className="link" href={`${device.kind === 'terminal' ? '/payments' : '/fiscal'}/${lastId}`}>
              {t(`command.${device.lastCommand.name}`, { defaultValue: device.lastCommand.name })}
            </Link>
          ) : (
            t('none')
          )}
        </dd>
      </div>
      <div>
        <dt>DeviceID</dt>
        <dd>
          <Copyable text={device.id} />
        </dd>
      </div>
    </dl>
  );
}
