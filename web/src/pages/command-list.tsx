// The list of ledger commands, for Payments and for Fiscal operations: filters, rows that stay, pages by cursor, export.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { addressOf } from '../api/client.ts';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import type { CommandRow, CommandList as Commands } from '../api/views.ts';
import { lei } from '../i18n/format.ts';
import { AmountFilter, ChoiceFilter, type Filters, periodOf, periods, ShareView, TextFilter, useFilters } from '../parts/filters.tsx';
import { Icon } from '../parts/icons.tsx';
import { ListView, useListPage } from '../parts/list-page.tsx';
import { PageHead } from '../parts/page.tsx';
import { State, StateShape } from '../parts/state-mark.tsx';
import { useIsPhone } from '../parts/use-width.ts';
import { Moment } from '../parts/values.tsx';

export type Mode = 'cards' | 'fiscal';

const states: Record<Mode, string[]> = {
  cards: ['paid', 'waiting', 'unknown', 'notClosed', 'needsPerson', 'declined', 'refunded', 'partlyRefunded', 'voided', 'never'],
  fiscal: ['done', 'waiting', 'unknown', 'needsPerson', 'declined', 'never'],
};
const names: Record<Mode, string[]> = {
  cards: ['Pay', 'Refund', 'CancelTransaction', 'CloseDoc', 'CloseDay'],
  fiscal: ['PrintReceipt', 'MoneyIn', 'MoneyOut', 'Report'],
};
const moneyLess = new Set(['declined', 'busy', 'never', 'voided']);

export function CommandList({ mode, base }: { mode: Mode; base: string }) {
  const { t } = useTranslation();
  const { scope, session } = useViewer();
  const filters = useFilters();
  const isPhone = useIsPhone();
  const devices = useRead<{ devices: { id: string; name: string; kind: string }[] }>('/devices', { ...scope });
  const wanted = {
    mode,
    ...scope,
    q: filters.get('q'),
    state: filters.get('state'),
    name: filters.get('name'),
    deviceId: filters.get('deviceId'),
    bank: filters.get('bank'),
    minAmount: filters.get('minAmount'),
    maxAmount: filters.get('maxAmount'),
    ...periodOf(filters.get('period') ?? 'all'),
  };
  const page = useListPage({ path: '/commands', base, wanted, filters, rowsOf: ({ commands }: Commands) => commands });
  const bankName = (code: string | undefined) => session.banks.find((bank) => bank.code === code)?.name ?? code ?? '';
  const kind = mode === 'cards' ? 'terminal' : 'register';

  return (
    <>
      <PageHead name={t(mode === 'cards' ? 'page.payments' : 'page.fiscal')} sub={t(`list.sub.${mode}`)}>
        <a className="btn" href={addressOf('/commands.csv', wanted)} download aria-label={t('list.csv')}>
          <Icon name="export" />
          <span className="not-phone">{t('list.csv')}</span>
        </a>
      </PageHead>
      <div className="filters">
        <TextFilter filters={filters} label={t(`list.find.${mode}`)} />
        <PeriodFilter filters={filters} />
        <ChoiceFilter
          filters={filters}
          name="state"
          label={t('list.state')}
          choices={states[mode].map((state) => ({ value: state, word: t(`state.${state}`), mark: <StateShape state={state} /> }))}
        />
        <ChoiceFilter
          filters={filters}
          name="name"
          label={t('list.mode')}
          choices={names[mode].map((name) => ({ value: name, word: t(`command.${name}`) }))}
        />
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
          choices={(devices.data?.devices ?? [])
            .filter((device) => device.kind === kind)
            .map(({ id, name }) => ({ value: id, word: name }))}
        />
        <AmountFilter filters={filters} />
        <span className="grow" />
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
                {row.name === 'Pay'
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

export function PeriodFilter({ filters }: { filters: Filters }) {
  const { t } = useTranslation();
  return (
    <ChoiceFilter
      filters={filters}
      name="period"
      label={t('list.date')}
      none="all"
      choices={periods.map((period) => ({ value: period, word: t(`period.${period}`) }))}
    />
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
  const showsMerchant = merchantId === undefined && session.user.merchantId === undefined;
  const dash = <span className="faint">–</span>;
  return (
    <div className="card list-card">
      <div className="list-scroll">
        <table className="list">
          <thead>
            <tr>
              <th scope="col">{t('list.when')}</th>
              <th scope="col">{t('list.state')}</th>
              <th scope="col" className="amount">
                {t('list.amountMdl')}
              </th>
              <th scope="col">{t('list.mode')}</th>
              <th scope="col">{t('list.device')}</th>
              {showsMerchant && <th scope="col">{t('list.merchant')}</th>}
              {isCards && <th scope="col">{t('list.bank')}</th>}
              {isCards && <th scope="col">{t('list.rrn')}</th>}
              {isCards && <th scope="col">{t('list.operation')}</th>}
              <th scope="col">{t(isCards ? 'list.document' : 'list.receipt')}</th>
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
                    <Moment at={row.at} />
                  </Link>
                </td>
                <td>
                  <State state={row.shownState} word={t(`state.${row.shownState}`, { context: isCards ? undefined : 'fiscal' })} />
                </td>
                <td className={moneyLess.has(row.shownState) ? 'amount idle' : 'amount'}>
                  {row.amount === undefined ? dash : lei(signed(row))}
                </td>
                <td className="second">{t(`command.${row.name}`, { defaultValue: row.name })}</td>
                <td>{row.deviceName}</td>
                {showsMerchant && <td className="second">{row.merchantName}</td>}
                {isCards && <td className="second">{row.bank === undefined ? dash : bankName(row.bank)}</td>}
                {isCards && <td className="mono">{row.rrn ?? dash}</td>}
                {isCards && <td className="mono">{row.operationId ?? dash}</td>}
                <td className="mono">{(isCards ? row.documentNr?.slice(0, 8) : (row.receiptNumber ?? row.receiptUid)) ?? dash}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

const outgoing = new Set(['Refund', 'CancelTransaction', 'MoneyOut']);

/** Money that goes back or out has a minus. */
function signed(row: CommandRow): number {
  return outgoing.has(row.name) ? -(row.amount ?? 0) : (row.amount ?? 0);
}
