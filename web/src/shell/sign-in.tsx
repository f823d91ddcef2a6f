// Signing in. The sandbox has one button and is marked as a sandbox.
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { call } from '../api/client.ts';
import type { Session } from '../api/session.tsx';
import { CodeEntry, Entry, Said } from '../parts/entry.tsx';
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
          <Entry label={t('signIn.email')} type="email" autoComplete="username" value={email} onChange={setEmail} />
          <Entry label={t('signIn.password')} type="password" autoComplete="current-password" value={password} onChange={setPassword} />
          {needsCode && <CodeEntry label={t('signIn.code')} hint={t('signIn.codeHint')} value={code} onChange={setCode} />}
          <button type="submit" className="btn primary block" disabled={isRunning}>
            {isRunning ? t('dialog.running') : t('signIn.action')}
          </button>
          <p className="small faint">{t('signIn.forgotten')}</p>
        </form>
      )}
      <Said error={error} />
    </SignInFrame>
  );
}
