// The day of a shop: bank, Z report and ledger side by side over exactly one period, differences marked and explained.
import './day-close.css';
import { Menu } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { addressOf } from '../api/client.ts';
import { type Book, type DayClose as Day, type Difference, type Line, lines, type Shop } from '../api/day-close.ts';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { exactTime, lei } from '../i18n/format.ts';
import { ChoiceFilter, useFilters } from '../parts/filters.tsx';
import { Icon } from '../parts/icons.tsx';
import { Blank, PageHead, Read } from '../parts/page.tsx';
import { State, StateChip } from '../parts/state-mark.tsx';
import { ExactMoment } from '../parts/values.tsx';
import { AskDevice, type DeviceAsk } from './device-dialogs.tsx';

export function DayClose() {
  const { t, i18n } = useTranslation();
  const { scope, may } = useViewer();
  const filters = useFilters();
  const shops = useRead<{ shops: Shop[] }>('/day-close/shops', { ...scope });
  const all = shops.data?.shops ?? [];
  const shop = all.find((one) => one.shop === filters.get('shop')) ?? all[0];
  const close = shop?.closes.find(({ commandId }) => commandId === filters.get('close')) ?? shop?.closes[0];
  const wanted = { ...scope, shop: shop?.shop, close: close?.commandId };
  const day = useRead<Day>('/day-close', wanted, { isEnabled: close !== undefined });
  const [run, setRun] = useState<{ device: { id: string; name: string }; ask: DeviceAsk }>();
  return (
    <>
      <PageHead name={t('page.dayClose')} sub={close ? t('dayClose.sub', { shop: shop?.shop ?? '', at: close.at }) : t('dayClose.about')}>
        {close && (
          <a className="btn" href={addressOf('/day-close.csv', wanted)} download>
            <Icon name="export" />
            CSV
          </a>
        )}
        {close && (
          <button type="button" className="btn" onClick={() => window.print()}>
            <Icon name="print" />
            {t('dayClose.print')}
          </button>
        )}
        {shop && may('money') && <RunMenu shop={shop} onRun={setRun} />}
      </PageHead>
      <Read of={shops}>
        {() =>
          !shop || !close ? (
            <Blank icon="dayClose" title={t('dayClose.empty.title')}>
              <p>{t('dayClose.empty.hint')}</p>
            </Blank>
          ) : (
            <>
              <div className="filters no-print">
                <ChoiceFilter
                  filters={filters}
                  name="shop"
                  label={t('fact.shop')}
                  none={all[0]?.shop}
                  choices={all.map((one) => ({ value: one.shop, word: one.shop === '' ? t('devices.noShop') : one.shop }))}
                />
                <ChoiceFilter
                  filters={filters}
                  name="close"
                  label={t('dayClose.close')}
                  none={shop.closes[0]?.commandId}
                  choices={shop.closes.map((one) => ({
                    value: one.commandId,
                    word: `${t(`dayClose.kind.${one.kind}`)} · ${one.deviceName} · ${exactTime(one.at, i18n.language)}`,
                  }))}
                />
              </div>
              <Read of={day}>{(fields) => <Books day={fields} />}</Read>
            </>
          )
        }
      </Read>
      {run && <AskDevice device={run.device} ask={run.ask} onClose={() => setRun(undefined)} />}
    </>
  );
}

