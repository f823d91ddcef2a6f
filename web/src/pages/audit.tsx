// Who did what, newest first. What is written here is written in one transaction with the deed.
import { useTranslation } from 'react-i18next';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { TextFilter, useFilters } from '../parts/filters.tsx';
import { Pager } from '../parts/list.tsx';
import { Blank, PageHead, Read } from '../parts/page.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Copyable, Moment } from '../parts/values.tsx';

interface Entry {
  id: number;
  at: string;
  actor: string;
  action: string;
  subject: string;
  detail: Record<string, unknown>;
}

const pageSize = 50;

export function Audit() {
  const { t } = useTranslation();
  const { scope } = useViewer();
  const filters = useFilters();
  const audit = useRead<{ audit: Entry[]; next?: string }>(
    '/audit',
    { ...scope, limit: pageSize, subject: filters.get('q'), before: filters.cursor },
    { keepsPrevious: true },
  );
  const columns: Column<Entry>[] = [
    { head: t('list.when'), cell: (entry) => <Moment at={entry.at} /> },
    { head: t('audit.who'), cell: (entry) => <span className="strong">{entry.actor}</span> },
    { head: t('audit.what'), cell: (entry) => t(`audit.action.${entry.action.replaceAll('.', '-')}`, { defaultValue: entry.action }) },
    { head: t('audit.subject'), cell: (entry) => <Copyable text={entry.subject} /> },
    { head: t('audit.detail'), className: 'wrap', cell: (entry) => <span className="mono small second">{detailOf(entry.detail)}</span> },
  ];
  return (
    <>
      <PageHead name={t('page.audit')} sub={t('audit.sub')} />
      <div className="filters">
        <TextFilter filters={filters} label={t('audit.find')} />
      </div>
      <Read of={audit}>
        {(list) =>
          list.audit.length === 0 ? (
            <Blank icon="audit" title={t(filters.hasAny ? 'list.noneFound' : 'audit.empty.title')}>
              <p>{t(filters.hasAny ? 'audit.noneHint' : 'audit.empty.hint')}</p>
            </Blank>
          ) : (
            <>
              <Table label={t('page.audit')} columns={columns} rows={list.audit} keyOf={(entry) => String(entry.id)} />
              <Pager
                filters={filters}
                next={list.audit.length === pageSize ? String(list.audit.at(-1)?.id ?? '') : undefined}
                shown={list.audit.length}
                hasKeys={false}
              />
            </>
          )
        }
      </Read>
    </>
  );
}

function detailOf(detail: Record<string, unknown>): string {
  return Object.entries(detail)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ');
}
