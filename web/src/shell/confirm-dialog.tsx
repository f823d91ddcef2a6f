// The question of confirmation.tsx: password, or one-time code where there is one.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { call } from '../api/client.ts';
import { AskDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';

export function ConfirmDialog({ hasTotp, onEnd }: { hasTotp: boolean; onEnd: (isConfirmed: boolean) => void }) {
  const { t } = useTranslation();
  const [secret, setSecret] = useState('');
  const [isRunning, setIsRunning] = useState(false);
  const [error, setError] = useState<Error | null>(null);

  async function confirm(): Promise<void> {
    setIsRunning(true);
    try {
      await call('POST', '/session/confirm', { body: hasTotp && /^\d{6}$/.test(secret) ? { code: secret } : { password: secret } });
      onEnd(true);
    } catch (thrown) {
      setError(thrown as Error);
    } finally {
      setIsRunning(false);
    }
  }

  return (
    <AskDialog
      title={t('confirm.title')}
      consequence={t(hasTotp ? 'confirm.whyTotp' : 'confirm.why')}
      action={t('confirm.action')}
      isRunning={isRunning}
      isBlocked={secret === ''}
      error={error}
      onClose={() => onEnd(false)}
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
  );
}
