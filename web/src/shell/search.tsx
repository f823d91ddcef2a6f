// One box for every number of a sale: document, rrn, operation, OID, receipt, device, amount.
import { useEffect, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { operationNamed } from '../../../src/kernel/operations.ts';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import type { Found } from '../api/views.ts';
import { lei } from '../i18n/format.ts';
import { Icon, type IconName } from '../parts/icons.tsx';
import { useSaid } from '../parts/said.ts';
import { useSettled } from '../parts/settled.ts';
import { ListMoment, shortId } from '../parts/values.tsx';
import { placesOf } from './places.ts';

const icons: Record<Found['kind'], IconName> = { command: 'payments', invoice: 'invoices', device: 'devices', callback: 'callbacks' };

export function pathOf(found: Pick<Found, 'kind' | 'id'>): string {
  if (found.kind === 'command') return `/payments/${found.id}`;
  return found.kind === 'invoice'
    ? `/invoices/${found.id}`
    : found.kind === 'device'
      ? `/devices?device=${found.id}`
      : `/callbacks?callback=${found.id}`;
}

/** The list with all of them: of payments, of another operation, of receipts and reports, or of invoices. */
function listPathOf(results: readonly Found[], text: string): string | undefined {
  const names = results.flatMap(({ kind, title }) => (kind === 'command' ? [String(title.params?.['name'])] : []));
  const name = names.includes('Pay') ? 'Pay' : names[0];
  const q = `q=${encodeURIComponent(text)}`;
  if (name === undefined) return results.some(({ kind }) => kind === 'invoice') ? `/invoices?${q}` : undefined;
  if (operationNamed(name).mode === 'Fiscal') return `/fiscal?${q}`;
  return name === 'Pay' ? `/payments?${q}` : `/payments?${q}&name=${name}`;
}

/** An entry of the search box: a result, a page, an action, or the list of all results. */
interface Entry {
  key: string;
  path: string;
  icon: IconName;
  title: string;
  found?: Found;
}

/** Pages and actions whose name has the text in it. */
function useCommands(text: string): Entry[] {
  const { t } = useTranslation();
  const { session, may } = useViewer();
  const actions: Entry[] = [
    ...(may('setup')
      ? [
          { key: 'key', path: '/keys?new=1', icon: 'keys' as const, title: t('search.action.key') },
          { key: 'device', path: '/devices?new=1', icon: 'devices' as const, title: t('search.action.device') },
        ]
      : []),
    ...(may('merchants')
      ? [{ key: 'merchant', path: '/merchants?new=1', icon: 'merchants' as const, title: t('search.action.merchant') }]
      : []),
  ];
  const places = placesOf(session).map(({ key, path, icon }) => ({
    key,
    path,
    icon,
    title: t('search.go', { page: t(`page.${key}`) }),
  }));
  const wanted = text.toLowerCase();
  return [...places, ...actions].filter(({ title }) => title.toLowerCase().includes(wanted));
}

/** The entries for a text, pages and actions included. */
function useEntries(text: string): { entries: Entry[]; isCurrent: boolean; isFetching: boolean } {
  const { t } = useTranslation();
  const { scope } = useViewer();
  const said = useSaid();
  const wanted = useSettled(text, 200);
  const found = useRead<{ results: Found[] }>('/search', { q: wanted, ...scope }, { isEnabled: wanted.length >= 2, keepsPrevious: true });
  const commands = useCommands(text);
  const results = wanted.length >= 2 ? (found.data?.results ?? []) : [];
  const listPath = listPathOf(results, wanted);
  const entries: Entry[] = [
    ...results.map((one) => ({
      key: `${one.kind} ${one.id}`,
      path: pathOf(one),
      icon: icons[one.kind],
      title: said(one.title),
      found: one,
    })),
    ...(listPath === undefined ? [] : [{ key: 'all', path: listPath, icon: 'search' as const, title: t('search.all') }]),
    ...commands.slice(0, results.length > 0 ? 3 : 20),
  ];
  // The shown results are those of this text, not of the previous one.
  const isCurrent = wanted === text && (wanted.length < 2 || (!found.isPlaceholderData && !found.isLoading));
  return { entries, isCurrent, isFetching: found.isFetching };
}

export function Search({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const [, go] = useLocation();
  const listId = useId();
  const [text, setText] = useState('');
  const [isOpen, setIsOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const [isEntered, setIsEntered] = useState(false);
  const { entries, isCurrent, isFetching } = useEntries(text.trim());
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      document.querySelector<HTMLInputElement>('#search')?.focus();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);

  const leave = () => {
    setIsOpen(false);
    setIsEntered(false);
    setText('');
    document.querySelector<HTMLInputElement>('#search')?.blur();
    onDone();
  };
  const openOne = (one: Entry | undefined) => {
    if (!one) return;
    go(one.path);
    leave();
  };
  const firstPath = entries[0]?.path;
  // Enter before the results have arrived opens the first of them, never a result of the previous text.
  useEffect(() => {
    if (!isEntered || !isCurrent || firstPath === undefined) return;
    go(firstPath);
    leave();
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- only the arrival of the results may open one
  }, [isEntered, isCurrent, firstPath]);
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
          aria-expanded={isOpen}
          aria-controls={listId}
          aria-activedescendant={isOpen && entries[chosen] ? `${listId}-${chosen}` : undefined}
          placeholder={t('search.label')}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setIsOpen(true);
            setChosen(0);
            setIsEntered(false);
          }}
          onFocus={() => setIsOpen(true)}
          onBlur={() => {
            setIsEntered(false);
            setIsOpen(false);
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') setChosen(Math.min(chosen + 1, entries.length - 1));
            else if (event.key === 'ArrowUp') setChosen(Math.max(chosen - 1, 0));
            else if (event.key === 'Enter' && isCurrent) openOne(entries[chosen]);
            else if (event.key === 'Enter') setIsEntered(true);
            else if (event.key === 'Escape') leave();
            else return;
            event.preventDefault();
          }}
        />
        <kbd>/</kbd>
      </div>
      {isOpen && (
        <div className="found" id={listId} role="listbox" aria-label={t('search.results')}>
          {entries.map((one, index) => (
            <Option key={one.key} id={`${listId}-${index}`} entry={one} isChosen={index === chosen} onOpen={() => openOne(one)} />
          ))}
          {entries.length === 0 && !isFetching && <p>{t('search.nothing', { text: text.trim() })}</p>}
        </div>
      )}
    </search>
  );
}

function Option({ id, entry, isChosen, onOpen }: { id: string; entry: Entry; isChosen: boolean; onOpen: () => void }) {
  return (
    <div id={id} role="option" tabIndex={-1} aria-selected={isChosen} onMouseDown={onOpen}>
      <Icon name={entry.icon} />
      <span className="cut">
        {entry.title}
        {entry.found?.amount !== undefined && ` · ${lei(entry.found.amount)} MDL`}
      </span>
      <span className="small faint">{entry.found?.at !== undefined && <ListMoment at={entry.found.at} />}</span>
      {entry.found && (
        <>
          <span />
          <span className="mono small faint cut">
            {[
              entry.found.shop,
              String(entry.found.title.params?.['rrn'] ?? entry.found.title.params?.['receiptId'] ?? shortId(entry.found.id)),
            ]
              .filter(Boolean)
              .join(' · ')}
          </span>
        </>
      )}
    </div>
  );
}
