// Sales that the gateway could not settle by itself: what is known, what is not, for how long, how much, and the safe next step.
import './attention.css';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { type Attention as Answer, type AttentionItem, type AttentionKind, attentionKinds } from '../api/attention.ts';
import type { Overview } from '../api/overview.ts';
import { useChange, useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { duration, exactTime, lei } from '../i18n/format.ts';
import { AskDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { ChoiceFilter } from '../parts/filters.tsx';
import { Blank, PageHead, Read } from '../parts/page.tsx';
import { useSaid, useSideLine } from '../parts/said.ts';
import { StateShape } from '../parts/state-mark.tsx';
import { useFilters } from '../parts/use-filters.ts';
import { useNowMs } from '../parts/values.tsx';
import { StepDialog } from './sale-steps.tsx';

const timeZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
const erpIsUnaware = new Set<AttentionKind>(['erpNotNotified', 'paydRefused']);

export function Attention() {
  const { t } = useTranslation();
  const { scope } = useViewer();
  const filters = useFilters();
  const list = useRead<Answer>('/attention', { ...scope });
  const day = useRead<Overview>('/overview', { ...scope, period: 'today', timeZone });
  const { recall = 0, lateAnswer = 0, lastTransaction = 0, person = 0 } = day.data?.settledAlone ?? {};
  const settledToday = recall + lateAnswer + lastTransaction + person;
  const chosen = filters.get('kind');
  return (
    <>
      <PageHead name={t('page.attention')} sub={t('attention.sub')} />
      <Read of={list}>
        {({ items, sales, isCut }) => {
          // By weight, and in each kind the oldest first: the first one has the page's primary button.
          const shown = attentionKinds
            .filter((kind) => chosen === undefined || chosen === kind)
            .flatMap((kind) => items.filter((item) => item.kind === kind));
          return items.length === 0 ? (
            <Blank icon="check" title={t('attention.empty.title')}>
              <p>{t('attention.empty.hint')}</p>
              {settledToday > 0 && <p>{t('attention.settledCount', { count: settledToday })}</p>}
            </Blank>
          ) : (
            <>
              <SumLine items={items} sales={sales} settledToday={settledToday} />
              {isCut && <p className="note">{t('attention.isCut')}</p>}
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
                  <Group key={kind} kind={kind} items={shown.filter((item) => item.kind === kind)} first={shown[0]} />
                ))}
            </>
          );
        }}
      </Read>
    </>
  );
}

function SumLine({ items, sales, settledToday }: Pick<Answer, 'items' | 'sales'> & { settledToday: number }) {
  const { t } = useTranslation();
  const nowMs = useNowMs();
  const sum = (some: AttentionItem[]) => some.reduce((all, { amount = 0 }) => all + amount, 0);
  const oldestMs = Math.min(...items.map(({ since }) => Date.parse(since)));
  return (
    <div className="sum-line">
      <div>
        <b>{lei(sales.amount)} MDL</b>
        <span>{t('attention.inSales', { count: sales.count })}</span>
      </div>
      <div>
        <b>{duration(Math.max(0, nowMs - oldestMs), t)}</b>
        <span>{t('attention.oldest')}</span>
      </div>
      <div>
        <b>{lei(sum(items.filter(({ kind }) => erpIsUnaware.has(kind))))} MDL</b>
        <span>{t('attention.unaware')}</span>
      </div>
      <div>
        <b>{settledToday}</b>
        <span>{t('attention.settledToday')}</span>
      </div>
    </div>
  );
}

function Group({ kind, items, first }: { kind: AttentionKind; items: AttentionItem[]; first: AttentionItem | undefined }) {
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
          <Case key={item.subjectId} item={item} isFirst={item === first} />
        ))}
      </div>
    </section>
  );
}

function Case({ item, isFirst }: { item: AttentionItem; isFirst: boolean }) {
  const { t, i18n } = useTranslation();
  const said = useSaid();
  const sideLine = useSideLine();
  const { may } = useViewer();
  const nowMs = useNowMs();
  const [isOpen, setIsOpen] = useState(false);
  const resend = useChange(['/attention', '/callbacks', '/overview']);
  const id = item.commandId ?? item.oid;
  const path = item.commandId === undefined ? `/invoices/${item.oid}` : `/payments/${item.commandId}`;
  const { action, closesReview, keepsSettlement, contradiction, asksNumbers, consequence } = item.nextStep;
  const act = () => {
    if (action === 'resend') resend.mutate({ path: `/callbacks/${item.callbackId}/resend` });
    else setIsOpen(true);
  };
  return (
    <article className="card case row-link">
      <div className="what">
        {item.amount !== undefined && (
          <b>
            {lei(item.amount)} <small>MDL</small>
          </b>
        )}
        <span title={exactTime(item.since, i18n.language, 'full')}>
          {t('attention.waits', { span: duration(Math.max(0, nowMs - Date.parse(item.since)), t) })}
        </span>
        <span className="cut">{item.deviceName}</span>
        {id !== undefined && (
          <Link className="link mono case-link" href={path}>
            {item.commandId?.slice(0, 8) ?? `OID ${item.oid?.slice(0, 8)}`}
          </Link>
        )}
      </div>
      <div>
        <h3>
          <StateShape state="ok" size={12} />
          {t('attention.known')}
        </h3>
        <p>{said(item.known)}</p>
        <p className="small second">{sideLine(item.known)}</p>
      </div>
      <div>
        <h3>
          <StateShape state="none" size={12} />
          {t('attention.unknownHead')}
        </h3>
        <p>{said(item.unknown)}</p>
      </div>
      <div className="next">
        {action === 'open' && (
          <Link className={isFirst ? 'btn block primary' : 'btn block'} href={path}>
            {t('attention.look')}
          </Link>
        )}
        {action !== 'open' && may('money') && (
          <button type="button" className={isFirst ? 'btn block primary' : 'btn block'} disabled={resend.isPending} onClick={act}>
            {t(`act.${action}.button`)}
          </button>
        )}
        <p>{resend.error?.message ?? said(consequence)}</p>
      </div>
      {isOpen && action === 'note' && <NoteDialog item={item} onClose={() => setIsOpen(false)} />}
      {isOpen && action !== 'note' && action !== 'resend' && action !== 'open' && (
        <StepDialog
          path={`/commands/${item.commandId}`}
          step={{
            action,
            isAllowed: true,
            consequence,
            asksNumbers,
            ...(closesReview ? { closesReview, keepsSettlement, contradiction } : {}),
          }}
          onClose={() => setIsOpen(false)}
        />
      )}
    </article>
  );
}

function NoteDialog({ item, onClose }: { item: AttentionItem; onClose: () => void }) {
  const { t } = useTranslation();
  const said = useSaid();
  const [reason, setReason] = useState('');
  const note = useChange(['/attention', '/overview', '/audit'], onClose);
  return (
    <AskDialog
      title={t('act.note.title')}
      consequence={said(item.nextStep.consequence)}
      action={t('act.note.do')}
      isRunning={note.isPending}
      isBlocked={reason.trim() === ''}
      error={note.error}
      onClose={onClose}
      onConfirm={() =>
        note.mutate({ path: '/attention/note', body: { kind: item.kind, subjectId: item.subjectId, reason: reason.trim() } })
      }
    >
      <Field label={t('act.reason')} hint={t('act.reasonHint')}>
        <textarea className="input" data-autofocus maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} />
      </Field>
    </AskDialog>
  );
}
