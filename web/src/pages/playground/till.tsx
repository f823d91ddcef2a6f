// The till of the ERP as a thing: the basket, the sum, how it is paid; or the QR that the customer scans.
import { useTranslation } from 'react-i18next';
import type { Playground, PlayInvoice } from '../../api/playground.ts';
import { exactTime, lei } from '../../i18n/format.ts';
import { Icon } from '../../parts/icons.tsx';
import { QrCode } from '../../parts/qr-code.tsx';
import { State } from '../../parts/state-mark.tsx';

export function Till({ till, isPaying }: { till: Playground['till']; isPaying: boolean }) {
  const { t } = useTranslation();
  const { sale, invoice } = till;
  return (
    <div className="till" data-wire="till" role="group" aria-label={t('playground.till.title')}>
      <div className="till-case">
        <div className="till-screen">
          {invoice ? (
            <InvoiceScreen invoice={invoice} />
          ) : (
            <>
              <ul>
                {sale.items.map((item, index) => (
                  <li key={`${item.name} ${index}`}>
                    <span className="cut">
                      {item.name}
                      {item.quantity === 1 ? '' : ` ${Number.isInteger(item.quantity) ? `× ${item.quantity}` : item.quantity.toFixed(3)}`}
                    </span>
                    <span>{lei(item.total)}</span>
                  </li>
                ))}
              </ul>
              <p className="till-total">
                <span>{t('playground.till.total')}</span>
                <span>{lei(sale.total)} MDL</span>
              </p>
            </>
          )}
          <div className="till-ways" aria-hidden="true">
            <span className={invoice ? '' : 'on'}>
              {!invoice && !isPaying && <Icon name="check" size={12} />}
              {t('playground.till.card')}
            </span>
            <span className={invoice ? 'on' : ''}>{t('playground.till.qr')}</span>
          </div>
        </div>
      </div>
      <div className="till-neck" />
      <div className="till-drawer" />
    </div>
  );
}

function InvoiceScreen({ invoice }: { invoice: PlayInvoice }) {
  const { t, i18n } = useTranslation();
  return (
    <div className="till-invoice">
      <QrCode text={invoice.qrText} label={t('playground.till.qrOf', { amount: lei(invoice.amount) })} size={84} />
      <div>
        <b>
          {lei(invoice.amount)} <small>MDL</small>
        </b>
        <State state={invoice.state} word={t(`invoice.${invoice.state}`)} />
        {(invoice.state === 'NewItem' || invoice.state === 'Scanned') && (
          <small>{t('playground.till.until', { at: exactTime(invoice.expiresAt, i18n.language, 'clock') })}</small>
        )}
      </div>
    </div>
  );
}
