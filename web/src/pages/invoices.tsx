// Every invoice: who waits for a scan, who paid, which ran out.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { addressOf } from '../api/client.ts';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { lei } from '../i18n/format.ts';
import { ChoiceFilter, periodOf, ShareView, TextFilter, useFilters } from '../parts/filters.tsx';
import { Icon } from '../parts/icons.tsx';
import { NewPill, Pager, useRowKeys } from '../parts/list.tsx';
import { Blank, Loading, PageHead, Trouble } from '../parts/page.tsx';
import { State, StateShape } from '../parts/state-mark.tsx';
import { useSteadyRows } from '../parts/steady-rows.ts';
import { type Column, Table } from '../parts/table.tsx';
import { useIsPhone } from '../parts/use-width.ts';
import { Copyable, Moment } from '../parts/values.tsx';
import { PeriodFilter } from './command-list.tsx';

export interface InvoiceRow {
  oid: string;
  state: string;
  at: string;
  amount?: number;
  validTo?: string;
  receiptId?: string;
  paidDeviceName?: string;
  merchantId: string;
  merchantName: string;
}

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
  const list = useRead<{ invoices: InvoiceRow[]; next?: string }>(
    '/invoices',
    { ...wanted, cursor: filters.cursor },
    { keepsPrevious: true },
  );
  const steady = useSteadyRows(
    JSON.stringify({ wanted, cursor: filters.cursor }),
    list.isPlaceholderData ? undefined : list.data?.invoices.map((row) => ({ ...row, id: row.oid })),
    filters.cursor === undefined,
  );
  const rows = steady.rows;
  const { chosen, open } = useRowKeys(
    '/invoices',
    rows.map(({ oid }) => oid),
    steady.showNew,
  );
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
        <a className="btn" href={addressOf('/invoices.csv', wanted)} download>
          <Icon name="export" />
          {t('list.csv')}
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
      {list.error && list.data === undefined ? (
        <Trouble error={list.error} retry={() => void list.refetch()} />
      ) : list.data === undefined ? (
        <Loading rows={10} />
      ) : rows.length === 0 ? (
        <Blank icon="invoices" title={t(filters.hasAny ? 'list.noneFound' : 'invoices.empty.title')}>
          <p>{t(filters.hasAny ? 'list.noneFoundHint' : 'invoices.empty.hint')}</p>
        </Blank>
      ) : (
        <>
          {steady.newCount > 0 && (
            <p className="new-line">
              <NewPill count={steady.newCount} onShow={steady.showNew} />
            </p>
          )}
          <Table
            label={t('page.invoices')}
            columns={columns}
            rows={rows}
            keyOf={(row) => row.oid}
            isChosen={(row) => row.oid === chosen}
            onOpen={(row) => open(row.oid)}
          />
          <Pager filters={filters} next={list.data.next} shown={rows.length} />
        </>
      )}
    </>
  );
}
