// The own account: password, one-time codes, and open sessions.
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Answers } from '../api/answers.ts';
import { useChange, useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { AskDialog } from '../parts/dialog.tsx';
import { CodeEntry, Entry, Said } from '../parts/entry.tsx';
import { PageHead, Read } from '../parts/page.tsx';
import { QrCode } from '../parts/qr-code.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Copyable, Moment } from '../parts/values.tsx';

type OpenSession = Answers['listSessions']['sessions'][number];

export function Account() {
  const { t } = useTranslation();
  const { session } = useViewer();
  return (
    <>
      <PageHead name={t('page.account')} sub={`${session.user.name} · ${session.user.email} · ${t(`role.${session.user.role}`)}`} />
      {session.needsTotp === true && <p className="second">{t('account.needsTotp')}</p>}
      <div className="account">
        {session.needsTotp !== true && <Password />}
        <OneTimeCodes />
      </div>
      {session.needsTotp !== true && <Sessions />}
    </>
  );
}

function Password() {
  const { t } = useTranslation();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const change = useChange(['/session', '/sessions'], () => {
    setCurrent('');
    setNext('');
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ path: '/me/password', body: { current, next } });
  };
  return (
    <section className="card">
      <header>
        <h2>{t('signIn.password')}</h2>
      </header>
      <form className="inside stack wide" onSubmit={submit}>
        <p className="second">{t('account.passwordMeans')}</p>
        <Entry label={t('account.current')} type="password" autoComplete="current-password" value={current} onChange={setCurrent} />
        <Entry
          label={t('account.next')}
          hint={t('link.rule', { n: 12 })}
          type="password"
          autoComplete="new-password"
          minLength={12}
          value={next}
          onChange={setNext}
        />
        <Said error={change.error?.message} done={change.isSuccess && t('account.changed')} />
        <button type="submit" className="btn" disabled={change.isPending}>
          {t('account.change')}
        </button>
      </form>
    </section>
  );
}

function OneTimeCodes() {
  const { t } = useTranslation();
  const { session } = useViewer();
  const [secret, setSecret] = useState<{ secret: string; uri: string }>();
  const [code, setCode] = useState('');
  const start = useChange<{ secret: string; uri: string }>([], setSecret);
  const confirm = useChange(['/session'], () => {
    setSecret(undefined);
    setCode('');
  });
  const remove = useChange(['/session']);
  const error = start.error ?? confirm.error ?? remove.error;
  return (
    <section className="card">
      <header>
        <h2>{t('users.totp')}</h2>
      </header>
      <div className="inside stack wide">
        <p className="second">{t(session.user.hasTotp ? 'account.totpOn' : 'account.totpOff')}</p>
        {session.user.hasTotp && (
          <button type="button" className="btn" onClick={() => remove.mutate({ method: 'DELETE', path: '/me/totp' })}>
            {t('account.totpRemove')}
          </button>
        )}
        {!session.user.hasTotp && !secret && (
          <button type="button" className="btn" onClick={() => start.mutate({ path: '/me/totp' })}>
            {t('account.totpStart')}
          </button>
        )}
        {secret && (
          <form
            className="stack wide"
            onSubmit={(event) => {
              event.preventDefault();
              confirm.mutate({ path: '/me/totp/confirm', body: { code } });
            }}
          >
            <p className="second">{t('account.totpHow')}</p>
            <div className="row start">
              <QrCode text={secret.uri} label={t('account.qr')} size={176} />
              <div className="code-box grow">
                <Copyable text={secret.secret} shown={secret.secret.replace(/(.{4})(?=.)/g, '$1 ')} />
              </div>
            </div>
            <a className="link break" href={secret.uri}>
              {t('account.totpOpen')}
            </a>
            <CodeEntry label={t('signIn.code')} hint={t('signIn.codeHint')} value={code} onChange={setCode} />
            <button type="submit" className="btn primary">
              {t('account.totpConfirm')}
            </button>
          </form>
        )}
        <Said error={error?.message} />
      </div>
    </section>
  );
}

function Sessions() {
  const { t } = useTranslation();
  const sessions = useRead<{ sessions: OpenSession[] }>('/sessions');
  const { session } = useViewer();
  const [isEndingAll, setIsEndingAll] = useState(false);
  const end = useChange(['/sessions', '/session']);
  const endAll = useChange(['/session']);
  const columns: Column<OpenSession>[] = [
    {
      head: t('account.browser'),
      className: 'wrap',
      cell: (one) => (
        <>
          {browserOf(one.agent)}
          {one.isThis && <span className="faint"> · {t('account.thisOne')}</span>}
        </>
      ),
    },
    { head: t('account.address'), cell: (one) => <span className="mono">{one.address}</span> },
    { head: t('account.since'), cell: (one) => <Moment at={one.createdAt} /> },
    {
      head: t('list.actions'),
      className: 'right',
      cell: (one) => (
        <button type="button" className="btn compact" onClick={() => end.mutate({ method: 'DELETE', path: `/sessions/${one.id}` })}>
          {t('account.end')}
        </button>
      ),
    },
  ];
  return (
    <section className="account-sessions">
      <h2>{t('account.sessions')}</h2>
      <Read of={sessions} rows={2}>
        {(list) => <Table label={t('account.sessions')} columns={columns} rows={list.sessions} keyOf={(one) => one.id} />}
      </Read>
      {session.user.role === 'operator' && (
        <button type="button" className="btn" onClick={() => setIsEndingAll(true)}>
          {t('account.endAll.button')}
        </button>
      )}
      {isEndingAll && (
        <AskDialog
          title={t('account.endAll.title')}
          consequence={t('account.endAll.consequence')}
          action={t('account.endAll.do')}
          isDanger
          isRunning={endAll.isPending}
          error={endAll.error}
          onClose={() => setIsEndingAll(false)}
          onConfirm={() => endAll.mutate({ method: 'DELETE', path: '/sessions' })}
        >
          {null}
        </AskDialog>
      )}
    </section>
  );
}

function browserOf(agent: string): string {
  const known = /(Firefox|Edg|OPR|Chrome|Safari)\/([\d]+)/.exec(agent);
  const system = /(Windows|Macintosh|Android|iPhone|iPad|Linux)/.exec(agent);
  return known ? [`${known[1] === 'Edg' ? 'Edge' : known[1]} ${known[2]}`, system?.[1]].filter(Boolean).join(', ') : agent.slice(0, 60);
}
