// What the ERP had to do: mostly nothing. Under it the way to the sale's own timeline.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Playground, PlaySale, Story } from '../../api/playground.ts';
import { Icon } from '../../parts/icons.tsx';
import { useSaid } from '../../parts/said.ts';
import { outcomeOf } from './round.ts';

interface OutcomeCardProps {
  story: Playground['story'];
  lastSale: PlaySale | undefined;
  isFree: boolean;
}

export function OutcomeCard({ story, lastSale, isFree }: OutcomeCardProps) {
  const { t } = useTranslation();
  const verdict = isFree ? undefined : story?.verdict;
  const commandId = verdict ? verdict.saleCommandId : lastSale?.commandId;
  const oid = verdict ? verdict.oid : lastSale?.oid;
  return (
    <section className="card outcome" aria-label={t('playground.outcome.title')}>
      <h2>{t('playground.outcome.title')}</h2>
      {verdict ? (
        <Verdict verdict={verdict} />
      ) : isFree && lastSale ? (
        <LastSale sale={lastSale} />
      ) : (
        <p className="second">
          {t(isFree ? 'playground.outcome.free' : story?.isRunning ? 'playground.outcome.running' : 'playground.outcome.none')}
        </p>
      )}
      <div className="grow" />
      {commandId !== undefined && (
        // The command of a QR sale is its receipt's.
        <Link className="link row" href={`${oid === undefined ? '/payments' : '/fiscal'}/${commandId}`}>
          {t('playground.outcome.timeline')}
          <Icon name="right" size={14} />
        </Link>
      )}
      {oid !== undefined && (
        <Link className="link row" href={`/invoices/${oid}`}>
          {t('playground.outcome.invoice')}
          <Icon name="right" size={14} />
        </Link>
      )}
    </section>
  );
}

function Verdict({ verdict }: { verdict: NonNullable<Story['verdict']> }) {
  const { t } = useTranslation();
  const say = useSaid();
  return (
    <>
      <p className="outcome-word">{say(verdict.erpHadToDo)}</p>
      <p className="second">{t(verdict.key, { ...verdict.params, defaultValue: verdict.key })}</p>
      {verdict.booksAgree !== undefined && (
        <p className={verdict.booksAgree ? 'tone-ok strong' : 'tone-warn strong'}>
          {t(verdict.booksAgree ? 'playground.outcome.booksAgree' : 'playground.outcome.booksDiffer')}
        </p>
      )}
    </>
  );
}

function LastSale({ sale }: { sale: PlaySale }) {
  const { t } = useTranslation();
  const outcome = outcomeOf(sale);
  return (
    <>
      <p className="outcome-word">{t(`playground.outcome.sale.${outcome}.todo`)}</p>
      <p className="second">{t(`playground.outcome.sale.${outcome}.meaning`)}</p>
      {sale.message !== undefined && sale.state !== 'done' && <p className="small mono break">{sale.message}</p>}
    </>
  );
}
