// The list of ledger commands, for Payments and for Fiscal operations: filters, stable rows, pages by cursor, export.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { namesWhere, operationNamed, takesMoneyOut } from '../../../src/kernel/operations.ts';
import type { Answers } from '../api/answers.ts';
import { addressOf } from '../api/client.ts';
import { useRead } from '../api/query.ts';
import { useBankName, useViewer } from '../api/session.tsx';
import type { CommandRow, CommandList as Commands, CommandTotal } from '../api/views.ts';
import { lei } from '../i18n/format.ts';
import { AmountFilter, ChoiceFilter, ManyFilter, PeriodFilter, periodOf, ShareView, TextFilter } from '../parts/filters.tsx';
import { Icon } from '../parts/icons.tsx';
import { ListView, useListPage } from '../parts/list-page.tsx';
import { ListScroll } from '../parts/list-scroll.tsx';
import { useMerchants } from '../parts/merchant-field.tsx';
import { PageHead } from '../parts/page.tsx';
import { SavedViews } from '../parts/saved-views.tsx';
import { State, StateShape } from '../parts/state-mark.tsx';
import { type Filters, useFilters } from '../parts/use-filters.ts';
import { useIsPhone } from '../parts/use-width.ts';
import { ListMoment } from '../parts/values.tsx';

export type Mode = 'cards' | 'fiscal';

const states: Record<Mode, string[]> = {
  cards: ['paid', 'waiting', 'unknown', 'notClosed', 'needsPerson', 'declined', 'refunded', 'partlyRefunded', 'voided', 'never'],
  fiscal: ['done', 'waiting', 'unknown', 'needsPerson', 'declined', 'never'],
};
const names: Record<Mode, string[]> = {
  cards: namesWhere((operation) => operation.mode === 'POS'),
  fiscal: namesWhere((operation) => operation.mode === 'Fiscal'),
};
const receiptMarks = { printed: 'printed', none: 'warn', notRequested: 'none' } as const;
const erpMarks = { notified: 'notified', waiting: 'pending', dead: 'dead' } as const;
const moneyLess = new Set(['declined', 'busy', 'never', 'voided']);

export function CommandList({ mode, base }: { mode: Mode; base: string }) {
  const { t } = useTranslation();
  const { scope } = useViewer();
  const filters = useFilters();
  const isPhone = useIsPhone();
  const devices = useRead<{ devices: ListedDevice[] }>('/devices', { ...scope });
  // A search for a number covers all time.
  const standard = filters.get('q') === undefined ? 'today' : 'all';
  const period = filters.get('period') ?? standard;
  const wanted = {
    mode,
    ...scope,
    q: filters.get('q'),
    state: filters.get('state'),
    // A sale is its payment. Its close, refunds and voids are shown on its page.
    name: filters.get('name') ?? (mode === 'cards' ? 'Pay' : undefined),
    deviceId: filters.get('deviceId'),
    bank: filters.get('bank'),
    shop: filters.get('shop'),
    minAmount: filters.get('minAmount'),
    maxAmount: filters.get('maxAmount'),
    ...periodOf(period),
  };
  const page = useListPage({ path: '/commands', base, wanted, filters, rowsOf: ({ commands }: Commands) => commands });
  const nameOfBank = useBankName();
  const bankName = (code: string | undefined) => nameOfBank(code) ?? '';
  const total = useRead<CommandTotal>('/commands/total', wanted, { keepsPrevious: true });
  const shops = [
    ...new Set((devices.data?.devices ?? []).flatMap(({ pointOfSalesCode }) => (pointOfSalesCode === undefined ? [] : [pointOfSalesCode]))),
  ].sort();

  return (
    <>
      <PageHead
        name={t(mode === 'cards' ? 'page.payments' : 'page.fiscal')}
        sub={total.data ? t(total.data.isCut ? 'list.totalCut' : 'list.total', { ...total.data }) : t(`list.sub.${mode}`)}
      >
        <a className="btn" href={addressOf('/commands.csv', wanted)} download aria-label={t('list.csv')}>
          <Icon name="export" />
          <span className="not-phone">{t('list.csv')}</span>
        </a>
      </PageHead>
      <div className="filters">
        <TextFilter filters={filters} label={t(`list.find.${mode}`)} />
        <PeriodFilter filters={filters} standard={standard} />
        {shops.length > 1 && (
          <ChoiceFilter filters={filters} name="shop" label={t('fact.shop')} choices={shops.map((shop) => ({ value: shop, word: shop }))} />
        )}
        <ManyFilter
          filters={filters}
          name="state"
          label={t('list.state')}
          choices={states[mode].map((state) => ({
            value: state,
            word: t(`state.${state}`, { context: mode === 'fiscal' ? mode : undefined }),
            mark: <StateShape state={state} />,
          }))}
        />
        <ChoiceFilter
          filters={filters}
          name="name"
          label={t('list.mode')}
          {...(mode === 'cards' ? { none: 'Pay' } : {})}
          choices={names[mode].map((name) => ({ value: name, word: t(`command.${name}`) }))}
        />
        <PlaceFilters filters={filters} mode={mode} devices={devices.data?.devices ?? []} />
        <AmountFilter filters={filters} />
        <span className="grow" />
        <SavedViews base={base} />
        {!isPhone && <ShareView />}
      </div>
      <ListView
        page={page}
        icon={mode === 'cards' ? 'payments' : 'fiscal'}
        empty={`list.empty.${mode}`}
        phone={(row: CommandRow) => ({
          head: row.deviceName,
          sum: row.amount === undefined ? t(`command.${row.name}`, { defaultValue: row.name }) : lei(signed(row)),
          isIdle: row.amount === undefined || moneyLess.has(row.shownState),
          below: (
            <>
              <State state={row.shownState} />
              <span className="cut">
                {operationNamed(row.name).isPayment
                  ? bankName(row.bank)
                  : row.amount === undefined
                    ? ''
                    : t(`command.${row.name}`, { defaultValue: row.name })}
              </span>
            </>
          ),
          at: row.at,
        })}
      >
        <CommandTable mode={mode} rows={page.rows} chosen={page.chosen} base={base} open={page.open} bankName={bankName} />
      </ListView>
    </>
  );
}

