// On paper: a receipt, or an invoice with a QR that a phone reads from the counter. Only the sheet is printed, nothing of the page around it.
import './print-sheet.css';
import { type ReactNode, useEffect, useState } from 'react';
import { createPortal } from 'react-dom';
import { useTranslation } from 'react-i18next';
import type { ShownReceipt } from '../api/sale.ts';
import { lei } from '../i18n/format.ts';
import { Icon } from '../parts/icons.tsx';
import { Paper } from './paper.tsx';

/** A button, and the sheet that it prints. */
function PrintButton({ word, children }: { word: string; children: ReactNode }) {
  const [isPrinting, setIsPrinting] = useState(false);
  useEffect(() => {
    if (!isPrinting) return undefined;
    document.body.classList.add('prints-sheet');
    const done = () => setIsPrinting(false);
    addEventListener('afterprint', done);
    window.print();
    return () => {
      document.body.classList.remove('prints-sheet');
      removeEventListener('afterprint', done);
    };
  }, [isPrinting]);
  return (
    <>
      <button type="button" className="btn compact" onClick={() => setIsPrinting(true)}>
        <Icon name="print" size={14} />
        {word}
      </button>
      {isPrinting && createPortal(<div className="print-sheet">{children}</div>, document.body)}
    </>
  );
}

export function PrintPaper({ receipt, title }: { receipt: ShownReceipt; title: string }) {
  const { t } = useTranslation();
  return (
    <PrintButton word={t('print.receipt')}>
      <Paper receipt={receipt} title={title} />
    </PrintButton>
  );
}

interface PrintInvoiceProps {
  qrImage: string;
  amount: number | undefined;
  title: string;
  receipt: ShownReceipt | undefined;
}

export function PrintInvoice({ qrImage, amount, title, receipt }: PrintInvoiceProps) {
  const { t } = useTranslation();
  return (
    <PrintButton word={t('print.invoice')}>
      <h1>{title}</h1>
      {amount !== undefined && <p className="print-sum">{lei(amount)} MDL</p>}
      <img className="print-qr" src={qrImage} alt={t('invoices.qr')} />
      <p>{t('print.scan')}</p>
      {receipt && <Paper receipt={receipt} title={title} />}
    </PrintButton>
  );
}