function RunMenu({ shop, onRun }: { shop: Shop; onRun: (run: { device: { id: string; name: string }; ask: DeviceAsk }) => void }) {
  const { t } = useTranslation();
  return (
    <Menu position="bottom-end" transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <button type="button" className="btn primary">
          {t('dayClose.run')}
          <Icon name="down" size={14} />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {shop.devices.flatMap((device) =>
          (device.kind === 'terminal' ? (['closeDay'] as const) : (['xReport', 'zReport'] as const)).map((ask) => (
            <Menu.Item key={`${device.id} ${ask}`} onClick={() => onRun({ device, ask })}>
              {t(`devices.ask.${ask}.button`)} · {device.name}
            </Menu.Item>
          )),
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

const outgoing = new Set<Line>(['refunds', 'cashOut']);

function Books({ day }: { day: Day }) {
  const { t } = useTranslation();
  const differenceOf = (line: Line) => day.differences.find((difference) => difference.line === line);
  const signed = (line: Line, amount: number) => lei(outgoing.has(line) ? -Math.abs(amount) : amount);
  const cell = (book: Book | undefined, line: Line, name: string) => {
    const amount = book?.totals?.[line];
    const ledger = day.ledger.totals?.[line];
    const isOther = amount !== undefined && ledger !== undefined && Math.round(amount * 100) !== Math.round(ledger * 100);
    return (
      <td className={amount === undefined ? 'none' : isOther ? 'differs' : ''} data-label={t(`dayClose.book.${name}`)}>
        {amount === undefined
          ? t(name === 'bank' && (line === 'cash' || line === 'cashIn' || line === 'cashOut') ? 'dayClose.notBanks' : 'dayClose.notTold')
          : signed(line, amount)}
      </td>
    );
  };
  return (
    <>
      {!day.canCompare && <p className="note tone-warn">{t('dayClose.cannot')}</p>}
      <div className="card list-card">
        <table className="books">
          <thead>
            <tr>
              <th scope="col">MDL</th>
              <BookHead name="bank" book={day.bank} />
              <BookHead name="z" book={day.z} />
              <BookHead name="ledger" book={day.ledger} />
              <th scope="col">
                <b>{t('dayClose.difference')}</b>
                <span>{t('dayClose.largest')}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => {
              const difference = differenceOf(line);
              return (
                <tr key={line}>
                  <th scope="row">{t(`dayClose.line.${line}`)}</th>
                  {cell(day.bank, line, 'bank')}
                  {cell(day.z, line, 'z')}
                  {cell(day.ledger, line, 'ledger')}
                  <td data-label={t('dayClose.difference')}>
                    {difference ? (
                      <State state="differs" word={lei(Math.abs(difference.amount))} />
                    ) : day.canCompare ? (
                      <State state="agrees" word={t('dayClose.none')} />
                    ) : (
                      <span className="faint">{t('none')}</span>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {day.differences.map((difference) => (
        <Why key={difference.line} difference={difference} />
      ))}
      {day.differences.length === 0 && day.canCompare && (
        <p className="calm">
          <StateChip state="agrees" /> {t('dayClose.agrees')}
        </p>
      )}
    </>
  );
}

function BookHead({ name, book }: { name: 'bank' | 'z' | 'ledger'; book: Book | undefined }) {
  const { t, i18n } = useTranslation();
  return (
    <th scope="col">
      <b>{t(`dayClose.book.${name}`)}</b>
      <span>
        {name === 'ledger'
          ? t('dayClose.operations', { count: book?.operations ?? 0 })
          : [book?.deviceName, book?.number && `No. ${book.number}`].filter(Boolean).join(', ')}
      </span>
      {book?.from !== undefined && book.to !== undefined && (
        <span>
          {exactTime(book.from, i18n.language)} – {exactTime(book.to, i18n.language)}
        </span>
      )}
    </th>
  );
}

function Why({ difference }: { difference: Difference }) {
  const { t } = useTranslation();
  return (
    <section className="why">
      <div>
        <h2>{t('dayClose.why', { line: t(`dayClose.line.${difference.line}`), amount: Math.abs(difference.amount) })}</h2>
        {difference.operations.length === 0 && <p className="second">{t('dayClose.unexplained')}</p>}
        {difference.operations.map((operation) => (
          <div key={operation.id} className="operation">
            <ExactMoment at={operation.at} />
            <State state={operation.shownState} />
            <b className="strong num">{lei(operation.amount ?? 0)}</b>
            <span>{operation.deviceName}</span>
            {operation.why !== undefined && (
              <span className="second">{t(`dayClose.because.${operation.why}`, { defaultValue: operation.why })}</span>
            )}
            <span className="grow" />
            <Link className="link" href={`/payments/${operation.id}`}>
              {t('dayClose.open')}
            </Link>
          </div>
        ))}
      </div>
      <div>
        <h2>{t('dayClose.next')}</h2>
        <p className="second">{t('dayClose.nextHint')}</p>
      </div>
    </section>
  );
}
