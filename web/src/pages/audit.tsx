// Who did what, newest first. Each entry is written in one transaction with the action.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Answers } from '../api/answers.ts';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { exactTime, lei } from '../i18n/format.ts';
import { type Choice, ChoiceFilter, TextFilter } from '../parts/filters.tsx';
import { Pager } from '../parts/list.tsx';
import { Blank, PageHead, Read } from '../parts/page.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useFilters } from '../parts/use-filters.ts';
import { Copyable, Moment, shortId } from '../parts/values.tsx';

type Entry = Answers['listAudit']['audit'][number];

/** The page of the changed object, if it has one. */
function pathOf({ action, subject }: Entry): string | undefined {
  const [kind] = action.split('.');
  if (kind === 'command' || kind === 'document') return `/payments/${subject}`;
  if (kind === 'invoice') return `/invoices/${subject}`;
  if (kind === 'device') return `/devices?device=${subject}`;
  return kind === 'callback' && isId.test(subject) ? `/callbacks?callback=${subject}` : undefined;
}

const pageSize = 50;
const choiceEntries = 200;

export function Audit() {
  const { t } = useTranslation();
  const { scope } = useViewer();
  const filters = useFilters();
  const audit = useRead<{ audit: Entry[]; next?: string }>(
    '/audit',
    {
      ...scope,
      limit: pageSize,
      subject: filters.get('q'),
      actor: filters.get('actor'),
      action: filters.get('action'),
      before: filters.cursor,
    },
    { keepsPrevious: true },
  );
  const wordOf = (action: string) => t(`audit.action.${action.replaceAll('.', '-')}`, { defaultValue: action });
  // From the newest entries without a filter, and the chosen ones: a choice must not remove the others.
  const recent = useRead<{ audit: Entry[] }>('/audit', { ...scope, limit: choiceEntries });
  const choicesOf = (field: 'actor' | 'action', word: (value: string) => string): Choice[] =>
    [...new Set([filters.get(field) ?? '', ...(recent.data?.audit ?? []).map((entry) => entry[field])])]
      .filter((value) => value !== '')
      .map((value) => ({ value, word: word(value) }))
      .sort((one, other) => one.word.localeCompare(other.word));
  const columns: Column<Entry>[] = [
    { head: t('list.when'), cell: (entry) => <Moment at={entry.at} /> },
    { head: t('audit.who'), cell: (entry) => <span className="strong">{entry.actor}</span> },
    { head: t('audit.what'), cell: (entry) => wordOf(entry.action) },
    {
      head: t('audit.subject'),
      cell: (entry) => {
        const path = pathOf(entry);
        return path === undefined ? (
          <Copyable text={entry.subject} />
        ) : (
          <Link className="link mono" href={path}>
            {shortId(entry.subject)}
          </Link>
        );
      },
    },
    { head: t('audit.detail'), className: 'wrap', cell: (entry) => <Detail detail={entry.detail} /> },
  ];
  return (
    <>
      <PageHead name={t('page.audit')} sub={t('audit.sub')} />
      <div className="filters">
        <TextFilter filters={filters} label={t('audit.find')} />
        <ChoiceFilter filters={filters} name="actor" label={t('audit.filter.actor')} choices={choicesOf('actor', (actor) => actor)} />
        <ChoiceFilter filters={filters} name="action" label={t('audit.filter.action')} choices={choicesOf('action', wordOf)} />
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

/** The merchant has the list's own filter; the id of a session carries no information; the sale's page says whether it was disputed. */
const leftOut = new Set(['merchantId', 'sessionId', 'closesReview']);

/** Values that the catalogues have words for, by their fields. */
const wordsOf: Record<string, string> = { state: 'decided', role: 'role', kind: 'deviceKind' };

/** Each value with its name in words; moments as moments, amounts as lei. */
function Detail({ detail }: { detail: Record<string, unknown> }) {
  const { t, i18n } = useTranslation();
  const said = Object.entries(detail)
    .filter(([name, value]) => value !== null && value !== undefined && !leftOut.has(name))
    .map(([name, value]) => {
      const field = name.replace(/(Ms|Bani)$/, '');
      const word = t(`audit.field.${field}`, { defaultValue: field });
      if (name.endsWith('AtMs')) return `${word} ${exactTime(new Date(Number(value)).toISOString(), i18n.language)}`;
      if (name.endsWith('Bani')) return `${word} ${lei(Number(value) / 100)} MDL`;
      if (typeof value === 'string' && wordsOf[name] !== undefined)
        return `${word}: ${t(`${wordsOf[name]}.${value}`, { defaultValue: value })}`;
      const text = typeof value === 'string' ? value : Array.isArray(value) ? value.join(', ') : JSON.stringify(value);
      return `${word}: ${isId.test(text) ? shortId(text) : text}`;
    });
  return (
    <span className="small second" title={JSON.stringify(detail)}>
      {said.join(' · ')}
    </span>
  );
}

const isId = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
