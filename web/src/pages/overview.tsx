// The figures of the day; each links to its list.
import './overview.css';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { type Overview as Day, dailySums, modes, rateOf, shopsOf, sinceOpening } from '../api/overview.ts';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { GrowingLine, Histogram, HourBars, RateLine } from '../charts/charts.tsx';
import { decimal, duration, exactTime, lei } from '../i18n/format.ts';
import { Icon } from '../parts/icons.tsx';
import { PageHead, Read } from '../parts/page.tsx';
import { StateShape } from '../parts/state-mark.tsx';
import { useFilters } from '../parts/use-filters.ts';
import { Moment, useNowMs } from '../parts/values.tsx';
import { deferred } from '../shell/deferred.ts';
import { BankTable, CallbackCard, DevicesCard, SettledCard } from './overview-cards.tsx';

/** Only for a new installation. */
const FirstSteps = deferred(() => import('./first-steps.tsx'), 'FirstSteps');
const timeZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
const periods = ['today', 'yesterday', '7d'] as const;

export function Overview() {
  const { t, i18n } = useTranslation();
  const { scope } = useViewer();
  const nowMs = useNowMs();
  const filters = useFilters();
  const period = filters.get('period') ?? 'today';
  const day = useRead<Day>('/overview', { ...scope, period, timeZone }, { keepsPrevious: true, everyMs: 30_000 });
  const waiting = day.data?.attention.sales.count ?? 0;
  return (
    <>
      <PageHead
        name={t('page.overview')}
        sub={
          <>
            {exactTime(new Date(nowMs).toISOString(), i18n.language, 'day').replace(/\.$/, '')}.{' '}
            {day.data && t(day.data.isNew ? 'overview.nothingYet' : waiting === 0 ? 'overview.calm' : 'overview.needs', { count: waiting })}
          </>
        }
      >
        <div className="segments" role="group" aria-label={t('list.date')}>
          {periods.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === period}
              onClick={() => filters.set({ period: one === 'today' ? undefined : one })}
            >
              {t(`period.${one}`)}
            </button>
          ))}
        </div>
      </PageHead>
      <Read of={day} rows={12}>
        {(fields) =>
          fields.isNew ? (
            <FirstSteps devices={fields.devices.length} />
          ) : (
            <>
              <AttentionStrip day={fields} waiting={waiting} />
              {fields.earlier.count > 0 && <p className="note">{t('overview.earlier', fields.earlier)}</p>}
              <div className="tiles">
                <MoneyTile day={fields} period={period} />
                <ModeTile day={fields} period={period} />
                <RateTile day={fields} period={period} />
                <AnswerTile day={fields} />
                <HoursCard day={fields} period={period} />
                <BankTable banks={fields.banks} period={period} />
                <DevicesCard shops={shopsOf(fields.devices)} />
                <CallbackCard callbacks={fields.callbacks} />
                <SettledCard settled={fields.settledAlone} />
              </div>
            </>
          )
        }
      </Read>
    </>
  );
}

function AttentionStrip({ day, waiting }: { day: Day; waiting: number }) {
  const { t } = useTranslation();
  const { counts, sums, sales, isCut, oldestSince } = day.attention;
  if (waiting === 0) {
    return (
      <p className="calm">
        <StateShape state="ok" />
        {t('overview.allWell')}
      </p>
    );
  }
  return (
    <section className="strip" aria-label={t('page.attention')}>
      <Link href="/attention">
        <b className="lead">
          <Icon name="attention" size={15} />
          {t('overview.needsAttention')}
        </b>
        <small>
          {t('overview.sales', { count: waiting })} {isCut && t('overview.orMore')} · {lei(sales.amount)} MDL
          {oldestSince !== undefined && (
            <>
              {' · '}
              <Moment at={oldestSince} />
            </>
          )}
        </small>
      </Link>
      {Object.entries(counts)
        .filter(([, count]) => count > 0)
        .map(([kind, count]) => (
          <Link key={kind} href={`/attention?kind=${kind}`}>
            <b>
              <StateShape state={kind} />
              {t(`attention.count.${kind}`, { count })}
            </b>
            <small>{lei(sums[kind] ?? 0)} MDL</small>
          </Link>
        ))}
      <Link href="/attention">
        {t('overview.open')}
        <Icon name="right" size={14} />
      </Link>
    </section>
  );
}

function TileHead({ word }: { word: string }) {
  return (
    <h2>
      {word}
      <Icon name="right" size={14} />
    </h2>
  );
}

interface TileProps {
  day: Day;
  period: string;
}

function MoneyTile({ day, period }: TileProps) {
  const { t } = useTranslation();
  const nowMs = useNowMs();
  const before = day.before.amount;
  const change = before === 0 ? undefined : (day.total.amount - before) / before;
  return (
    <Link href={`/payments?period=${period}`} className="card tile">
      <TileHead word={t(`overview.money.${period}`, { defaultValue: t('overview.money.today') })} />
      <div className="figure">
        <span>
          {lei(day.total.amount)} <small>MDL</small>
        </span>
      </div>
      <p className="delta">
        {change === undefined ? (
          t('overview.noBefore')
        ) : (
          <>
            <b className={change < 0 ? 'down' : ''}>{`${change < 0 ? '−' : '+'}${decimal(Math.abs(change * 100), 1)} %`}</b>{' '}
            {t(`overview.on.${period}`, { defaultValue: '' })}
          </>
        )}
      </p>
      <div className="drawn">
        <GrowingLine
          label={t('overview.growing', { amount: day.total.amount })}
          values={day.hours.filter(({ at }) => Date.parse(at) <= nowMs).map(({ card, qr, cash }) => card + qr + cash)}
          before={day.hours.map((hour) => hour.before)}
        />
      </div>
    </Link>
  );
}

