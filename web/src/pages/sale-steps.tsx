// Safe next steps: each shows its consequence first, and is sent with an Idempotency-Key made when its dialog opened,
// so that a second click, a lost answer or a repeated call moves the money once.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Answers } from '../api/answers.ts';
import { useChange } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import type { NextStep, StepAction } from '../api/views.ts';
import { editable, lei } from '../i18n/format.ts';
import { AskDialog, Dialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Icon, type IconName } from '../parts/icons.tsx';
import { useSaid } from '../parts/said.ts';

const icons: Record<StepAction, IconName> = {
  refund: 'refund',
  void: 'void',
  close: 'closeDocument',
  closeByHand: 'closeDocument',
  ask: 'ask',
  decide: 'gavel',
  cancel: 'void',
  resend: 'send',
};

/** One primary button: the step that finishes the sale comes first; a void is never primary. */
const byWeight: StepAction[] = ['close', 'decide', 'resend', 'refund', 'ask'];

interface NextStepsProps {
  steps: readonly NextStep[];
  /** Of the object's API. */
  path: string;
}

/** Possible steps with their consequences; the others are folded away with their reasons. */
export function NextSteps({ steps, path }: NextStepsProps) {
  const { t } = useTranslation();
  const said = useSaid();
  const { may } = useViewer();
  const [opened, setOpened] = useState<NextStep>();
  const possible = may('money') ? steps.filter(({ isAllowed }) => isAllowed) : [];
  const others = may('money') ? steps.filter(({ isAllowed }) => !isAllowed) : [];
  const primary = byWeight.map((action) => steps.find((step) => step.action === action && step.isAllowed)).find(Boolean);
  return (
    <section className="card">
      <header>
        <h2>{t('sale.steps')}</h2>
      </header>
      {possible.length === 0 && <p className="inside second">{t(may('money') ? 'sale.noneNow' : 'sale.noSteps')}</p>}
      <ul className="next-steps">
        {possible.map((step) => (
          <li key={`${step.action} ${step.callbackId}`}>
            <button type="button" className={`btn block left${step === primary ? ' primary' : ''}`} onClick={() => setOpened(step)}>
              <Icon name={icons[step.action]} />
              {t(`act.${step.action}.button`)}
              {step.notice !== undefined && <span className="tail">{step.notice}</span>}
              {step.maxAmount !== undefined && (
                <span className="tail">
                  {step.action === 'refund' ? t('act.upTo', { amount: step.maxAmount }) : `${lei(step.maxAmount)} MDL`}
                </span>
              )}
            </button>
            <p>{said(step.consequence)}</p>
          </li>
        ))}
      </ul>
      {others.length > 0 && (
        <details className="not-now">
          <summary>{t('sale.notNow')}</summary>
          <dl>
            {others.map((step) => (
              <div key={step.action}>
                <dt>{t(`act.${step.action}.button`)}</dt>
                <dd>{said(step.whyNot ?? step.consequence)}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
      {opened && <StepDialog path={path} step={opened} onClose={() => setOpened(undefined)} />}
    </section>
  );
}

const paths: Record<StepAction, string> = {
  refund: '/refund',
  void: '/void',
  close: '/close',
  closeByHand: '/close-document',
  ask: '/ask',
  decide: '/decide',
  cancel: '/cancel',
  resend: '/resend',
};
const refreshed = ['/commands', '/invoices', '/callbacks', '/attention', '/overview', '/search'];
const needsReason = new Set<StepAction>(['closeByHand', 'decide']);

export function StepDialog({ path, step, onClose }: { path: string; step: NextStep; onClose: () => void }) {
  const { t } = useTranslation();
  const said = useSaid();
  const [key] = useState(() => newKey());
  const [amount, setAmount] = useState(step.maxAmount === undefined ? '' : editable(step.maxAmount));
  const [reason, setReason] = useState('');
  // What the operator has seen, also if the page has newer data by now.
  const [contradiction] = useState(step.contradiction);
  const [numbers, setNumbers] = useState<BankNumbers>({ operationId: '', rrn: '' });
  const [decision, setDecision] = useState<'done' | 'refused' | ''>(step.keepsSettlement ? 'done' : '');
  const [asked, setAsked] = useState<Answers['askCommand']>();
  const run = useChange<Answers['askCommand']>(refreshed, (answer) => (step.action === 'ask' ? setAsked(answer) : onClose()));
  const isRefund = step.action === 'refund';
  const asksNumbers = step.asksNumbers === true && decision === 'done' && !step.keepsSettlement;
  const texts = step.keepsSettlement ? 'seen' : step.closesReview ? 'review' : step.action;
  const bani = Math.round(Number(amount.replace(',', '.')) * 100);
  const isAmountRight =
    !isRefund || (/^\d+([.,]\d{1,2})?$/.test(amount.trim()) && bani > 0 && bani <= Math.round((step.maxAmount ?? 0) * 100));
  const isBlocked =
    !isAmountRight || (needsReason.has(step.action) && reason.trim() === '') || (step.action === 'decide' && decision === '');
  const body = {
    ...(isRefund ? { amount: bani / 100 } : {}),
    ...(needsReason.has(step.action) ? { reason: reason.trim() } : {}),
    ...(asksNumbers ? knownOf(numbers) : {}),
    ...(step.action === 'decide' ? { state: decision, ...(step.closesReview ? { closesReview: true, contradiction } : {}) } : {}),
  };
  if (asked) {
    return (
      <Dialog title={t('act.ask.title')} onClose={onClose}>
        <p className={`note tone-${asked.isAnswered && !asked.isContradicted ? 'ok' : 'warn'}`} role="status">
          {t(`act.ask.result.${resultOf(asked)}`, { context: asked.state })}
        </p>
      </Dialog>
    );
  }
  return (
    <AskDialog
      title={t(`act.${texts}.title`)}
      consequence={said(step.consequence)}
      action={!isRefund ? t(`act.${texts}.do`) : isAmountRight ? t('act.refund.do', { amount: bani / 100 }) : t('act.refund.plain')}
      isDanger={step.action === 'void'}
      isRunning={run.isPending}
      isBlocked={isBlocked}
      error={run.error}
      onClose={onClose}
      onConfirm={() =>
        run.mutate({
          path: `${step.callbackId === undefined ? path : `/callbacks/${step.callbackId}`}${paths[step.action]}`,
          body,
          headers: { 'idempotency-key': key },
        })
      }
    >
      {isRefund && (
        <Field
          label={t('act.refund.amount')}
          hint={t(bani > Math.round((step.maxAmount ?? 0) * 100) ? 'act.refund.tooMuch' : 'act.upTo', { amount: step.maxAmount ?? 0 })}
        >
          <input
            className="input num"
            inputMode="decimal"
            data-autofocus
            value={amount}
            aria-invalid={!isAmountRight}
            onChange={(event) => setAmount(event.target.value)}
          />
        </Field>
      )}
      {step.action === 'decide' && !step.keepsSettlement && (
        <fieldset className="field">
          <legend>{t(`act.${texts}.question`)}</legend>
          {(['done', 'refused'] as const).map((state) => (
            <label key={state} className="check">
              <input
                type="radio"
                name="decision"
                aria-label={t(`act.${texts}.${state}`)}
                checked={decision === state}
                onChange={() => setDecision(state)}
              />
              <span>
                <b className="strong">{t(`act.${texts}.${state}`)}</b>
                <br />
                <span className="small second">{t(`act.${texts}.${state}Means`)}</span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      {asksNumbers && <NumberFields numbers={numbers} onChange={setNumbers} />}
      {needsReason.has(step.action) && (
        <Field label={t('act.reason')} hint={t('act.reasonHint')}>
          <textarea className="input" maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} />
        </Field>
      )}
      <p className="small faint">{t('act.once')}</p>
    </AskDialog>
  );
}

type BankNumbers = Record<'operationId' | 'rrn', string>;

/** The numbers that were entered. */
function knownOf(numbers: BankNumbers): Partial<BankNumbers> {
  return Object.fromEntries(Object.entries(numbers).flatMap(([name, value]) => (value.trim() === '' ? [] : [[name, value.trim()]])));
}

function NumberFields({ numbers, onChange }: { numbers: BankNumbers; onChange: (numbers: BankNumbers) => void }) {
  const { t } = useTranslation();
  const input = (name: keyof BankNumbers, maxLength: number) => (
    <input
      className="input"
      maxLength={maxLength}
      value={numbers[name]}
      onChange={(event) => onChange({ ...numbers, [name]: event.target.value })}
    />
  );
  return (
    <>
      <Field label={t('act.decide.operationId')} hint={t('act.decide.numbersHint')}>
        {input('operationId', 128)}
      </Field>
      <Field label="RRN">{input('rrn', 64)}</Field>
    </>
  );
}

/** Without `crypto.randomUUID`, which plain HTTP does not have. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `cabinet-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function resultOf({ state, isAnswered, isContradicted }: Answers['askCommand']): string {
  if (!isAnswered) return 'noAnswer';
  return isContradicted ? 'disputed' : state;
}
