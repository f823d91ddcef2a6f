// Actions of the cashier: a sale by card, an invoice with its QR, a refund, a repeat of the last call.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Play, Playground } from '../../api/playground.ts';
import { editable } from '../../i18n/format.ts';

interface TillControlsProps {
  till: Playground['till'];
  terminalId: string | undefined;
  registerId: string | undefined;
  /** Free play: the amount is a choice; its last two digits decide what the device does. */
  isFree: boolean;
  hasCalls: boolean;
  play: Play | undefined;
}

export function TillControls({ till, terminalId, registerId, isFree, hasCalls, play }: TillControlsProps) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState('');
  const amount = typed === '' ? undefined : Number(typed.replace(',', '.'));
  const isWrong = amount !== undefined && (!Number.isFinite(amount) || amount <= 0 || amount > 100_000);
  const sum = amount === undefined || isWrong ? {} : { amount: Math.round(amount * 100) / 100 };
  const isBlocked = !play || isWrong;
  const { invoice } = till;
  return (
    <div className="controls till-controls" role="group" aria-label={t('playground.till.controls')}>
      {isFree && (
        <label className="field amount-field">
          <span>{t('playground.till.amount')}</span>
          <input
            className="input num"
            inputMode="decimal"
            placeholder={editable(till.sale.total)}
            value={typed}
            aria-invalid={isWrong}
            onChange={(event) => setTyped(event.target.value)}
          />
          <small>
            {t('playground.till.magic')}{' '}
            <Link className="link" href="/developers">
              {t('developers.magic.title')}
            </Link>
          </small>
        </label>
      )}
      <div className="buttons">
        <button
          type="button"
          className={isFree ? 'btn compact primary' : 'btn compact'}
          disabled={isBlocked || terminalId === undefined}
          onClick={() => play?.('/till/sale', { ...sum, deviceId: terminalId, registerId })}
        >
          {t('playground.till.newSale')}
        </button>
        <button type="button" className="btn compact" disabled={isBlocked} onClick={() => play?.('/till/invoice', sum)}>
          {t('playground.till.byQr')}
        </button>
        {invoice?.state === 'NewItem' && (
          <button
            type="button"
            className="btn compact"
            disabled={!play}
            onClick={() => play?.('/till/invoice/scan', { deviceId: terminalId })}
          >
            {t('playground.till.scan')}
          </button>
        )}
        {invoice?.state === 'Scanned' && (
          <button
            type="button"
            className="btn compact"
            disabled={!play}
            onClick={() => play?.('/till/invoice/pay', { deviceId: terminalId })}
          >
            {t('playground.till.pay')}
          </button>
        )}
        <button
          type="button"
          className="btn compact"
          disabled={isBlocked || !canRefund(till.lastSale)}
          onClick={() => play?.('/till/refund', sum)}
        >
          {t('playground.till.refund')}
        </button>
        <button type="button" className="btn compact" disabled={!play || !hasCalls} onClick={() => play?.('/till/again')}>
          {t('playground.till.again')}
        </button>
      </div>
    </div>
  );
}

/** Paid by card, not refunded completely, and ended: the till refuses a refund before the receipt. */
function canRefund(sale: Playground['till']['lastSale']): boolean {
  return sale?.kind === 'card' && (sale.state === 'done' || sale.state === 'noReceipt') && sale.paid > sale.refunded;
}