function ModeTile({ day, period }: TileProps) {
  const { t } = useTranslation();
  return (
    <Link href={`/payments?period=${period}&state=paid`} className="card tile">
      <TileHead word={t('overview.byMode')} />
      <div className="figure">
        <span>
          {day.total.count} <small>{t('overview.paid')}</small>
        </span>
      </div>
      <div className="mode-bar" aria-hidden="true">
        {modes.map((mode) => (
          <i key={mode} className={`swatch ${mode}-mode`} style={{ flex: Math.max(0.001, day.modes[mode].amount), width: 'auto' }} />
        ))}
      </div>
      {modes.map((mode) => (
        <div key={mode} className="mode-line">
          <i className={`swatch ${mode}-mode`} />
          <span>{t(`mode.${mode}`)}</span>
          <b>{lei(day.modes[mode].amount)}</b>
          <span>{day.modes[mode].count}</span>
        </div>
      ))}
    </Link>
  );
}

function RateTile({ day, period }: TileProps) {
  const { t } = useTranslation();
  const nowMs = useNowMs();
  const { tries, paid, declined, unknown, rate } = day.success;
  const wordOf = useHourWord(period);
  const rates = (period === '7d' ? dailySums(day.hours) : sinceOpening(day.hours, nowMs)).map((hour) => ({
    at: hour.at,
    rate: rateOf(hour.tries),
    before: rateOf(hour.triesBefore),
  }));
  const percent = (value: number) => `${decimal(value * 100, value === 1 ? 0 : 1)} %`;
  return (
    <Link href={`/payments?period=${period}&state=declined`} className="card tile">
      <TileHead word={t('overview.rate')} />
      <div className="figure">
        <span>
          {rate === undefined ? '–' : decimal(rate * 100, 1)} <small>%</small>
        </span>
      </div>
      <p className="delta">{t('overview.tries', { paid, all: tries, declined, unknown })}</p>
      <div className="drawn">
        <RateLine
          rates={rates}
          label={t('overview.rateLabel', { percent: Math.round((rate ?? 0) * 100) })}
          wordOf={wordOf}
          lowestWord={(at, lowest) => t('overview.lowest', { percent: percent(lowest), at: wordOf(at) })}
        />
        {rates.some(({ before }) => before !== undefined) && (
          <p className="chart-note">{t(`overview.dashed.${period}`, { defaultValue: '' })}</p>
        )}
      </div>
    </Link>
  );
}

function AnswerTile({ day }: { day: Day }) {
  const { t } = useTranslation();
  const { p50Ms, p95Ms } = day.answers;
  const { p50Ms: ownP50Ms, p95Ms: ownP95Ms } = day.ownShare;
  return (
    <Link href="/payments" className="card tile">
      <TileHead word={t('overview.answers')} />
      <div className="figure">
        <span>
          {p50Ms === undefined ? '–' : decimal(p50Ms / 1000, 1)} <small>{t('overview.p50')}</small>
        </span>
        <span>
          {p95Ms === undefined ? '–' : decimal(p95Ms / 1000, 1)} <small>{t('overview.p95')}</small>
        </span>
      </div>
      {ownP50Ms !== undefined && ownP95Ms !== undefined && (
        <p className="delta">{t('overview.own', { p50: duration(ownP50Ms, t), p95: duration(ownP95Ms, t) })}</p>
      )}
      {day.histogram.length > 0 && p50Ms !== undefined && p95Ms !== undefined && (
        <div className="drawn">
          <Histogram
            counts={day.histogram}
            p50Ms={p50Ms}
            p95Ms={p95Ms}
            label={t('overview.answersLabel')}
            wordOf={(ms) => duration(ms, t)}
          />
        </div>
      )}
    </Link>
  );
}

/** The hour as a clock shows it, or the day of a week. */
function useHourWord(period: string): (at: string) => string {
  const { i18n } = useTranslation();
  return (at) =>
    period === '7d'
      ? new Date(at).toLocaleDateString(i18n.language, { weekday: 'short' })
      : new Date(at).toLocaleTimeString(i18n.language, { hour: 'numeric', minute: '2-digit', hour12: false });
}

function HoursCard({ day, period }: TileProps) {
  const { t } = useTranslation();
  const nowMs = useNowMs();
  const isWeek = period === '7d';
  const dayWord = useHourWord(period);
  const wordOf = (at: string) => (isWeek ? dayWord(at) : String(new Date(at).getHours()));
  return (
    <section className="card span-7">
      <header>
        <h2 className="grow">{t(isWeek ? 'overview.byDay' : 'overview.byHour')}</h2>
        <div className="legend">
          {modes.map((mode) => (
            <span key={mode}>
              <i className={`swatch ${mode}-mode`} />
              {t(`mode.${mode}`)}
            </span>
          ))}
          {day.hours.some(({ before }) => before > 0) && (
            <span>
              <i className="swatch before" />
              {t(`overview.beforeMark.${period}`, { defaultValue: '' })}
            </span>
          )}
        </div>
      </header>
      <div className="inside">
        <HourBars
          hours={isWeek ? dailySums(day.hours) : sinceOpening(day.hours, nowMs)}
          label={t('overview.byHourLabel')}
          nowWord={t('time.now')}
          nowMs={nowMs}
          wordOf={wordOf}
        />
      </div>
    </section>
  );
}
