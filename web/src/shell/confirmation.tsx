// "Is it still you?" before steps with money, secrets, keys and users, when the last answer is more than 15 minutes old.
// A call that needs it waits here and goes on by itself; whoever closes the dialog has done nothing.
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { call, connectClient } from '../api/client.ts';
import { useSignedOut } from '../api/session.tsx';
import { AskDialog, Field } from '../parts/dialog.tsx';

export function Confirmation({ hasTotp, children }: { hasTotp: boolean; children: ReactNode }) {
  const { t } = useTranslation();
  const signedOut = useSignedOut();
  const [isAsking, setIsAsking] = useState(false);
  const [secret, setSecret] = useState('');
  const [isRunning, setIsRunning] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const waiting = useRef<((isConfirmed: boolean) => void)[]>([]);

  useEffect(() => {
    connectClient({
      onSignedOut: signedOut,
      askConfirmation: () =>
        new Promise((resolve) => {
          waiting.current.push(resolve);
          setIsAsking(true);
        }),
    });
  }, [signedOut]);

  const end = useCallback((isConfirmed: boolean) => {
    setIsAsking(false);
    setSecret('');
    setError(null);
    for (const resolve of waiting.current.splice(0)) resolve(isConfirmed);
  }, []);

  async function confirm(): Promise<void> {
    setIsRunning(true);
    try {
      await call('POST', '/session/confirm', { body: hasTotp && /^\d{6}$/.test(secret) ? { code: secret } : { password: secret } });
      end(true);
    } catch (thrown) {
      setError(thrown as Error);
    } finally {
      setIsRunning(false);
    }
  }

  return (
    <>
      {children}
      {isAsking && (
        <AskDialog
          title={t('confirm.title')}
          consequence={t(hasTotp ? 'confirm.whyTotp' : 'confirm.why')}
          action={t('confirm.action')}
          isRunning={isRunning}
          isBlocked={secret === ''}
          error={error}
          onClose={() => end(false)}
          onConfirm={() => void confirm()}
        >
          <Field label={t(hasTotp ? 'confirm.passwordOrCode' : 'signIn.password')}>
            <input
              className="input"
              type="password"
              autoComplete="current-password"
              data-autofocus
              value={secret}
              onChange={(event) => setSecret(event.target.value)}
            />
          </Field>
        </AskDialog>
      )}
    </>
  );
}
