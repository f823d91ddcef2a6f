// Signing in. The sandbox has one button and says that it is one.
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { call } from '../api/client.ts';
import type { Session } from '../api/session.tsx';
import { Field } from '../parts/dialog.tsx';
import { Icon } from '../parts/icons.tsx';
import { SignInFrame } from './sign-in-frame.tsx';

export function SignIn({ session }: { session: Session }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [needsCode, setNeedsCode] = useState(false);
  const [isRunning, setIsRunning] = useState(false);
  const [error, setError] = useState<string>();
  useEffect(() => {
    document.title = `${t('page.signIn')} · Tillgate`;
  }, [t]);

  async function enter(send: () => Promise<{ needsCode?: boolean }>): Promise<void> {
    setIsRunning(true);
    setError(undefined);
    try {
      const answer = await send();
      if (answer.needsCode) setNeedsCode(true);
      else await client.resetQueries();
    } catch (thrown) {
      setError((thrown as Error).message);
    } finally {
      setIsRunning(false);
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void enter(() => call('POST', '/session', { body: { email, password, ...(code === '' ? {} : { code }) } }));
  };
  return (
    <SignInFrame isSandbox={session.isSandbox} title={t('page.signIn')}>
      {session.isSandbox && (
        <div className="stack">
          <p className="second">{t('signIn.sandbox')}</p>
          <button
            type="button"
            className="btn primary block"
            disabled={isRunning}
            onClick={() => void enter(() => call('POST', '/session/sandbox'))}
          >
            {t('signIn.enterSandbox')}
            <Icon name="right" />
          </button>
        </div>
      )}
      {!session.isSandbox && (
        <form className="stack wide" onSubmit={submit}>
          <Field label={t('signIn.email')}>
            <input
              className="input"
              type="email"
              autoComplete="username"
              required
              value={email}
              onChange={(event) => setEmail(event.target.value)}
            />
          </Field>
          <Field label={t('signIn.password')}>
            <input
              className="input"
              type="password"
              autoComplete="current-password"
              required
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          </Field>
          {needsCode && (
            <Field label={t('signIn.code')} hint={t('signIn.codeHint')}>
              <input
                className="input"
                inputMode="numeric"
                autoComplete="one-time-code"
                pattern="\d{6}"
                required
                value={code}
                onChange={(event) => setCode(event.target.value.trim())}
              />
            </Field>
          )}
          <button type="submit" className="btn primary block" disabled={isRunning}>
            {isRunning ? t('dialog.running') : t('signIn.action')}
          </button>
          <p className="small faint">{t('signIn.forgotten')}</p>
        </form>
      )}
      {error !== undefined && (
        <p className="note tone-bad" role="alert">
          {error}
        </p>
      )}
    </SignInFrame>
  );
}
