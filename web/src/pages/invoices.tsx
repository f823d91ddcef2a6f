// All invoices: new, scanned, paid, expired, cancelled.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Answers } from '../api/answers.ts';
import { addressOf } from '../api/client.ts';
import { useViewer } from '../api/session.tsx';
import { lei } from '../i18n/format.ts';
import { ChoiceFilter, PeriodFilter, periodOf, ShareView, TextFilter } from '../parts/filters.tsx';
import { Icon } from '../parts/icons.tsx';
import { ListView, useListPage } from '../parts/list-page.tsx';
import { PageHead } from '../parts/page.tsx';
import { State, StateShape } from '../parts/state-mark.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useFilters } from '../parts/use-filters.ts';
import { useIsPhone } from '../parts/use-width.ts';
import { Copyable, Moment } from '../parts/values.tsx';

export type InvoiceRow = Answers['listInvoices']['invoices'][number];

const states = ['NewItem', 'Scanned', 'Payed', 'Expired', 'Cancelled'];

export function Invoices() {
  const { t } = useTranslation();
  const { scope, merchantId, session } = useViewer();
  const filters = useFilters();
  const isPhone = useIsPhone();
  const wanted = {
    ...scope,
    q: filters.get('q'),
    state: filters.get('state'),
    ...periodOf(filters.get('period') ?? 'all'),
  };
  const page = useListPage({
    path: '/invoices',
    base: '/invoices',
    wanted,
    filters,
    rowsOf: ({ invoices }: { invoices: InvoiceRow[]; next?: string }) => invoices.map((row) => ({ ...row, id: row.oid })),
  });
  const showsMerchant = merchantId === undefined && session.user.merchantId === undefined;
  const columns: Column<InvoiceRow>[] = [
    {
      head: t('list.when'),
      cell: (row) => (
        <Link href={`/invoices/${row.oid}`} className="row-open" onClick={(event) => event.stopPropagation()}>
          <Moment at={row.at} />
        </Link>
      ),
    },
    { head: t('list.state'), cell: (row) => <State state={row.state} /> },
    { head: t('list.amountMdl'), className: 'amount', cell: (row) => (row.amount === undefined ? t('none') : lei(row.amount)) },
    { head: t('invoices.paidAt'), cell: (row) => row.paidDeviceName ?? t('none') },
    { head: t('invoices.validTo'), cell: (row) => <Moment at={row.validTo} /> },
    { head: t('list.receipt'), cell: (row) => <span className="mono">{row.receiptId ?? t('none')}</span> },
    ...(showsMerchant ? [{ head: t('list.merchant'), cell: (row: InvoiceRow) => <span className="second">{row.merchantName}</span> }] : []),
    { head: 'OID', cell: (row) => <Copyable text={row.oid} /> },
  ];
  return (
    <>
      <PageHead name={t('page.invoices')} sub={t('invoices.sub')}>
        <a className="btn" href={addressOf('/invoices.csv', wanted)} download aria-label={t('list.csv')}>
          <Icon name="export" />
          <span className="not-phone">{t('list.csv')}</span>
        </a>
      </PageHead>
      <div className="filters">
        <TextFilter filters={filters} label={t('invoices.find')} />
        <PeriodFilter filters={filters} />
        <ChoiceFilter
          filters={filters}
          name="state"
          label={t('list.state')}
          choices={states.map((state) => ({ value: state, word: t(`state.${state}`), mark: <StateShape state={state} /> }))}
        />
        <span className="grow" />
        {!isPhone && <ShareView />}
      </div>
      <ListView
        page={page}
        icon="invoices"
        empty="invoices.empty"
        phone={(row: InvoiceRow) => ({
          head: row.receiptId ?? `${t('search.kind.invoice')} ${row.oid.slice(0, 8)}`,
          sum: row.amount === undefined ? t('none') : lei(row.amount),
          isIdle: row.state !== 'Payed',
          below: (
            <>
              <State state={row.state} />
              <span className="cut">{row.paidDeviceName}</span>
            </>
          ),
          at: row.at,
        })}
      >
        <Table
          label={t('page.invoices')}
          columns={columns}
          rows={page.rows}
          keyOf={(row) => row.oid}
          isChosen={(row) => row.oid === page.chosen}
          onOpen={(row) => page.open(row.oid)}
        />
      </ListView>
    </>
  );
}
