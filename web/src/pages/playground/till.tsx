// The till of the ERP as a thing: the basket, the sum, how it is paid and how far that is; or the QR that the customer scans.
import { useTranslation } from 'react-i18next';
import type { Playground, PlayInvoice, PlaySale } from '../../api/playground.ts';
import { exactTime, lei, quantity } from '../../i18n/format.ts';
import { Icon } from '../../parts/icons.tsx';
import { QrCode } from '../../parts/qr-code.tsx';
import { State } from '../../parts/state-mark.tsx';

const shapes: Record<PlaySale['state'], string> = {
  waiting: 'waiting',
  paying: 'waiting',
  closing: 'waiting',
  printing: 'waiting',
  done: 'done',
  refused: 'refused',
  unknown: 'unknown',
  noReceipt: 'notClosed',
};

export function Till({ till }: { till: Playground['till'] }) {
  const { t } = useTranslation();
  const { sale, lastSale, invoice } = till;
  const shown = lastSale ?? sale;
  const qr = lastSale?.kind === 'qr' ? invoice : undefined;
  return (
    <div className="till" data-wire="till" role="group" aria-label={t('playground.till.title')}>
      <div className="till-case">
        <div className="till-screen">
          {qr ? (
            <InvoiceScreen invoice={qr} />
          ) : (
            <>
              <ul>
                {shown.items.map((item, index) => (
                  <li key={`${item.name} ${index}`}>
                    <span className="cut">
                      {item.name}
                      {item.quantity === 1 ? '' : ` × ${quantity(item.quantity)}`}
                    </span>
                    <span>{lei(item.total)}</span>
                  </li>
                ))}
              </ul>
              <p className="till-total">
                <span>{t('playground.till.total')}</span>
                <span>{lei(shown.total)} MDL</span>
              </p>
            </>
          )}
          {lastSale && (
            <p className="till-state">
              <State state={shapes[lastSale.state]} word={t(`playground.sale.${lastSale.state}`)} />
              {lastSale.refunded > 0 && <span>{t('playground.sale.refunded', { amount: lei(lastSale.refunded) })}</span>}
            </p>
          )}
          <div className="till-ways" aria-hidden="true">
            {(['card', 'qr'] as const).map((way) => (
              <span key={way} className={lastSale?.kind === way ? 'on' : ''}>
                {lastSale?.kind === way && lastSale.state === 'done' && <Icon name="check" size={12} />}
                {t(`playground.till.${way}`)}
              </span>
            ))}
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
  const isOpen = invoice.state === 'NewItem' || invoice.state === 'Scanned';
  return (
    <div className="till-invoice">
      <QrCode text={invoice.qrText} label={t('playground.till.qrOf', { amount: lei(invoice.amount) })} size={84} />
      <div>
        <b>
          {lei(invoice.amount)} <small>MDL</small>
        </b>
        <State state={invoice.state} word={t(`invoice.${invoice.state}`)} />
        {isOpen && invoice.expiresAt !== undefined && (
          <small>{t('playground.till.until', { at: exactTime(invoice.expiresAt, i18n.language, 'clock') })}</small>
        )}
      </div>
    </div>
  );
}