type ListedDevice = Answers['listDevices']['devices'][number];

function PlaceFilters({ filters, mode, devices }: { filters: Filters; mode: Mode; devices: readonly ListedDevice[] }) {
  const { t } = useTranslation();
  const { session } = useViewer();
  const kind = mode === 'cards' ? 'terminal' : 'register';
  return (
    <>
      {mode === 'cards' && (
        <ChoiceFilter
          filters={filters}
          name="bank"
          label={t('list.bank')}
          choices={session.banks.map(({ code, name }) => ({ value: code, word: name }))}
        />
      )}
      <ChoiceFilter
        filters={filters}
        name="deviceId"
        label={t('list.device')}
        choices={devices.filter((device) => device.kind === kind).map(({ id, name }) => ({ value: id, word: name }))}
      />
    </>
  );
}

interface TableProps {
  mode: Mode;
  rows: readonly CommandRow[];
  base: string;
  chosen: string | undefined;
  open: (id: string) => void;
  bankName: (code: string | undefined) => string;
}

function CommandTable({ mode, rows, base, chosen, open, bankName }: TableProps) {
  const { t } = useTranslation();
  const { session, merchantId } = useViewer();
  const isCards = mode === 'cards';
  const isSales = isCards && rows.every(({ name }) => operationNamed(name).isPayment);
  const merchants = useMerchants();
  const showsMerchant = merchantId === undefined && session.user.merchantId === undefined && merchants.data?.merchants.length !== 1;
  const dash = <span className="faint">–</span>;
  return (
    <div className="card list-card">
      <ListScroll label={t(isCards ? 'page.payments' : 'page.fiscal')}>
        <table className="list">
          <thead>
            <tr>
              <th scope="col">{t('list.when')}</th>
              <th scope="col">{t('list.state')}</th>
              <th scope="col" className="amount">
                {t('list.amountMdl')}
              </th>
              {!isSales && <th scope="col">{t('list.mode')}</th>}
              <th scope="col">{t('list.shopDevice')}</th>
              {showsMerchant && <th scope="col">{t('list.merchant')}</th>}
              {isCards && <th scope="col">{t('list.bank')}</th>}
              {isCards && <th scope="col">{t('list.rrn')}</th>}
              {isCards && (
                <th scope="col" className="wide-only">
                  {t('list.operation')}
                </th>
              )}
              <th scope="col">{t('list.receipt')}</th>
              {isSales && <th scope="col">{t('list.erp')}</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr
                key={row.id}
                id={`row-${row.id}`}
                className={`row-link${row.id === chosen ? ' chosen' : ''}${row.name === 'CloseDoc' && row.shownState === 'done' ? ' quiet' : ''}`}
                onClick={() => open(row.id)}
              >
                <td className="second">
                  <Link href={`${base}/${row.id}`} className="row-open" onClick={(event) => event.stopPropagation()}>
                    <ListMoment at={row.at} />
                  </Link>
                </td>
                <td>
                  <State state={row.shownState} word={t(`state.${row.shownState}`, { context: isCards ? undefined : 'fiscal' })} />
                </td>
                <td className={moneyLess.has(row.shownState) ? 'amount idle' : 'amount'}>
                  {row.amount === undefined ? dash : lei(signed(row))}
                  {row.refunded !== undefined && row.refunded < (row.amount ?? 0) && <small className="faint"> {lei(-row.refunded)}</small>}
                </td>
                {!isSales && <td className="second">{t(`command.${row.name}`, { defaultValue: row.name })}</td>}
                <td className="device-cell">
                  {row.shop !== undefined && <span className="second">{row.shop} · </span>}
                  {row.deviceName}
                </td>
                {showsMerchant && <td className="second">{row.merchantName}</td>}
                {isCards && <td className="second">{row.bank === undefined ? dash : bankName(row.bank)}</td>}
                {isCards && <td className="mono">{row.rrn ?? dash}</td>}
                {isCards && <td className="mono wide-only">{row.operationId ?? dash}</td>}
                <td>
                  {row.receipt === undefined ? (
                    <span className="mono">{row.receiptNumber ?? row.receiptUid ?? dash}</span>
                  ) : (
                    <State state={receiptMarks[row.receipt]} word={t(`list.receiptState.${row.receipt}`)} />
                  )}
                </td>
                {isSales && (
                  <td>{row.erp === undefined ? dash : <State state={erpMarks[row.erp]} word={t(`list.erpState.${row.erp}`)} />}</td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </ListScroll>
    </div>
  );
}

/** Money that goes back or out has a minus. */
function signed(row: CommandRow): number {
  return takesMoneyOut(operationNamed(row.name)) ? -(row.amount ?? 0) : (row.amount ?? 0);
}
