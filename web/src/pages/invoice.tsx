// One invoice: its outcome in a sentence, the QR, the receipt as paper, the timeline, and cancelling it while it is unpaid.
import './sale.css';
import './paper.css';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'wouter';
import { basePath } from '../api/client.ts';
import { useRead } from '../api/query.ts';
import type { InvoicePage } from '../api/sale.ts';
import { lei } from '../i18n/format.ts';
import { Icon } from '../parts/icons.tsx';
import { PageName, Read } from '../parts/page.tsx';
import { useSaid } from '../parts/said.ts';
import { StateChip } from '../parts/state-mark.tsx';
import { Copyable, copyText, ExactMoment, useBriefly } from '../parts/values.tsx';
import { Timeline } from '../timeline/timeline.tsx';
import { Paper } from './paper.tsx';
import { PrintInvoice } from './print-sheet.tsx';
import { RawCard } from './raw-card.tsx';
import { Crumb, shapeOf } from './sale.tsx';
import { Fact } from './sale-facts.tsx';
import { NextSteps } from './sale-steps.tsx';

export function Invoice() {
  const { oid = '' } = useParams();
  const page = useRead<InvoicePage>(`/invoices/${oid}`, {}, { keepsPrevious: true });
  return (
    <Read of={page} rows={8}>
      {(invoice) => <InvoiceView page={invoice} />}
    </Read>
  );
}

function CopyQr({ text }: { text: string }) {
  const { t } = useTranslation();
  const [isCopied, markCopied] = useBriefly();
  return (
    <button type="button" className="btn compact" onClick={() => void copyText(text).then(markCopied)}>
      <Icon name={isCopied ? 'check' : 'link'} size={14} />
      {isCopied ? t('copy.done') : t('print.copy')}
    </button>
  );
}

/** Absent for viewers: a QR can be scanned. */
function QrCard({ text, image, page }: { text: string; image: string; page: InvoicePage }) {
  const { t } = useTranslation();
  const { invoice } = page;
  return (
    <section className="card qr-card">
      <img src={image} alt={t('invoices.qr')} width={240} height={240} />
      <div className="row wrap">
        <PrintInvoice qrImage={image} amount={invoice.amount} title={invoice.merchantName} receipt={page.receipt} />
        <CopyQr text={text} />
        <a className="btn compact" href={image} download={`invoice-${invoice.oid}.svg`}>
          <Icon name="export" size={14} />
          {t('print.download')}
        </a>
      </div>
    </section>
  );
}

function InvoiceView({ page }: { page: InvoicePage }) {
  const { t } = useTranslation();
  const said = useSaid();
  const { invoice } = page;
  return (
    <>
      <Crumb base="/invoices" id={invoice.oid} word={t('search.kind.invoice')} />
      <div className="hero">
        <div>
          <PageName name={said(page.outcome)} />
          <p className="advice">{said(page.advice)}</p>
          <div className="chips">
            {page.marks.map((mark) => (
              <StateChip key={mark.key} state={shapeOf(mark)} word={t(mark.key, { defaultValue: mark.key })} />
            ))}
          </div>
        </div>
        <div className="sum">
          {invoice.amount !== undefined && (
            <b>
              {lei(invoice.amount)} <small>MDL</small>
            </b>
          )}
          <p>
            <ExactMoment at={invoice.at} />
          </p>
        </div>
      </div>
      <div className="sale">
        <div className="facts">
          <section>
            <h2>{t('search.kind.invoice')}</h2>
            <dl>
              <Fact name="merchant">{invoice.merchantName}</Fact>
              <Fact name="created">
                <ExactMoment at={invoice.at} shape="full" />
              </Fact>
              {invoice.validTo !== undefined && (
                <Fact name="validTo">
                  <ExactMoment at={invoice.validTo} shape="full" />
                </Fact>
              )}
              {invoice.receiptId !== undefined && (
                <Fact name="receipt">
                  <Copyable text={invoice.receiptId} />
                </Fact>
              )}
              <Fact name="oid">
                <Copyable text={invoice.oid} />
              </Fact>
            </dl>
          </section>
          {page.related.payments.length > 0 && (
            <section>
              <h2>{t('sale.related')}</h2>
              {page.related.payments.map((payment) => (
                <Link key={payment.id} className="link" href={`/payments/${payment.id}`}>
                  {t(`command.${payment.name}`, { defaultValue: payment.name })}
                </Link>
              ))}
            </section>
          )}
        </div>
        <Timeline steps={page.timeline} unclear={page.unclear} />
        <div className="stack wide">
          <NextSteps steps={page.steps} path={`/invoices/${invoice.oid}`} />
          {page.qr !== undefined && page.qrImage !== undefined && (
            <QrCard text={page.qr} image={`${basePath}${page.qrImage}`} page={page} />
          )}
          {page.receipt && <Paper receipt={page.receipt} title={invoice.merchantName} />}
          <RawCard raw={page.raw} />
        </div>
      </div>
    </>
  );
}
