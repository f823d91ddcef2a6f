// Callbacks: notices to the ERP, delivered or waiting, each attempt with its answer, and how an ERP verifies them.
import './callbacks.css';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useViewer } from '../api/session.tsx';
import { duration } from '../i18n/format.ts';
import { ChoiceFilter, TextFilter } from '../parts/filters.tsx';
import { Icon } from '../parts/icons.tsx';
import { ListView, useListPage } from '../parts/list-page.tsx';
import { PageHead } from '../parts/page.tsx';
import { State, StateShape } from '../parts/state-mark.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { type Filters, useFilters } from '../parts/use-filters.ts';
import { Moment, shortId } from '../parts/values.tsx';
import { type Callback, CallbackPanel } from './callback-panel.tsx';
import { ResendRange, SigningSecret, VerifySample } from './callback-tools.tsx';

const pageSize = 50;

export function Callbacks() {
  const { t } = useTranslation();
  const { may } = useViewer();
  const filters = useFilters();
  const [isResending, setIsResending] = useState(false);
  const opened = filters.get('callback');
  const tab = filters.get('tab') === 'sign' ? 'sign' : 'list';
  return (
    <>
      <PageHead name={t('page.callbacks')} sub={t('callbacks.sub')}>
        <div className="segments" role="group" aria-label={t('page.callbacks')}>
          {(['list', 'sign'] as const).map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={tab === name}
              onClick={() => filters.set({ tab: name === 'list' ? undefined : name })}
            >
              {t(`callbacks.tab.${name}`)}
            </button>
          ))}
        </div>
        {may('setup') && tab === 'list' && (
          <button type="button" className="btn" onClick={() => setIsResending(true)}>
            <Icon name="send" />
            {t('callbacks.range.button')}
          </button>
        )}
      </PageHead>
      {tab === 'list' ? (
        <Deliveries filters={filters} />
      ) : (
        <div className="cb-tools">
          <SigningSecret />
          <VerifySample />
        </div>
      )}
      {opened !== undefined && <CallbackPanel id={opened} onClose={() => filters.set({ callback: undefined })} />}
      {isResending && <ResendRange onClose={() => setIsResending(false)} />}
    </>
  );
}

function Deliveries({ filters }: { filters: Filters }) {
  const { t } = useTranslation();
  const { scope } = useViewer();
  const wanted = { ...scope, limit: pageSize, state: filters.get('state'), q: filters.get('q') };
  const page = useListPage({
    path: '/callbacks',
    base: '/callbacks',
    wanted,
    filters,
    hrefOf: panelOf,
    rowsOf: ({ callbacks }: { callbacks: Callback[]; next?: string }) => callbacks,
  });
  const about = (one: Callback) => `${t(`callbacks.subject.${one.subjectKind}`)} ${shortId(one.subjectId)}`;
  const columns: Column<Callback>[] = [
    { head: t('list.when'), cell: (one) => <Moment at={one.createdAt} /> },
    { head: t('list.state'), cell: (one) => <State state={one.state} /> },
    { head: t('callbacks.about'), cell: about },
    { head: t('callbacks.host'), className: 'address', cell: (one) => <Address url={one.url} /> },
    { head: t('callbacks.tries'), cell: (one) => <span className="num">{one.attempts}</span>, className: 'right' },
    {
      head: t('callbacks.last'),
      cell: (one) =>
        one.last ? (
          <span className="nowrap">
            {one.last.status ?? one.last.error ?? t('callbacks.noAnswer')}
            <span className="faint"> · {duration(one.last.durationMs, t)}</span>
          </span>
        ) : (
          t('none')
        ),
    },
    { head: t('callbacks.next'), cell: (one) => (one.state === 'pending' ? <Moment at={one.nextAttemptAt} /> : t('none')) },
  ];
  return (
    <>
      <div className="filters">
        <TextFilter filters={filters} label={t('callbacks.find')} />
        <ChoiceFilter
          filters={filters}
          name="state"
          label={t('list.state')}
          choices={['pending', 'delivered', 'dead'].map((state) => ({
            value: state,
            word: t(`state.${state}`),
            mark: <StateShape state={state} />,
          }))}
        />
      </div>
      <ListView
        page={page}
        icon="callbacks"
        empty="callbacks.empty"
        phone={(one: Callback) => ({
          head: about(one),
          sum: t('side.attempt', { value: one.attempts }),
          isIdle: true,
          below: (
            <>
              <State state={one.state} />
              <Address url={one.url} />
            </>
          ),
          at: one.createdAt,
        })}
      >
        <Table
          label={t('page.callbacks')}
          columns={columns}
          rows={page.rows}
          keyOf={(one) => one.id}
          isChosen={(one) => one.id === page.chosen || one.id === filters.get('callback')}
          onOpen={(one) => page.open(one.id)}
        />
      </ListView>
    </>
  );
}

/** The same list, with one opened beside it. */
function panelOf(id: string): string {
  const query = new URLSearchParams(location.search);
  query.set('callback', id);
  return `/callbacks?${query.toString()}`;
}

/** The host first, then as much of the address as fits. */
function Address({ url }: { url: string }) {
  if (!URL.canParse(url)) return <span className="mono cut">{url}</span>;
  const { host, pathname, search } = new URL(url);
  return (
    <span className="mono cut" title={url}>
      {host}
      <span className="faint">{`${pathname}${search}`}</span>
    </span>
  );
}
