// A list of records: read page by page, with stable rows, the keys j and k, and its forms when empty, loading and after an error,
// on a desk and on a phone. The page supplies the content of the rows.
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Query } from '../api/client.ts';
import { useListRead } from '../api/query.ts';
import type { IconName } from './icons.tsx';
import { NewPill, Pager, useRowKeys } from './list.tsx';
import { Blank, Loading, Trouble } from './page.tsx';
import { useSteadyRows } from './steady-rows.ts';
import type { Filters } from './use-filters.ts';
import { useIsPhone } from './use-width.ts';
import { Moment } from './values.tsx';

interface ListPageOptions<Row, Fields> {
  path: string;
  /** Rows have their own pages at `${base}/${id}`, unless `hrefOf` says where they are. */
  base: string;
  hrefOf?: (id: string) => string;
  wanted: Query;
  filters: Filters;
  rowsOf: (fields: Fields) => Row[];
}

export function useListPage<Row extends { id: string }, Fields extends { next?: string }>(options: ListPageOptions<Row, Fields>) {
  const { path, base, wanted, filters, rowsOf, hrefOf = (id: string) => `${base}/${id}` } = options;
  const list = useListRead<Fields>(path, { ...wanted, cursor: filters.cursor }, (fields) => rowsOf(fields).length === 0);
  const fresh = list.data && rowsOf(list.data);
  const scope = JSON.stringify({ wanted, cursor: filters.cursor });
  const steady = useSteadyRows(scope, list.isPlaceholderData ? undefined : fresh, filters.cursor === undefined);
  // While another page is fetched, the previous rows stay.
  const rows = list.isPlaceholderData ? (fresh ?? []) : steady.rows;
  const ids = rows.map(({ id }) => id);
  return { list, filters, hrefOf, ...steady, rows, ...useRowKeys(base, ids, steady.showNew, hrefOf) };
}

type ListPage<Row> = Omit<ReturnType<typeof useListPage>, 'rows' | 'list'> & {
  rows: readonly (Row & { id: string })[];
  list: { data: { next?: string } | undefined; error: Error | null; isPlaceholderData: boolean; refetch: () => unknown };
};

interface ListViewProps<Row> {
  page: ListPage<Row>;
  icon: IconName;
  /** The key of the empty list’s title and hint. */
  empty: string;
  phone: (row: Row) => PhoneRow;
  /** The table. */
  children: ReactNode;
}

export function ListView<Row>({ page, icon, empty, phone, children }: ListViewProps<Row>) {
  const { t } = useTranslation();
  const isPhone = useIsPhone();
  const { list, filters, rows } = page;
  if (list.data === undefined) {
    return list.error ? <Trouble error={list.error} retry={() => void list.refetch()} /> : <Loading rows={10} />;
  }
  if (rows.length === 0) {
    return (
      <>
        <Blank icon={icon} title={t(filters.hasAny ? 'list.noneFound' : `${empty}.title`)}>
          <p>{t(filters.hasAny ? 'list.noneFoundHint' : `${empty}.hint`)}</p>
        </Blank>
        {/* Older pages may still have rows. */}
        {list.data.next !== undefined && <Pager filters={filters} next={list.data.next} shown={0} />}
      </>
    );
  }
  return (
    <>
      {page.newCount > 0 && (
        <p className="new-line" role="status">
          <NewPill count={page.newCount} onShow={page.showNew} />
        </p>
      )}
      <div aria-busy={list.isPlaceholderData}>
        {isPhone ? (
          <ul className="phone-list">
            {rows.map((row) => (
              <PhoneLine key={row.id} href={page.hrefOf(row.id)} {...phone(row)} />
            ))}
          </ul>
        ) : (
          children
        )}
      </div>
      <Pager filters={filters} next={list.data.next} shown={rows.length} />
    </>
  );
}

/** Two lines per row: name and amount, then state and time. */
export interface PhoneRow {
  head: ReactNode;
  sum: ReactNode;
  /** The amount does not count, or is not money. */
  isIdle?: boolean;
  below: ReactNode;
  at: string;
}

function PhoneLine({ href, head, sum, isIdle = false, below, at }: PhoneRow & { href: string }) {
  return (
    <li>
      <Link href={href}>
        <span className="head cut">{head}</span>
        <span className={isIdle ? 'sum idle' : 'sum'}>{sum}</span>
        <span className="below">{below}</span>
        <span className="below">
          <Moment at={at} />
        </span>
      </Link>
    </li>
  );
}
