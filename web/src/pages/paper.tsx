// A receipt as paper: as the customer gets it.
import './paper.css';
import { useTranslation } from 'react-i18next';
import type { ShownReceipt } from '../api/sale.ts';
import { lei, quantity } from '../i18n/format.ts';

export function Paper({ receipt, title }: { receipt: ShownReceipt; title: string }) {
  const { t } = useTranslation();
  return (
    <figure className="paper-wrap">
      <div className="paper">
        <p className="centre strong">{title.toUpperCase()}</p>
        {receipt.number !== undefined && <p className="centre">{t('fact.receiptNo', { number: receipt.number })}</p>}
        <hr />
        {receipt.items.map((line, index) => (
          <div key={`${line.name} ${index}`}>
            <p>{line.name}</p>
            <p className="line">
              <span>
                {quantity(line.quantity)} × {lei(line.price)}
              </span>
              <span>{lei(line.price * line.quantity)}</span>
            </p>
          </div>
        ))}
        <hr />
        {receipt.total !== undefined && (
          <p className="line total">
            <span>{t('fact.total').toUpperCase()}</span>
            <span>{lei(receipt.total)}</span>
          </p>
        )}
      </div>
    </figure>
  );
}
