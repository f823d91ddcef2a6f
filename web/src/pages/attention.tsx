// Sales that nothing could settle by itself: what is known, what is not, how long and how much, and the safe next step.
import './attention.css';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { type Attention as Answer, type AttentionItem, type AttentionKind, attentionKinds } from '../api/attention.ts';
import { useChange, useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import type { NextStep, StepAction } from '../api/views.ts';
import { duration, lei } from '../i18n/format.ts';
import { ChoiceFilter, useFilters } from '../parts/filters.tsx';
import { Blank, PageHead, Read } from '../parts/page.tsx';
import { useSaid } from '../parts/said.ts';
import { StateShape } from '../parts/state-mark.tsx';
import { Moment, useNowMs } from '../parts/values.tsx';
import { StepDialog } from './sale-steps.tsx';

const erpIsUnaware = new Set<AttentionKind>(['erpNotTold', 'paydRefused', 'contradiction']);

export function Attention() {
  const { t } = useTranslation();
  const { scope } = useViewer();
  const filters = useFilters();
  const list = useRead<Answer>('/attention', { ...scope });
  const chosen = filters.get('kind');
  return (
    <>
      <PageHead name={t('page.attention')} sub={t('attention.sub')} />
      <Read of={list}>
        {({ items }) =>
          items.length === 0 ? (
            <Blank icon="check" title={t('attention.empty.title')}>
              <p>{t('attention.empty.hint')}</p>
            </Blank>
          ) : (
            <>
              <SumLine items={items} />
              <div className="filters">
                <ChoiceFilter
                  filters={filters}
                  name="kind"
                  label={t('attention.kindHead')}
                  choices={attentionKinds.map((kind) => ({
                    value: kind,
                    word: t(`attention.kind.${kind}`),
                    mark: <StateShape state={kind} />,
                  }))}
                />
              </div>
              {attentionKinds
                .filter((kind) => chosen === undefined || chosen === kind)
                .map((kind) => (
                  <Group key={kind} kind={kind} items={items.filter((item) => item.kind === kind)} />
                ))}
            </>
          )
        }
      </Read>
    </>
  );
}

function SumLine({ items }: { items: AttentionItem[] }) {
  const { t } = useTranslation();
  const nowMs = useNowMs();
  const sum = (some: AttentionItem[]) => some.reduce((all, { amount = 0 }) => all + amount, 0);
  const oldestMs = Math.min(...items.map(({ since }) => Date.parse(since)));
  return (
    <div className="sum-line">
      <div>
        <b>{lei(sum(items))} MDL</b>
        <span>{t('attention.inSales', { count: items.length })}</span>
      </div>
      <div>
        <b>{duration(Math.max(0, nowMs - oldestMs), t)}</b>
        <span>{t('attention.oldest')}</span>
      </div>
      <div>
        <b>{lei(sum(items.filter(({ kind }) => erpIsUnaware.has(kind))))} MDL</b>
        <span>{t('attention.unaware')}</span>
      </div>
    </div>
  );
}

function Group({ kind, items }: { kind: AttentionKind; items: AttentionItem[] }) {
  const { t } = useTranslation();
  if (items.length === 0) return null;
  return (
    <section>
      <h2 className="kind-head">
        <StateShape state={kind} />
        {t(`attention.kind.${kind}`)}
        <small>{t(`attention.about.${kind}`)}</small>
      </h2>
      <div className="cases">
        {items.map((item) => (
          <Case key={`${item.commandId ?? ''} ${item.oid ?? ''} ${item.callbackId ?? ''}`} item={item} />
        ))}
      </div>
    </section>
  );
}

function Case({ item }: { item: AttentionItem }) {
  const { t } = useTranslation();
  const said = useSaid();
  const { may } = useViewer();
  const [isOpen, setIsOpen] = useState(false);
  const resend = useChange(['/attention', '/callbacks', '/overview']);
  const path = item.commandId === undefined ? `/invoices/${item.oid}` : `/payments/${item.commandId}`;
  const step = item.nextStep;
  const isResend = step?.action === 'resend' || step?.action === 'sendAgain';
  const act = () => {
    if (isResend && item.callbackId !== undefined) resend.mutate({ path: `/callbacks/${item.callbackId}/resend` });
    else setIsOpen(true);
  };
  return (
    <article className="card case">
      <div className="what">
        {item.amount !== undefined && (
          <b>
            {lei(item.amount)} <small>MDL</small>
          </b>
        )}
        <span>
          <Moment at={item.since} />
        </span>
        <span className="cut">{[item.shop, item.deviceName].filter(Boolean).join(' · ')}</span>
        <Link className="link mono" href={path}>
          {item.commandId?.slice(0, 8) ?? `OID ${item.oid?.slice(0, 8)}`}
        </Link>
      </div>
      <div>
        <h3>
          <StateShape state="ok" size={12} />
          {t('attention.known')}
        </h3>
        <p>{item.known ? said(item.known) : t(`attention.knownOf.${item.kind}`)}</p>
        {item.reason !== undefined && <p className="small second">{item.reason}</p>}
      </div>
      <div>
        <h3>
          <StateShape state="none" size={12} />
          {t('attention.unknownHead')}
        </h3>
        <p>{item.unknown ? said(item.unknown) : t(`attention.unknownOf.${item.kind}`)}</p>
      </div>
      <div className="next">
        {step && may('money') && (
          <button type="button" className="btn block" disabled={!step.isAllowed || resend.isPending} onClick={act}>
            {isResend ? t('callbacks.resend.button') : t(`act.${step.action}.button`)}
          </button>
        )}
        {!step && (
          <Link className="btn block" href={path}>
            {t('attention.look')}
          </Link>
        )}
        <p>{resend.error?.message ?? (step && said(step.isAllowed ? step.consequence : (step.whyNot ?? step.consequence)))}</p>
      </div>
      {isOpen && step && (
        <StepDialog
          path={item.commandId === undefined ? `/invoices/${item.oid}` : `/commands/${item.commandId}`}
          step={{ ...step, action: step.action as StepAction } satisfies NextStep}
          onClose={() => setIsOpen(false)}
        />
      )}
    </article>
  );
}
