// What the ERP had to do: mostly nothing. Under it the way to the sale's own timeline.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Playground } from '../../api/playground.ts';
import { Icon } from '../../parts/icons.tsx';
import { useSaid } from '../../parts/said.ts';

export function OutcomeCard({
  story,
  lastSale,
  isFree,
}: {
  story: Playground['story'];
  lastSale: Playground['till']['lastSale'];
  isFree: boolean;
}) {
  const { t } = useTranslation();
  const say = useSaid();
  const verdict = isFree ? undefined : story?.verdict;
  const saleId = verdict ? verdict.saleCommandId : lastSale?.commandId;
  return (
    <section className="card outcome" aria-label={t('playground.outcome.title')}>
      <h2>{t('playground.outcome.title')}</h2>
      {verdict ? (
        <>
          <p className="outcome-word">{say(verdict.erpHadToDo)}</p>
          <p className="second">{say(verdict)}</p>
          <p className={verdict.booksAgree ? 'tone-ok strong' : 'tone-warn strong'}>
            {t(verdict.booksAgree ? 'playground.outcome.booksAgree' : 'playground.outcome.booksDiffer')}
          </p>
        </>
      ) : (
        <p className="second">
          {t(isFree ? 'playground.outcome.free' : story?.isRunning ? 'playground.outcome.running' : 'playground.outcome.none')}
        </p>
      )}
      <div className="grow" />
      {saleId !== undefined && (
        <Link className="link row" href={`/payments/${saleId}`}>
          {t('playground.outcome.timeline')}
          <Icon name="right" size={14} />
        </Link>
      )}
      {verdict?.oid !== undefined && (
        <Link className="link row" href={`/invoices/${verdict.oid}`}>
          {t('playground.outcome.invoice')}
          <Icon name="right" size={14} />
        </Link>
      )}
    </section>
  );
}
