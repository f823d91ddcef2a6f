// Tools for callbacks: the merchant's signing secret, a test callback, code that verifies one, and resending many.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Answers } from '../api/answers.ts';
import { useChange } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { AskDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { MerchantField } from '../parts/merchant-field.tsx';
import { SecretDialog } from '../parts/secret-dialog.tsx';
import { copyText, useBriefly } from '../parts/values.tsx';
import { samples } from './verify-samples.ts';

type TestAnswer = Answers['sendTestCallback'];

export function SigningSecret() {
  const { t } = useTranslation();
  const { merchantId, may } = useViewer();
  const [owner, setOwner] = useState(merchantId ?? '');
  const [isAsking, setIsAsking] = useState(false);
  const [secret, setSecret] = useState<string>();
  const [url, setUrl] = useState('');
  const rotate = useChange<{ secret: string }>(['/audit'], ({ secret: fresh }) => {
    setIsAsking(false);
    setSecret(fresh);
  });
  const test = useChange<TestAnswer>(['/audit']);
  if (!may('setup')) return null;
  return (
    <section className="card">
      <header>
        <h2>{t('callbacks.secret.title')}</h2>
      </header>
      <div className="inside stack wide">
        <p className="second">{t('callbacks.secret.meaning')}</p>
        <MerchantField value={owner} onChange={setOwner} />
        <button type="button" className="btn" disabled={owner === ''} onClick={() => setIsAsking(true)}>
          {t('callbacks.secret.button')}
        </button>
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            test.mutate({ path: `/merchants/${owner}/test-callback`, body: { url } });
          }}
        >
          <Field label={t('callbacks.test.url')} hint={t('callbacks.test.hint')}>
            <input
              className="input"
              type="url"
              required
              placeholder="https://erp.example.md/tillgate"
              value={url}
              onChange={(event) => setUrl(event.target.value)}
            />
          </Field>
          <button type="submit" className="btn" disabled={owner === '' || test.isPending}>
            {test.isPending ? t('dialog.running') : t('callbacks.test.button')}
          </button>
          {test.error && (
            <p className="note tone-bad" role="alert">
              {test.error.message}
            </p>
          )}
          {test.data && (
            <p className={test.data.status !== undefined && test.data.status < 300 ? 'note tone-ok' : 'note tone-warn'} role="status">
              {test.data.status === undefined
                ? (test.data.error ?? t('callbacks.noAnswer'))
                : t('callbacks.answered', { status: test.data.status })}
            </p>
          )}
        </form>
      </div>
      {isAsking && (
        <AskDialog
          title={t('callbacks.secret.ask')}
          consequence={t('callbacks.secret.consequence')}
          action={t('callbacks.secret.do')}
          isRunning={rotate.isPending}
          error={rotate.error}
          onClose={() => setIsAsking(false)}
          onConfirm={() => rotate.mutate({ path: `/merchants/${owner}/secret` })}
        >
          {null}
        </AskDialog>
      )}
      {secret !== undefined && (
        <SecretDialog
          title={t('callbacks.secret.title')}
          meaning={t('callbacks.secret.shown')}
          secret={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </section>
  );
}

export function VerifySample() {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState(0);
  const [isCopied, markCopied] = useBriefly();
  const sample = samples[chosen];
  return (
    <section className="card">
      <header>
        <h2 className="grow">{t('callbacks.verify')}</h2>
        <div className="segments" role="group" aria-label={t('callbacks.verify')}>
          {samples.map(({ name }, index) => (
            <button key={name} type="button" aria-pressed={index === chosen} onClick={() => setChosen(index)}>
              {name}
            </button>
          ))}
        </div>
      </header>
      <div className="inside stack">
        <pre className="code code-box">{sample?.code}</pre>
        <button type="button" className="btn compact" onClick={() => void copyText(sample?.code ?? '').then(markCopied)}>
          {isCopied ? t('copy.done') : t('copy.button')}
        </button>
      </div>
    </section>
  );
}

export function ResendRange({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const { merchantId } = useViewer();
  const [owner, setOwner] = useState(merchantId ?? '');
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [count, setCount] = useState<number>();
  const resend = useChange<{ count: number }>(['/callbacks', '/attention', '/overview'], (answer) => setCount(answer.count));
  const isRight = from !== '' && to !== '' && from < to && owner !== '';
  return (
    <AskDialog
      title={t('callbacks.range.title')}
      consequence={t('callbacks.range.consequence')}
      action={count === undefined ? t('callbacks.range.do') : t('dialog.done')}
      isRunning={resend.isPending}
      isBlocked={!isRight}
      error={resend.error}
      onClose={onClose}
      onConfirm={() => {
        if (count !== undefined) onClose();
        else
          resend.mutate({
            path: '/callbacks/resend',
            body: { merchantId: owner, from: new Date(from).toISOString(), to: new Date(to).toISOString() },
          });
      }}
    >
      <MerchantField value={owner} onChange={setOwner} />
      <Field label={t('callbacks.range.from')}>
        <input className="input" type="datetime-local" value={from} onChange={(event) => setFrom(event.target.value)} />
      </Field>
      <Field label={t('callbacks.range.to')}>
        <input className="input" type="datetime-local" value={to} onChange={(event) => setTo(event.target.value)} />
      </Field>
      {count !== undefined && (
        <p className="note tone-ok" role="status">
          {t('callbacks.range.done', { count })}
        </p>
      )}
    </AskDialog>
  );
}
