// The controls of a list's filters.
import { Popover } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useViewer } from '../api/session.tsx';
import { lei } from '../i18n/format.ts';
import { Icon } from './icons.tsx';
import { Library } from './library.tsx';
import { useSettled } from './settled.ts';
import type { Filters } from './use-filters.ts';
import { copyText, useBriefly } from './values.tsx';

/** The text filter: asks when typing has paused. */
export function TextFilter({ filters, label, name = 'q' }: { filters: Filters; label: string; name?: string }) {
  const wanted = filters.get(name) ?? '';
  const [text, setText] = useState(wanted);
  const settled = useSettled(text, 250);
  useEffect(() => {
    if (settled.trim() !== wanted) filters.set({ [name]: settled.trim() });
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- only what was typed may start it
  }, [settled]);
  useEffect(() => setText(wanted), [wanted]);
  return (
    <label className="search-box">
      <Icon name="search" />
      <input
        id="filter"
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </label>
  );
}

export interface Choice {
  value: string;
  word: string;
  mark?: ReactNode;
}

export function ChoiceFilter({
  filters,
  name,
  label,
  choices,
  none,
  showsDefault = false,
}: {
  filters: Filters;
  name: string;
  label: string;
  choices: Choice[];
  none?: string;
  /** Something is always chosen, so the choice is shown. */
  showsDefault?: boolean;
}) {
  const { t } = useTranslation();
  const [isOpen, setIsOpen] = useState(false);
  const chosen = choices.find(({ value }) => value === (filters.get(name) ?? (showsDefault ? none : undefined)));
  const choose = (value: string | undefined) => {
    filters.set({ [name]: value === none ? undefined : value });
    setIsOpen(false);
  };
  return (
    <Library>
      <Popover opened={isOpen} onChange={setIsOpen} position="bottom-start" transitionProps={{ duration: 0 }} trapFocus>
        <Popover.Target>
          <button type="button" className={chosen ? 'filter on' : 'filter'} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
            {!chosen && <Icon name="plus" size={12} />}
            {label}
            {chosen && <b>{chosen.word}</b>}
            {chosen && <Icon name="down" size={14} />}
          </button>
        </Popover.Target>
        <Popover.Dropdown aria-label={label}>
          <div className="menu-list">
            {choices.map((choice) => (
              <button key={choice.value} type="button" aria-pressed={choice === chosen} onClick={() => choose(choice.value)}>
                {choice.mark}
                {choice.word}
              </button>
            ))}
            {chosen && none === undefined && (
              <button type="button" onClick={() => choose(undefined)}>
                <Icon name="close" size={14} />
                {t('filter.remove')}
              </button>
            )}
          </div>
        </Popover.Dropdown>
      </Popover>
    </Library>
  );
}

export function AmountFilter({ filters }: { filters: Filters }) {
  const { t } = useTranslation();
  const [isOpen, setIsOpen] = useState(false);
  const [least, most] = [filters.get('minAmount'), filters.get('maxAmount')];
  const isOn = least !== undefined || most !== undefined;
  const [from, to] = [least, most].map((amount) => lei(Number(amount)));
  const word = least !== undefined && most !== undefined ? `${from} – ${to}` : least !== undefined ? `≥ ${from}` : `≤ ${to}`;
  return (
    <Library>
      <Popover opened={isOpen} onChange={setIsOpen} position="bottom-start" transitionProps={{ duration: 0 }} trapFocus>
        <Popover.Target>
          <button type="button" className={isOn ? 'filter on' : 'filter'} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
            {!isOn && <Icon name="plus" size={12} />}
            {t('list.amount')}
            {isOn && <b className="num">{word}</b>}
          </button>
        </Popover.Target>
        <Popover.Dropdown aria-label={t('list.amount')}>
          <form
            className="menu-form"
            onSubmit={(event) => {
              event.preventDefault();
              const form = new FormData(event.currentTarget);
              filters.set({ minAmount: form.get('least') as string, maxAmount: form.get('most') as string });
              setIsOpen(false);
            }}
          >
            <label className="field">
              <span>{t('filter.least')}</span>
              <input className="input" name="least" type="number" step="0.01" min="0" defaultValue={least} />
            </label>
            <label className="field">
              <span>{t('filter.most')}</span>
              <input className="input" name="most" type="number" step="0.01" min="0" defaultValue={most} />
            </label>
            <button type="submit" className="btn primary">
              {t('filter.apply')}
            </button>
          </form>
        </Popover.Dropdown>
      </Popover>
    </Library>
  );
}

export const periods = ['today', 'yesterday', '7d', '30d', 'all'] as const;

/** From and to of a named period in the viewer's own zone. `2026-11-01..2026-11-12`: those days, both included. */
export function periodOf(name: string): { from?: string; to?: string } {
  const midnight = new Date();
  midnight.setHours(0, 0, 0, 0);
  const daysAgo = (days: number) => {
    const day = new Date(midnight);
    day.setDate(day.getDate() - days);
    return day.toISOString();
  };
  const [first, last] = rangeOf(name) ?? [];
  if (first !== undefined && last !== undefined) {
    const end = new Date(`${last}T00:00:00`);
    end.setDate(end.getDate() + 1);
    return { from: new Date(`${first}T00:00:00`).toISOString(), to: end.toISOString() };
  }
  if (name === 'today') return { from: daysAgo(0) };
  if (name === 'yesterday') return { from: daysAgo(1), to: daysAgo(0) };
  if (name === '7d') return { from: daysAgo(6) };
  return name === '30d' ? { from: daysAgo(29) } : {};
}

