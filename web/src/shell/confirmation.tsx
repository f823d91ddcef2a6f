// "Is it still you?" before steps with money, secrets, keys and users, when the last answer is more than 15 minutes old.
// A call that needs it waits here and then continues; closing the dialog cancels the call.
import { type ReactNode, Suspense, useCallback, useEffect, useRef, useState } from 'react';
import { connectClient } from '../api/client.ts';
import { useSignedOut } from '../api/session.tsx';
import { deferred } from './deferred.ts';
import { PageGuard } from './page-guard.tsx';

const ConfirmDialog = deferred(() => import('./confirm-dialog.tsx'), 'ConfirmDialog');

export function Confirmation({ hasTotp, children }: { hasTotp: boolean; children: ReactNode }) {
  const signedOut = useSignedOut();
  const [isAsking, setIsAsking] = useState(false);
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
    for (const resolve of waiting.current.splice(0)) resolve(isConfirmed);
  }, []);

  return (
    <>
      {children}
      {isAsking && (
        <PageGuard path="confirm">
          <Suspense fallback={null}>
            <ConfirmDialog hasTotp={hasTotp} onEnd={end} />
          </Suspense>
        </PageGuard>
      )}
    </>
  );
}
