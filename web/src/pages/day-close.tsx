// The day of a shop: bank, Z report and ledger side by side over exactly one period, differences marked and explained.
import './day-close.css';
import { Fragment, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { addressOf } from '../api/client.ts';
import type { DayClose as Day, DayGroup, DayLine, Line, Shop } from '../api/day-close.ts';
import { useChange, useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { exactTime, lei } from '../i18n/format.ts';
import { AskDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { ChoiceFilter } from '../parts/filters.tsx';
import { Icon } from '../parts/icons.tsx';
import { NewPill } from '../parts/list.tsx';
import { Menu, MenuItem } from '../parts/menu.tsx';
import { Blank, PageHead, Read } from '../parts/page.tsx';
import { State, StateChip } from '../parts/state-mark.tsx';
import { useFilters } from '../parts/use-filters.ts';
import { ExactMoment } from '../parts/values.tsx';
import { AskDevice, type DeviceAsk } from './device-dialogs.tsx';

export function DayClose() {
  const { t, i18n } = useTranslation();
  const { scope, may } = useViewer();
  const filters = useFilters();
  const shops = useRead<{ shops: Shop[] }>('/day-close/shops', { ...scope });
  const all = shops.data?.shops ?? [];
  const newest = useFirst(newestOf(all), all, keyOf);
  const shop = all.find((one) => keyOf(one) === filters.get('shop')) ?? newest;
  const closes = shop?.closes ?? [];
  // The day that is looked at stays when a device is closed meanwhile; the new close waits behind a button.
  const first = useFirst(closes[0], closes, ({ id }) => id);
  const close = closes.find(({ id }) => id === filters.get('close')) ?? first;
  const newCount = filters.get('close') === undefined ? closes.findIndex(({ id }) => id === first?.id) : 0;
  const wanted = { ...scope, close: close?.id };
  const nameOf = (one: Shop | undefined) =>
    [one?.merchantName, one?.code === '' ? t('devices.noShop') : one?.code].filter(Boolean).join(', ');
  const day = useRead<Day>('/day-close', wanted, { isEnabled: close !== undefined });
  const [run, setRun] = useState<{ device: { id: string; name: string }; ask: DeviceAsk }>();
  return (
    <>
      <PageHead name={t('page.dayClose')} sub={close ? t('dayClose.sub', { shop: nameOf(shop), at: close.at }) : t('dayClose.about')}>
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
          !shop ? (
            <Blank icon="dayClose" title={t('dayClose.empty.title')}>
              <p>{t('dayClose.empty.hint')}</p>
            </Blank>
          ) : (
            <>
              <div className="filters no-print">
                <ChoiceFilter
                  filters={filters}
                  name="shop"
                  showsDefault
                  label={t('fact.shop')}
                  none={newest && keyOf(newest)}
                  choices={all.map((one) => ({ value: keyOf(one), word: nameOf(one) }))}
                />
                {close && (
                  <ChoiceFilter
                    filters={filters}
                    name="close"
                    showsDefault
                    label={t('dayClose.close')}
                    none={first?.id}
                    choices={shop.closes.map((one) => ({
                      value: one.id,
                      word: `${t(`dayClose.kind.${one.kind}`)} · ${shop.devices.find(({ id }) => id === one.deviceId)?.name ?? ''} · ${exactTime(one.at, i18n.language)}`,
                    }))}
                  />
                )}
                {newCount > 0 && <NewPill count={newCount} onShow={() => filters.set({ close: closes[0]?.id })} />}
                <span className="grow" />
                {day.data && <Verdict day={day.data} />}
              </div>
              {close ? (
                <Read of={day}>{(fields) => <Books day={fields} closeId={close.id} />}</Read>
              ) : (
                <Blank icon="dayClose" title={t('dayClose.empty.title')}>
                  <p>{t('dayClose.empty.hint')}</p>
                </Blank>
              )}
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
    <Menu
      align="end"
      button={{
        className: 'btn',
        children: (
          <>
            {t('dayClose.run')}
            <Icon name="down" size={14} />
          </>
        ),
      }}
    >
      {shop.devices.flatMap((device) =>
        (device.kind === 'terminal' ? (['closeDay'] as const) : (['xReport', 'zReport'] as const)).map((ask) => (
          <MenuItem key={`${device.id} ${ask}`} onChoose={() => onRun({ device, ask })}>
            {t(`devices.ask.${ask}.button`)} · {device.name}
          </MenuItem>
        )),
      )}
    </Menu>
  );
}

const differingIn = ({ lines }: Day) => lines.filter(({ difference = 0 }) => Math.round(difference * 100) !== 0);

/** How many lines differ (totals have no differences of their own), and whether operations explain it. */
function Verdict({ day }: { day: Day }) {
  const { t } = useTranslation();
  const count = differingIn(day).filter(({ line }) => !totals.has(line)).length;
  if (count === 0) return null;
  const isExplained = day.equation?.rest === 0 && day.groups.some(({ effect }) => effect !== 0);
  return <StateChip state="differs" word={t(isExplained ? 'dayClose.explained' : 'dayClose.differences', { count })} />;
}

/** The first value that is there, as long as it is in the list; of another list, its own. */
function useFirst<Item>(value: Item | undefined, list: readonly Item[], idOf: (item: Item) => string): Item | undefined {
  const [id, setId] = useState<string>();
  const kept = list.find((item) => idOf(item) === id);
  if (!kept && value !== undefined) setId(idOf(value));
  return kept ?? value;
}

/** The shop with the newest close; without any close the first one. */
function newestOf(shops: readonly Shop[]): Shop | undefined {
  const newestClose = (shop: Shop) => Math.max(0, ...shop.closes.map(({ at }) => Date.parse(at)));
  return shops.reduce<Shop | undefined>((best, shop) => (best && newestClose(best) >= newestClose(shop) ? best : shop), undefined);
}

const keyOf = ({ merchantId, code }: Shop) => `${merchantId} ${code}`;
const outgoing = new Set<Line>(['cardRefunds', 'cashOut']);
const totals = new Set<Line>(['cardNet', 'drawer']);
const notTheBanks = new Set<Line>(['cashSales', 'cashIn', 'cashOut', 'drawer']);

function Books({ day, closeId }: { day: Day; closeId: string }) {
  const { t } = useTranslation();
  const [isNoting, setIsNoting] = useState(false);
  const { may } = useViewer();
  const differing = differingIn(day);
  const hasBoth = day.canCompare.bank || day.canCompare.z;
  return (
    <>
      {!hasBoth && <p className="note tone-warn">{t('dayClose.cannot')}</p>}
      <div className="card list-card">
        <table className="books">
          <thead>
            <tr>
              <th scope="col">MDL</th>
              <BookHead name="bank" day={day} />
              <BookHead name="z" day={day} />
              <th scope="col">
                <b>{t('dayClose.book.ledger')}</b>
                <span>{t('dayClose.operations', { count: day.operations })}</span>
              </th>
              <th scope="col">
                <b>{t('dayClose.difference')}</b>
                <span>{t('dayClose.largest')}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {day.lines.map((line) => (
              <BookLine key={line.line} line={line} books={new Set(day.sources.map(({ kind }) => kind))} />
            ))}
          </tbody>
        </table>
      </div>
      {differing.length === 0 && hasBoth && (
        <p className="note tone-ok day-agrees">
          <State
            state="agrees"
            word={t(new Set(day.sources.map(({ kind }) => kind)).size > 1 ? 'dayClose.agrees' : 'dayClose.agreesAlone')}
          />
        </p>
      )}
      {(differing.length > 0 || day.groups.length > 0) && (
        <section className="why">
          <div>
            {day.equation && <Equation equation={day.equation} groups={day.groups} />}
            {day.groups.map((group) => (
              <Group key={group.kind} group={group} />
            ))}
            {differing.length > 0 && day.groups.length === 0 && !day.equation?.rest && (
              <p className="second">{t('dayClose.unexplained')}</p>
            )}
          </div>
          <div>
            <h2>{t('dayClose.next')}</h2>
            <p className="second">{t('dayClose.nextHint')}</p>
            {day.note && (
              <p className="note">
                {day.note.reason} · {day.note.actor} · <ExactMoment at={day.note.at} />
              </p>
            )}
            {may('money') && !day.note && (
              <button type="button" className="btn primary no-print" onClick={() => setIsNoting(true)}>
                {t('dayClose.noteButton')}
              </button>
            )}
          </div>
        </section>
      )}
      {isNoting && <NoteDay closeId={closeId} onClose={() => setIsNoting(false)} />}
    </>
  );
}

function BookLine({ line: { line, bank, z, ledger, difference }, books }: { line: DayLine; books: ReadonlySet<'bank' | 'z'> }) {
  const { t } = useTranslation();
  const signed = (amount: number) => lei(outgoing.has(line) ? -Math.abs(amount) : amount);
  const cell = (name: 'bank' | 'z', amount: number | undefined) => {
    const isOther = amount !== undefined && Math.round(amount * 100) !== Math.round(ledger * 100);
    return (
      <td className={amount === undefined ? 'none' : isOther ? 'differs' : ''} data-label={t(`dayClose.book.${name}`)}>
        {amount !== undefined
          ? signed(amount)
          : books.has(name)
            ? t(name === 'bank' && notTheBanks.has(line) ? 'dayClose.notBanks' : 'dayClose.notReported')
            : t('none')}
      </td>
    );
  };
  return (
    <tr className={totals.has(line) ? 'total' : ''}>
      <th scope="row">{t(`dayClose.line.${line}`)}</th>
      {cell('bank', bank)}
      {cell('z', z)}
      <td data-label={t('dayClose.book.ledger')}>{signed(ledger)}</td>
      <td data-label={t('dayClose.difference')}>
        {difference === undefined ? (
          <span className="faint">{t('none')}</span>
        ) : Math.round(difference * 100) === 0 ? (
          <State state="agrees" word={t('dayClose.none')} />
        ) : (
          <State state="differs" word={lei(Math.abs(difference))} />
        )}
      </td>
    </tr>
  );
}

function BookHead({ name, day }: { name: 'bank' | 'z'; day: Day }) {
  const { t, i18n } = useTranslation();
  const sources = day.sources.filter(({ kind }) => kind === name);
  const [first, ...more] = sources;
  const from = sources.flatMap((source) => (source.from === undefined ? [] : [source.from])).sort()[0];
  const to = sources
    .map((source) => source.to)
    .sort()
    .at(-1);
  const said = sources.map(({ deviceName, number }) => (number === undefined ? deviceName : `${deviceName} · ${number}`));
  return (
    <th scope="col" title={said.join('\n')}>
      <b>{t(`dayClose.book.${name}`)}</b>
      {first && <span>{more.length === 0 ? said[0] : t(`dayClose.${name}s`, { count: sources.length })}</span>}
      {!first && <span>{t(`dayClose.noClose.${name}`)}</span>}
      {to !== undefined && (
        <span>
          {from !== undefined && `${exactTime(from, i18n.language)} – `}
          {exactTime(to, i18n.language)}
        </span>
      )}
    </th>
  );
}

/** Bank minus Z, and what it is made of: each part with its sign, and what no operation explains. */
function Equation({ equation: { bank, z, rest }, groups }: { equation: NonNullable<Day['equation']>; groups: readonly DayGroup[] }) {
  const { t } = useTranslation();
  const parts = [
    ...groups
      .filter(({ effect }) => effect !== 0)
      .map(({ kind, effect, count }) => ({ key: kind as string, word: t(`dayClose.part.${kind}`, { count }), effect })),
    ...(rest === 0 ? [] : [{ key: 'rest', word: t('dayClose.part.rest'), effect: rest }]),
  ];
  if (parts.length === 0) return null;
  return (
    <div className="equation" role="group" aria-label={t('dayClose.equation')}>
      <Term word={t('dayClose.book.bank')} amount={bank} />
      <span aria-hidden="true">−</span>
      <Term word={t('dayClose.book.z')} amount={z} />
      {parts.map(({ key, word, effect }, index) => (
        <Fragment key={key}>
          <span aria-hidden="true">{index === 0 ? (effect < 0 ? '= −' : '=') : effect < 0 ? '−' : '+'}</span>
          <Term word={word} amount={Math.abs(effect)} isPart />
        </Fragment>
      ))}
    </div>
  );
}

function Term({ word, amount, isPart = false }: { word: string; amount: number; isPart?: boolean }) {
  return (
    <div className={isPart ? 'term part' : 'term'}>
      <span>{word}</span>
      <b className="num">{lei(amount)}</b>
    </div>
  );
}

const shownAtFirst = 5;

function Group({ group }: { group: DayGroup }) {
  const { t } = useTranslation();
  const [isWhole, setIsWhole] = useState(false);
  const hidden = group.operations.length - shownAtFirst;
  return (
    <>
      <h2>{t(`dayClose.group.${group.kind}`, { count: group.count, amount: group.sum })}</h2>
      {group.operations.slice(0, isWhole ? undefined : shownAtFirst).map((operation) => (
        <div key={operation.id} className="operation">
          <ExactMoment at={operation.at} />
          <State state={operation.shownState} />
          <b className="strong num">{lei(operation.amount ?? 0)}</b>
          <span>{operation.deviceName}</span>
          {operation.rrn !== undefined && <span className="mono">{operation.rrn}</span>}
          <span className="grow" />
          <Link className="link" href={`/payments/${operation.id}`}>
            {t(operation.name === 'Pay' ? 'attention.look' : 'dayClose.open')}
          </Link>
        </div>
      ))}
      {!isWhole && hidden > 0 && (
        <button type="button" className="btn plain no-print" onClick={() => setIsWhole(true)}>
          <Icon name="down" size={14} />
          {t('dayClose.more', { count: hidden })}
        </button>
      )}
      {isWhole && group.count > group.operations.length && (
        <p className="second">{t('dayClose.notListed', { count: group.count - group.operations.length })}</p>
      )}
    </>
  );
}

function NoteDay({ closeId, onClose }: { closeId: string; onClose: () => void }) {
  const { t } = useTranslation();
  const [reason, setReason] = useState('');
  const note = useChange(['/day-close', '/audit'], onClose);
  return (
    <AskDialog
      title={t('dayClose.noteTitle')}
      consequence={t('dayClose.noteMeans')}
      action={t('act.note.do')}
      isRunning={note.isPending}
      isBlocked={reason.trim() === ''}
      error={note.error}
      onClose={onClose}
      onConfirm={() => note.mutate({ path: '/attention/note', body: { kind: 'dayClose', subjectId: closeId, reason: reason.trim() } })}
    >
      <Field label={t('act.reason')} hint={t('act.reasonHint')}>
        <textarea className="input" data-autofocus maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} />
      </Field>
    </AskDialog>
  );
}