function rangeOf(name: string): [first: string, last: string] | undefined {
  const [, first = '', last = ''] = /^(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)$/.exec(name) ?? [];
  return first !== '' && first <= last && !Number.isNaN(Date.parse(first)) && !Number.isNaN(Date.parse(last)) ? [first, last] : undefined;
}

/** A named period, or two dates. `standard` is what the list shows without a choice. */
export function PeriodFilter({ filters, standard = 'all' }: { filters: Filters; standard?: string }) {
  const { t, i18n } = useTranslation();
  const [isOpen, setIsOpen] = useState(false);
  const chosen = filters.get('period') ?? standard;
  const range = rangeOf(chosen);
  const dayOf = (day: string) => new Date(`${day}T00:00:00`).toLocaleDateString(i18n.language, { day: 'numeric', month: 'short' });
  const word = range
    ? range[0] === range[1]
      ? dayOf(range[0])
      : `${dayOf(range[0])} – ${dayOf(range[1])}`
    : t(`period.${chosen}`, { defaultValue: '' });
  const choose = (period: string) => {
    filters.set({ period: period === standard ? undefined : period });
    setIsOpen(false);
  };
  return (
    <Library>
      <Popover opened={isOpen} onChange={setIsOpen} position="bottom-start" transitionProps={{ duration: 0 }} trapFocus>
        <Popover.Target>
          <button
            type="button"
            className={chosen === 'all' ? 'filter' : 'filter on'}
            aria-expanded={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          >
            {chosen === 'all' && <Icon name="plus" size={12} />}
            {t('list.date')}
            {chosen !== 'all' && <b>{word}</b>}
          </button>
        </Popover.Target>
        <Popover.Dropdown aria-label={t('list.date')}>
          <div className="menu-list">
            {periods.map((period) => (
              <button key={period} type="button" aria-pressed={period === chosen} onClick={() => choose(period)}>
                {t(`period.${period}`)}
              </button>
            ))}
          </div>
          <form
            className="menu-form"
            onSubmit={(event) => {
              event.preventDefault();
              const form = new FormData(event.currentTarget);
              const [first, last] = [form.get('first') as string, form.get('last') as string];
              if (rangeOf(`${first}..${last}`)) choose(`${first}..${last}`);
            }}
          >
            <label className="field">
              <span>{t('filter.firstDay')}</span>
              <input className="input" name="first" type="date" required defaultValue={range?.[0]} />
            </label>
            <label className="field">
              <span>{t('filter.lastDay')}</span>
              <input className="input" name="last" type="date" required defaultValue={range?.[1]} />
            </label>
            <button type="submit" className="btn primary">
              {t('filter.apply')}
            </button>
          </form>
        </Popover.Dropdown>
      </Popover>
    </Library>
  );
}

/** Several of a few, with commas between them in the address. */
export function ManyFilter({ filters, name, label, choices }: { filters: Filters; name: string; label: string; choices: Choice[] }) {
  const { t } = useTranslation();
  const [isOpen, setIsOpen] = useState(false);
  const chosen = (filters.get(name) ?? '').split(',').filter((value) => choices.some((choice) => choice.value === value));
  const toggle = (value: string) =>
    filters.set({ [name]: (chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value]).join(',') });
  const words = choices.filter(({ value }) => chosen.includes(value)).map(({ word }) => word);
  return (
    <Library>
      <Popover opened={isOpen} onChange={setIsOpen} position="bottom-start" transitionProps={{ duration: 0 }} trapFocus>
        <Popover.Target>
          <button
            type="button"
            className={chosen.length > 0 ? 'filter on' : 'filter'}
            aria-expanded={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          >
            {chosen.length === 0 && <Icon name="plus" size={12} />}
            {label}
            {chosen.length > 0 && <b>{words.length > 2 ? t('filter.several', { count: words.length }) : words.join(', ')}</b>}
          </button>
        </Popover.Target>
        <Popover.Dropdown aria-label={label}>
          <div className="menu-list">
            {choices.map((choice) => (
              <button key={choice.value} type="button" aria-pressed={chosen.includes(choice.value)} onClick={() => toggle(choice.value)}>
                {choice.mark}
                <span className="grow">{choice.word}</span>
                {chosen.includes(choice.value) && <Icon name="check" size={14} />}
              </button>
            ))}
          </div>
        </Popover.Dropdown>
      </Popover>
    </Library>
  );
}

/** The address of this very list, with the merchant that is looked at. */
export function ShareView() {
  const { t } = useTranslation();
  const { merchantId } = useViewer();
  const [isCopied, markCopied] = useBriefly();
  const copy = () => {
    const address = new URL(location.href);
    if (merchantId !== undefined) address.searchParams.set('merchant', merchantId);
    void copyText(address.href).then(markCopied);
  };
  return (
    <button type="button" className="btn plain" onClick={copy}>
      <Icon name="link" />
      {isCopied ? t('copy.done') : t('list.share')}
    </button>
  );
}
