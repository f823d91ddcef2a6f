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
import { NewPill, Pager, useRowKeys } from '../parts/list.tsx';
import { Blank, Loading, PageHead, Trouble } from '../parts/page.tsx';
import { State, StateShape } from '../parts/state-mark.tsx';
import { useSteadyRows } from '../parts/steady-rows.ts';
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
  const list = useRead<Commands>('/commands', { ...wanted, cursor: filters.cursor }, { keepsPrevious: true });
  const steady = useSteadyRows(
    JSON.stringify({ wanted, cursor: filters.cursor }),
    list.isPlaceholderData ? undefined : list.data?.commands,
    filters.cursor === undefined,
  );
  const rows = list.isPlaceholderData ? (list.data?.commands ?? []) : steady.rows;
  const { chosen, open } = useRowKeys(
    base,
    rows.map(({ id }) => id),
    steady.showNew,
  );
  const kind = mode === 'cards' ? 'terminal' : 'register';

  return (
    <>
      <PageHead name={t(mode === 'cards' ? 'page.payments' : 'page.fiscal')} sub={t(`list.sub.${mode}`)}>
        <a className="btn" href={addressOf('/commands.csv', wanted)} download>
          <Icon name="export" />
          {t('list.csv')}
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
      {list.error && list.data === undefined ? (
        <Trouble error={list.error} retry={() => void list.refetch()} />
      ) : list.data === undefined ? (
        <Loading rows={10} />
      ) : rows.length === 0 ? (
        <Blank icon={mode === 'cards' ? 'payments' : 'fiscal'} title={t(filters.hasAny ? 'list.noneFound' : `list.empty.${mode}.title`)}>
          <p>{t(filters.hasAny ? 'list.noneFoundHint' : `list.empty.${mode}.hint`)}</p>
        </Blank>
      ) : isPhone ? (
        <>
          {steady.newCount > 0 && <NewPill count={steady.newCount} onShow={steady.showNew} />}
          <PhoneRows rows={rows} base={base} />
        </>
      ) : (
        <div className="card list-card" aria-busy={list.isPlaceholderData}>
          <div className="list-scroll">
            <CommandTable
              mode={mode}
              rows={rows}
              chosen={chosen}
              base={base}
              open={open}
              newCount={steady.newCount}
              showNew={steady.showNew}
            />
          </div>
        </div>
      )}
      {rows.length > 0 && <Pager filters={filters} next={list.data?.next} shown={rows.length} />}
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
  newCount: number;
  showNew: () => void;
}

function CommandTable({ mode, rows, base, chosen, open, newCount, showNew }: TableProps) {
  const { t } = useTranslation();
  const { session, merchantId } = useViewer();
  const isCards = mode === 'cards';
  const showsMerchant = merchantId === undefined && session.user.merchantId === undefined;
  const bankName = new Map(session.banks.map(({ code, name }) => [code, name]));
  const dash = <span className="faint">–</span>;
  return (
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
        {newCount > 0 && (
          <tr className="new-row">
            <td colSpan={9}>
              <NewPill count={newCount} onShow={showNew} />
            </td>
          </tr>
        )}
        {rows.map((row) => (
          <tr key={row.id} id={`row-${row.id}`} className={row.id === chosen ? 'row-link chosen' : 'row-link'} onClick={() => open(row.id)}>
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
            {isCards && <td className="second">{row.bank === undefined ? dash : (bankName.get(row.bank) ?? row.bank)}</td>}
            {isCards && <td className="mono">{row.rrn ?? dash}</td>}
            {isCards && <td className="mono">{row.operationId ?? dash}</td>}
            <td className="mono">{(isCards ? row.documentNr?.slice(0, 8) : (row.receiptNumber ?? row.receiptUid)) ?? dash}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const outgoing = new Set(['Refund', 'CancelTransaction', 'MoneyOut']);

/** Money that goes back or out has a minus. */
function signed(row: CommandRow): number {
  return outgoing.has(row.name) ? -(row.amount ?? 0) : (row.amount ?? 0);
}

function PhoneRows({ rows, base }: { rows: readonly CommandRow[]; base: string }) {
  const { t } = useTranslation();
  return (
    <ul className="phone-list">
      {rows.map((row) => (
        <li key={row.id}>
          <Link href={`${base}/${row.id}`}>
            <span className="head cut">{row.deviceName}</span>
            <span className={moneyLess.has(row.shownState) ? 'sum idle' : 'sum'}>
              {row.amount === undefined ? t(`command.${row.name}`, { defaultValue: row.name }) : lei(signed(row))}
            </span>
            <span className="below">
              <State state={row.shownState} />
              <span className="cut">{row.name === 'Pay' ? (row.bank ?? '') : t(`command.${row.name}`, { defaultValue: row.name })}</span>
            </span>
            <span className="below">
              <Moment at={row.at} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
