// Objects related to this sale: other payments under its number, the payment that it refunds or voids, its refunds and voids, its invoice, the callbacks to the ERP.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { invoiceStates, type SalePage } from '../api/sale.ts';
import { lei } from '../i18n/format.ts';
import { StateShape } from '../parts/state-mark.tsx';
import { Moment } from '../parts/values.tsx';

export function Related({ sale }: { sale: SalePage }) {
  const { t } = useTranslation();
  const { payment, refunds, closes, voids, linked, others, invoice, callbacks } = sale.related;
  const isOther = new Set(others.map(({ id }) => id));
  const besides = linked.filter(({ id }) => !isOther.has(id));
  const commands = [...others, ...(payment ? [payment] : []), ...besides, ...refunds, ...voids, ...closes];
  if (commands.length === 0 && !invoice && callbacks.length === 0) return null;
  return (
    <section className="card">
      <header>
        <h2>{t('sale.related')}</h2>
      </header>
      <div className="related">
        {commands.map((command) => (
          <Link key={command.id} href={`/payments/${command.id}`}>
            <StateShape state={command.shownState ?? command.state} />
            <span className="grow cut">
              {t(`command.${command.name}`, { defaultValue: command.name })}
              {isOther.has(command.id) && <> · {t('sale.sameNumber')}</>}
            </span>
            {command.amount !== undefined && <span className="num">{lei(command.amount)}</span>}
            <span className="small faint">
              <Moment at={command.at} />
            </span>
          </Link>
        ))}
        {invoice && (
          <Link href={`/invoices/${invoice.oid}`}>
            <StateShape state={invoiceStates[invoice.state] ?? 'none'} />
            <span className="grow cut">{t('search.kind.invoice')}</span>
            <span className="mono small">{invoice.oid.slice(0, 8)}</span>
          </Link>
        )}
        {callbacks.map((callback) => (
          <Link key={callback.id} href={`/callbacks?callback=${callback.id}`}>
            <StateShape state={callback.state} />
            <span className="grow cut">{t('search.kind.callback')}</span>
            <span className="small second">{t(`state.${callback.state}`)}</span>
          </Link>
        ))}
      </div>
    </section>
  );
}
