// One box for every number that somebody may have in hand: document, rrn, operation, OID, receipt, device, amount.
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import type { Found } from '../api/views.ts';
import { lei } from '../i18n/format.ts';
import { Icon, type IconName } from '../parts/icons.tsx';
import { useSaid } from '../parts/said.ts';
import { useSettled } from '../parts/settled.ts';
import { Moment, shortId } from '../parts/values.tsx';

const icons: Record<Found['kind'], IconName> = { command: 'payments', invoice: 'invoices', device: 'devices', callback: 'callbacks' };

export function pathOf(found: Pick<Found, 'kind' | 'id'>): string {
  if (found.kind === 'command') return `/payments/${found.id}`;
  return found.kind === 'invoice'
    ? `/invoices/${found.id}`
    : found.kind === 'device'
      ? `/devices?device=${found.id}`
      : `/callbacks?callback=${found.id}`;
}

export function Search({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const { scope } = useViewer();
  const said = useSaid();
  const [, go] = useLocation();
  const listId = useId();
  const [text, setText] = useState('');
  const [isOpen, setIsOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const wanted = useSettled(text.trim(), 200);
  const found = useRead<{ results: Found[] }>('/search', { q: wanted, ...scope }, { isEnabled: wanted.length >= 2, keepsPrevious: true });
  const results = wanted.length >= 2 ? (found.data?.results ?? []) : [];
  const isShown = isOpen && wanted.length >= 2;

  const leave = () => {
    setIsOpen(false);
    setText('');
    onDone();
  };
  const openOne = (one: Found | undefined) => {
    if (!one) return;
    go(pathOf(one));
    leave();
  };
  return (
    <search className="search">
      <div className="search-box">
        <Icon name="search" />
        <input
          id="search"
          type="text"
          role="combobox"
          autoComplete="off"
          spellCheck={false}
          aria-label={t('search.label')}
          aria-expanded={isShown}
          aria-controls={listId}
          aria-activedescendant={isShown && results[chosen] ? `${listId}-${chosen}` : undefined}
          placeholder={t('search.label')}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setIsOpen(true);
            setChosen(0);
          }}
          onFocus={() => setIsOpen(true)}
          onBlur={() => setTimeout(() => setIsOpen(false), 150)}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') setChosen(Math.min(chosen + 1, results.length - 1));
            else if (event.key === 'ArrowUp') setChosen(Math.max(chosen - 1, 0));
            else if (event.key === 'Enter') openOne(results[chosen]);
            else if (event.key === 'Escape') {
              event.currentTarget.blur();
              leave();
            } else return;
            event.preventDefault();
          }}
        />
        <kbd>/</kbd>
      </div>
      {isShown && (
        <div className="found" id={listId} role="listbox" aria-label={t('search.results')}>
          {results.map((one, index) => (
            <div
              key={`${one.kind} ${one.id}`}
              id={`${listId}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === chosen}
              onMouseDown={() => openOne(one)}
            >
              <Icon name={icons[one.kind]} />
              <span className="cut">
                {said(one.title)}
                {one.amount !== undefined && ` · ${lei(one.amount)} MDL`}
              </span>
              <span className="small faint">{one.at !== undefined && <Moment at={one.at} />}</span>
              <span />
              <span className="mono small faint cut">
                {String(one.title.params?.['rrn'] ?? one.title.params?.['receiptId'] ?? shortId(one.id))}
              </span>
            </div>
          ))}
          {results.length === 0 && !found.isFetching && <p>{t('search.nothing', { text: wanted })}</p>}
        </div>
      )}
    </search>
  );
}
