// The lower half of the overview: banks, devices, callbacks, and what the gateway settled by itself.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { BankSums, Overview, OverviewDevice } from '../api/overview.ts';
import { useViewer } from '../api/session.tsx';
import { decimal, duration, lei } from '../i18n/format.ts';
import { DeviceShape, reachOf } from '../parts/device-shape.tsx';
import { State } from '../parts/state-mark.tsx';
import { Moment } from '../parts/values.tsx';

export function BankTable({ banks, period }: { banks: BankSums[]; period: string }) {
  const { t } = useTranslation();
  const { session } = useViewer();
  const most = Math.max(1, ...banks.map(({ amount }) => amount));
  return (
    <section className="card span-5">
      <header>
        <h2 className="grow">{t('overview.byBank')}</h2>
        <span className="small faint">{t('overview.cardAndQr')}</span>
      </header>
      {banks.length === 0 ? (
        <p className="inside second">{t('overview.noBank')}</p>
      ) : (
        <table className="bank-table">
          <thead>
            <tr>
              <th scope="col">{t('list.bank')}</th>
              <th scope="col">{t('overview.moneyHead')}</th>
              <th scope="col">{t('overview.paidHead')}</th>
              <th scope="col">{t('overview.success')}</th>
              <th scope="col">p95</th>
            </tr>
          </thead>
          <tbody>
            {banks.map((bank) => (
              <tr key={bank.bank ?? ''}>
                <td>
                  <Link className="strong" href={`/payments?period=${period}&bank=${bank.bank ?? ''}`}>
                    {session.banks.find(({ code }) => code === bank.bank)?.name ?? bank.bank ?? t('none')}
                  </Link>
                  <div className="meter" aria-hidden="true">
                    <i style={{ width: `${(bank.amount / most) * 100}%` }} />
                  </div>
                </td>
                <td className="strong">{lei(bank.amount)}</td>
                <td className="second">{bank.paid}</td>
                <td>{bank.success === undefined ? '–' : `${decimal(bank.success * 100, 1)} %`}</td>
                <td>{bank.p95Ms === undefined ? '–' : duration(bank.p95Ms, t)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const maxLines = 4;

export function DevicesCard({ shops }: { shops: { shop: string; devices: OverviewDevice[] }[] }) {
  const { t } = useTranslation();
  const all = shops.flatMap(({ devices }) => devices);
  const isOnline = ({ liveOn }: { liveOn: string[] }) => liveOn.length > 0;
  // For one or two shops the card would be nearly empty: list their devices instead.
  const isOneByOne = shops.length <= 2;
  return (
    <section className="card span-5">
      <header>
        <h2>{t('page.devices')}</h2>
        <span className="small second grow">{t('devices.online', { n: all.filter(isOnline).length, of: all.length })}</span>
        <div className="legend" aria-hidden="true">
          <span>
            <DeviceShape kind="terminal" reach="live" />
            {t('devices.short.terminal')}
          </span>
          <span>
            <DeviceShape kind="register" reach="live" />
            {t('devices.short.register')}
          </span>
        </div>
      </header>
      <div className="shop-lines">
        {(isOneByOne ? terminalsFirst(all) : []).slice(0, maxLines).map((device) => (
          <Link key={device.id} href="/devices">
            <span className="strong cut">{device.name}</span>
            <span className="shapes">
              <DeviceShape kind={device.kind} reach={reachOf(device.liveOn)} />
            </span>
            <span className="small second">
              {isOnline(device) ? (
                t(`overview.reach.${reachOf(device.liveOn)}`)
              ) : (
                <>
                  {t('devices.silent')} <Moment at={device.lastSeenAt} />
                </>
              )}
            </span>
          </Link>
        ))}
        {(isOneByOne ? [] : shops).slice(0, maxLines).map((shop) => {
          const away = shop.devices.filter((device) => !isOnline(device));
          const half = shop.devices.filter(({ liveOn }) => reachOf(liveOn) === 'queueOnly');
          return (
            <Link key={shop.shop} href="/devices">
              <span className="strong cut">{shop.shop === '' ? t('devices.noShop') : shop.shop}</span>
              <span className="shapes">
                {terminalsFirst(shop.devices).map((device) => (
                  <DeviceShape key={device.id} kind={device.kind} reach={reachOf(device.liveOn)} />
                ))}
              </span>
              <span className="small second">
                {t('devices.of', { n: shop.devices.length - away.length, of: shop.devices.length })}
                {away[0] && (
                  <>
                    , {away[0].name} {t('devices.silent')} <Moment at={away[0].lastSeenAt} />
                  </>
                )}
                {!away[0] && half[0] && `, ${t('devices.queueOnly', { name: half[0].name })}`}
              </span>
            </Link>
          );
        })}
        {(isOneByOne ? all : shops).length > maxLines && (
          <Link className="link" href="/devices">
            {t('overview.allDevices', { count: all.length })}
          </Link>
        )}
      </div>
    </section>
  );
}

function terminalsFirst(devices: readonly OverviewDevice[]): OverviewDevice[] {
  return [...devices].sort((one, other) => other.kind.localeCompare(one.kind));
}

export function CallbackCard({ callbacks }: { callbacks: Overview['callbacks'] }) {
  const { t } = useTranslation();
  const { delivered, waiting: pending, dead, steps, nextAttemptAt } = callbacks;
  const counts = { delivered, pending, dead };
  const ladder = Array.from({ length: 1 + Math.max(5, ...steps.map(({ attempts }) => attempts)) }, (_, attempts) => attempts).slice(-8);
  return (
    <section className="card span-4">
      <header>
        <h2 className="grow">{t('page.callbacks')}</h2>
        {dead > 0 && (
          <Link className="link" href="/callbacks?state=dead">
            {t('overview.resendDead')}
          </Link>
        )}
      </header>
      <div className="cb-counts">
        {(['delivered', 'pending', 'dead'] as const).map((state) => (
          <Link key={state} href={`/callbacks?state=${state}`}>
            <b>{counts[state]}</b>
            <State state={state} />
          </Link>
        ))}
      </div>
      <div className="cb-steps">
        {ladder.map((attempts) => {
          const count = steps.find((step) => step.attempts === attempts)?.count ?? 0;
          return (
            <span key={attempts}>
              <i className={count > 0 ? 'some' : ''}>{count > 0 ? count : ''}</i>
              {attempts === 0 ? t('time.now') : t('overview.afterTries', { n: attempts })}
            </span>
          );
        })}
        <span>
          <i className={dead > 0 ? 'dead' : ''}>{dead > 0 ? dead : ''}</i>
          {t('state.dead')}
        </span>
      </div>
      <p className="foot-line">
        {nextAttemptAt !== undefined && pending > 0 ? (
          <>
            <span>{t('overview.nextTry')}</span>
            <Moment at={nextAttemptAt} />
          </>
        ) : (
          t('overview.noneWaits')
        )}
      </p>
    </section>
  );
}

export function SettledCard({ settled }: { settled: Overview['settledAlone'] }) {
  const { t } = useTranslation();
  const unclear = settled.recall + settled.lateAnswer + settled.lastTransaction;
  const by = { recall: settled.recall, 'late-answer': settled.lateAnswer, 'last-transaction': settled.lastTransaction };
  return (
    <section className="card span-3">
      <header>
        <h2>{t('overview.settled')}</h2>
      </header>
      <p className="inside figure">
        <span>
          {unclear} <small>{t('overview.unclear', { count: unclear })}</small>
        </span>
      </p>
      <div className="pairs">
        {Object.entries(by).map(([source, count]) => (
          <div key={source}>
            <span>{t('overview.foundBy', { by: source })}</span>
            <b>{count}</b>
          </div>
        ))}
      </div>
      <p className="foot-line">
        <span>{t('overview.longest')}</span>
        <span className="num">{settled.longestMs > 0 ? duration(settled.longestMs, t) : t('none')}</span>
      </p>
    </section>
  );
}
