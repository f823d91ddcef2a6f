// Callbacks: what the ERP was told or is still to be told, each try with its answer, and how an ERP verifies them.
import './callbacks.css';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { ChoiceFilter, TextFilter, useFilters } from '../parts/filters.tsx';
import { Icon } from '../parts/icons.tsx';
import { Pager } from '../parts/list.tsx';
import { Blank, PageHead, Read } from '../parts/page.tsx';
import { State, StateShape } from '../parts/state-mark.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Moment, shortId } from '../parts/values.tsx';
import { CallbackPanel } from './callback-panel.tsx';
import { ResendRange, SigningSecret, VerifySample } from './callback-tools.tsx';

export interface Callback {
  id: string;
  merchantId: string;
  subjectKind: 'invoice' | 'operation';
  subjectId: string;
  sequence: number;
  url: string;
  state: 'pending' | 'delivered' | 'dead';
  attempts: number;
  createdAt: string;
  nextAttemptAt?: string;
  endedAt?: string;
}

const pageSize = 50;

export function Callbacks() {
  const { t } = useTranslation();
  const { scope, may } = useViewer();
  const filters = useFilters();
  const [isResending, setIsResending] = useState(false);
  const list = useRead<{ callbacks: Callback[]; next?: string }>(
    '/callbacks',
    { ...scope, limit: pageSize, state: filters.get('state'), q: filters.get('q'), cursor: filters.cursor },
    { keepsPrevious: true },
  );
  const opened = filters.get('callback');
  const columns: Column<Callback>[] = [
    { head: t('list.when'), cell: (one) => <Moment at={one.createdAt} /> },
    { head: t('list.state'), cell: (one) => <State state={one.state} /> },
    { head: t('callbacks.about'), cell: (one) => `${t(`callbacks.subject.${one.subjectKind}`)} ${shortId(one.subjectId)}` },
    { head: t('callbacks.host'), cell: (one) => <span className="mono">{hostOf(one.url)}</span> },
    { head: t('callbacks.tries'), cell: (one) => <span className="num">{one.attempts}</span>, className: 'right' },
    { head: t('callbacks.next'), cell: (one) => (one.state === 'pending' ? <Moment at={one.nextAttemptAt} /> : t('none')) },
  ];
  return (
    <>
      <PageHead name={t('page.callbacks')} sub={t('callbacks.sub')}>
        {may('setup') && (
          <button type="button" className="btn" onClick={() => setIsResending(true)}>
            <Icon name="send" />
            {t('callbacks.range.button')}
          </button>
        )}
      </PageHead>
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
      <Read of={list}>
        {({ callbacks, next }) =>
          callbacks.length === 0 ? (
            <Blank icon="callbacks" title={t(filters.hasAny ? 'list.noneFound' : 'callbacks.empty.title')}>
              <p>{t(filters.hasAny ? 'list.noneFoundHint' : 'callbacks.empty.hint')}</p>
            </Blank>
          ) : (
            <>
              <Table
                label={t('page.callbacks')}
                columns={columns}
                rows={callbacks}
                keyOf={(one) => one.id}
                isChosen={(one) => one.id === opened}
                onOpen={(one) => filters.set({ callback: one.id })}
              />
              <Pager filters={filters} next={next} shown={callbacks.length} hasKeys={false} />
            </>
          )
        }
      </Read>
      <div className="cb-tools">
        <SigningSecret />
        <VerifySample />
      </div>
      {opened !== undefined && <CallbackPanel id={opened} onClose={() => filters.set({ callback: undefined })} />}
      {isResending && <ResendRange onClose={() => setIsResending(false)} />}
    </>
  );
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url.slice(0, 40);
}
