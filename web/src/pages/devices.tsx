// Devices: which channel each is connected by, its health and last command; pairing, secrets, and queries to the device.
import './devices.css';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Answers } from '../api/answers.ts';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { ChoiceFilter, TextFilter } from '../parts/filters.tsx';
import { Icon } from '../parts/icons.tsx';
import { Blank, PageHead, Read } from '../parts/page.tsx';
import { useFilters, useNewDialog } from '../parts/use-filters.ts';
import { DeviceCard } from './device-card.tsx';
import { type Device, DeviceDialog, type DeviceTask } from './device-dialogs.tsx';

type DeviceList = Answers['listDevices'];

export function Devices() {
  const { t } = useTranslation();
  const { scope, may } = useViewer();
  const filters = useFilters();
  const list = useRead<DeviceList>('/devices', { ...scope }, { everyMs: 15_000 });
  const [isRegistering, setIsRegistering] = useNewDialog(may('setup'));
  const [task, setTask] = useState<DeviceTask>();
  return (
    <>
      <PageHead name={t('page.devices')} sub={list.data && t('devices.sub', countsOf(list.data.devices))}>
        {may('setup') && (
          <button type="button" className="btn primary" onClick={() => setIsRegistering(true)}>
            <Icon name="plus" />
            {t('devices.register.button')}
          </button>
        )}
      </PageHead>
      <div className="filters">
        <TextFilter filters={filters} label={t('devices.find')} />
        <ChoiceFilter
          filters={filters}
          name="kind"
          label={t('devices.kind')}
          choices={['terminal', 'register'].map((kind) => ({ value: kind, word: t(`deviceKind.${kind}`) }))}
        />
        <ChoiceFilter
          filters={filters}
          name="reach"
          label={t('devices.reach')}
          choices={['live', 'away'].map((reach) => ({ value: reach, word: t(`devices.reaches.${reach}`) }))}
        />
      </div>
      <Read of={list}>
        {({ devices }) => {
          const shown = devices.filter((device) => matches(device, filters.get));
          if (shown.length === 0) {
            return (
              <Blank icon="devices" title={t(devices.length > 0 ? 'list.noneFound' : 'devices.empty.title')}>
                <p>{t(devices.length > 0 ? 'list.noneFoundHint' : 'devices.empty.hint')}</p>
              </Blank>
            );
          }
          return shopsOf(shown).map(([shop, own]) => (
            <section key={shop}>
              <h2 className="shop-head">
                {shop === '' ? t('devices.noShop') : shop}
                <span className="small faint">
                  {t('devices.online', { n: own.filter((device) => device.liveOn.length > 0).length, of: own.length })}
                </span>
              </h2>
              <div className="device-grid">
                {own.map((device) => (
                  <DeviceCard key={device.id} device={device} isChosen={filters.get('device') === device.id} onTask={setTask} />
                ))}
              </div>
            </section>
          ));
        }}
      </Read>
      {isRegistering && <DeviceDialog task={{ kind: 'register' }} banks={list.data?.banks ?? []} onClose={() => setIsRegistering(false)} />}
      {task && <DeviceDialog task={task} banks={list.data?.banks ?? []} onClose={() => setTask(undefined)} />}
    </>
  );
}

function countsOf(devices: Device[]): { n: number; of: number } {
  const counted = devices.filter((device) => device.state !== 'disabled');
  return { n: counted.filter((device) => device.liveOn.length > 0).length, of: counted.length };
}

function matches(device: Device, get: (name: string) => string | undefined): boolean {
  const q = get('q')?.toLowerCase() ?? '';
  const isFound = [device.name, device.id, device.pointOfSalesCode ?? '', device.bank ?? ''].some((text) => text.toLowerCase().includes(q));
  const reach = get('reach');
  return (
    isFound && (get('kind') ?? device.kind) === device.kind && (reach === undefined || (reach === 'live') === device.liveOn.length > 0)
  );
}

/** Devices with one point-of-sale code are a shop. */
function shopsOf(devices: Device[]): [string, Device[]][] {
  const shops = new Map<string, Device[]>();
  for (const device of devices) {
    const code = device.pointOfSalesCode ?? '';
    shops.set(code, [...(shops.get(code) ?? []), device]);
  }
  return [...shops].sort(([one], [other]) => (one === '' ? 1 : other === '' ? -1 : one.localeCompare(other)));
}
