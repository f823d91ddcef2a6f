// One sale on one page: its outcome in a sentence, its facts, its timeline, the raw request and answer, and the next steps.
import './sale.css';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation, useParams } from 'wouter';
import { useRead } from '../api/query.ts';
import type { SalePage } from '../api/sale.ts';
import { useBankName } from '../api/session.tsx';
import type { Mark } from '../api/views.ts';
import { lei } from '../i18n/format.ts';
import { Icon } from '../parts/icons.tsx';
import { listAround } from '../parts/list.tsx';
import { PageName, Read } from '../parts/page.tsx';
import { useSaid } from '../parts/said.ts';
import { StateChip } from '../parts/state-mark.tsx';
import { useIsPhone } from '../parts/use-width.ts';
import { Copyable, copyText, ExactMoment, shortId, useBriefly, useNowMs } from '../parts/values.tsx';
import { useKeys } from '../shell/keyboard.ts';
import { Timeline } from '../timeline/timeline.tsx';
import { RawCard } from './raw-card.tsx';
import { SaleFacts } from './sale-facts.tsx';
import { Related } from './sale-related.tsx';
import { NextSteps } from './sale-steps.tsx';

export function Sale() {
  const { id = '' } = useParams();
  const page = useRead<SalePage>(`/commands/${id}`, {}, { keepsPrevious: true });
  return (
    <Read of={page} rows={8}>
      {(sale) => <SaleView sale={sale} />}
    </Read>
  );
}

type Tab = 'timeline' | 'facts' | 'steps' | 'raw';

function SaleView({ sale }: { sale: SalePage }) {
  const { t } = useTranslation();
  const [path] = useLocation();
  const isPhone = useIsPhone();
  const [tab, setTab] = useState<Tab>('timeline');
  const base = path.startsWith('/fiscal') ? '/fiscal' : '/payments';
  const nowMs = useNowMs();
  const isGoingOn = sale.command.shownState === 'waiting' || sale.command.shownState === 'unknown';
  const timeline = (
    <Timeline
      steps={sale.timeline}
      unclear={sale.unclear}
      nowMs={isGoingOn ? nowMs - Date.parse(sale.command.at) : undefined}
      ownName={sale.command.name}
    />
  );
  const nextSteps = <NextSteps steps={sale.steps} path={`/commands/${sale.command.id}`} />;
  return (
    <>
      <Crumb base={base} id={sale.command.id} word={t(`command.${sale.command.name}`, { defaultValue: sale.command.name })} />
      <Hero sale={sale} />
      {sale.holder && (
        <p className="note tone-warn held-by">
          {t('sale.heldBy', { device: sale.command.deviceName })}{' '}
          <Link className="link" href={`${base}/${sale.holder.id}`}>
            {t(`command.${sale.holder.name}`, { defaultValue: sale.holder.name })} {sale.holder.id.slice(0, 8)}
          </Link>
        </p>
      )}
      {isPhone ? (
        <div className="stack wide">
          <div className="segments" role="tablist">
            {(['timeline', 'steps', 'facts', 'raw'] as const).map((name) => (
              <button key={name} type="button" role="tab" aria-selected={tab === name} onClick={() => setTab(name)}>
                {t(`sale.tab.${name}`)}
              </button>
            ))}
          </div>
          {tab === 'timeline' && timeline}
          {tab === 'facts' && <SaleFacts sale={sale} />}
          {tab === 'steps' && nextSteps}
          {tab === 'raw' && <RawCard raw={sale.raw} />}
        </div>
      ) : (
        <div className="sale">
          <SaleFacts sale={sale} />
          {timeline}
          <div className="stack wide">
            {nextSteps}
            <Related sale={sale} />
            <RawCard raw={sale.raw} />
          </div>
        </div>
      )}
    </>
  );
}

export function Crumb({ base, id, word }: { base: string; id: string; word: string }) {
  const { t } = useTranslation();
  const [, go] = useLocation();
  const [isCopied, markCopied] = useBriefly();
  const around = listAround(base, id);
  const pageKey = base === '/invoices' ? 'invoices' : base === '/fiscal' ? 'fiscal' : 'payments';
  useKeys({
    j: () => around?.after !== undefined && go(around.after),
    k: () => around?.before !== undefined && go(around.before),
    u: () => go(around?.back ?? base),
  });
  return (
    <div className="crumb no-print">
      <Link href={around?.back ?? base} className="row">
        <Icon name="left" size={14} />
        {t(`page.${pageKey}`)}
      </Link>
      <span className="faint">/</span>
      <span>{word}</span>
      <span className="faint">/</span>
      <Copyable text={id} shown={shortId(id)} />
      <span className="grow" />
      {around && (
        <span className="row not-phone">
          <kbd>J</kbd>
          <kbd>K</kbd>
          {t('sale.around')}
        </span>
      )}
      <button
        type="button"
        className="btn compact"
        aria-label={t('sale.copyLink')}
        onClick={() => void copyText(location.href).then(markCopied)}
      >
        <Icon name={isCopied ? 'check' : 'link'} size={14} />
        <span className="not-phone">{isCopied ? t('copy.done') : t('sale.copyLink')}</span>
      </button>
    </div>
  );
}

function Hero({ sale }: { sale: SalePage }) {
  const { t } = useTranslation();
  const said = useSaid();
  const bankName = useBankName();
  const { command } = sale;
  const sentence = said(sale.outcome);
  return (
    <div className="hero">
      <div>
        <PageName name={sentence} />
        <p className="advice">{said(sale.advice)}</p>
        {sale.hints !== undefined && sale.hints.length > 0 && <p className="advice">{sale.hints.map(said).join(' ')}</p>}
        <div className="chips">
          {sale.marks.map((mark) => (
            <StateChip key={mark.key} state={shapeOf(mark)} word={t(mark.key, { defaultValue: mark.key })} />
          ))}
        </div>
      </div>
      <div className="sum">
        {command.amount !== undefined && (
          <b>
            {lei(command.amount)} <small>MDL</small>
          </b>
        )}
        <p>
          {[bankName(command.bank), command.deviceName].filter(Boolean).join(' · ')} · <ExactMoment at={command.at} />
        </p>
      </div>
    </div>
  );
}

const shapes = { good: 'ok', waiting: 'warn', bad: 'bad', neutral: 'none' } as const;

/** A mark of the state itself has the state's own shape. */
export function shapeOf({ key, state }: Mark): string {
  return /^(state|invoice)\./.test(key) ? key.replace(/^\w+\./, '') : shapes[state];
}
