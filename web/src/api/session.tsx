// The signed-in user, the chosen merchant, and what the role allows.
import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from 'react';
import type { Answers } from './answers.ts';
import type { Query } from './client.ts';
import { useRead } from './query.ts';

export type Role = User['role'];

export type User = NonNullable<Session['user']>;

export type Session = Answers['readSession'];

interface SessionContext {
  session: Session & { user: User };
  merchantId: string | undefined;
  chooseMerchant: (id: string | undefined) => void;
  /** The chosen merchant as part of a query; empty for users of a single merchant. */
  scope: Query;
  may: (what: 'money' | 'setup' | 'users' | 'merchants') => boolean;
}

const Context = createContext<SessionContext | undefined>(undefined);
const storageKey = 'tillgate.merchant';

export function useSession() {
  return useRead<Session>('/session', {});
}

export function useSignedOut(): () => void {
  const client = useQueryClient();
  return useCallback(() => void client.invalidateQueries({ queryKey: ['/session'] }), [client]);
}

function firstMerchant(): string | undefined {
  const linked = new URLSearchParams(location.search).get('merchant');
  return (linked ?? localStorage.getItem(storageKey)) || undefined;
}

export function SessionProvider({ session, children }: { session: Session & { user: User }; children: ReactNode }) {
  const [chosen, setChosen] = useState(firstMerchant);
  const { role, merchantId: own } = session.user;
  const value = useMemo<SessionContext>(() => {
    const merchantId = own ?? chosen;
    return {
      session,
      merchantId,
      chooseMerchant(id) {
        localStorage.setItem(storageKey, id ?? '');
        setChosen(id);
      },
      scope: own === undefined && merchantId !== undefined ? { merchantId } : {},
      may: (what) => (what === 'merchants' ? role === 'operator' : role !== 'viewer'),
    };
  }, [session, chosen, own, role]);
  return <Context value={value}>{children}</Context>;
}

/** A bank by its name; an unknown code is shown as it is. */
export function useBankName(): (code: string | undefined) => string | undefined {
  const { session } = useViewer();
  return (code) => session.banks.find((bank) => bank.code === code)?.name ?? code;
}

export function useViewer(): SessionContext {
  const context = useContext(Context);
  if (!context) throw new Error('useViewer outside of a session');
  return context;
}
