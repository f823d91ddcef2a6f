// Parts of every page: the h1, the sentence below it, and the forms while empty, loading or after an error.
import { type ReactNode, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError, ConnectionLost } from '../api/client.ts';
import { Icon, type IconName } from './icons.tsx';

/** The one h1. It takes the focus when its page opens, so that a screen reader announces the page; never from a field that is being filled. */
export function PageName({ name }: { name: string }) {
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${name} · Tillgate`;
  }, [name]);
  useEffect(() => {
    if (!(document.activeElement instanceof HTMLInputElement)) head.current?.focus({ preventScroll: true });
  }, []);
  return (
    <h1 ref={head} tabIndex={-1}>
      {name}
    </h1>
  );
}

export function PageHead({ name, sub, children }: { name: string; sub?: ReactNode; children?: ReactNode }) {
  return (
    <div className="page-head">
      <div className="grow">
        <PageName name={name} />
        {sub !== undefined && <p className="page-sub">{sub}</p>}
      </div>
      {children !== undefined && <div className="page-actions">{children}</div>}
    </div>
  );
}

/** Says what will appear here, and how to make the first one. */
export function Blank({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="blank">
      <Icon name={icon} size={24} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Loading({ rows = 6 }: { rows?: number }) {
  const { t } = useTranslation();
  return (
    <div className="stack loading" role="status" aria-label={t('loading')}>
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="ghost-line" />
      ))}
    </div>
  );
}

/** An error: what happened, what it means, what to do. */
export function Trouble({ error, retry }: { error: Error; retry?: () => void }) {
  const { t } = useTranslation();
  const kind = error instanceof ConnectionLost ? 'lost' : error instanceof ApiError && error.code === 20 ? 'absent' : 'failed';
  return (
    <div className="blank" role="alert">
      <Icon name={kind === 'lost' ? 'offline' : 'attention'} size={24} />
      <h2>{t(`trouble.${kind}.title`)}</h2>
      <p>{t(`trouble.${kind}.meaning`)}</p>
      {kind === 'failed' && <p className="mono small break">{error.message}</p>}
      {retry && kind !== 'absent' && (
        <button type="button" className="btn" onClick={retry}>
          <Icon name="refresh" />
          {t('trouble.again')}
        </button>
      )}
    </div>
  );
}

interface Reading<Fields> {
  data: Fields | undefined;
  error: Error | null;
  refetch: () => unknown;
}

/** The three states of a read; with data at hand an error only shows as the lost connection on top of the page. */
export function Read<Fields>({ of, rows, children }: { of: Reading<Fields>; rows?: number; children: (fields: Fields) => ReactNode }) {
  if (of.data !== undefined) return children(of.data);
  if (of.error) return <Trouble error={of.error} retry={() => void of.refetch()} />;
  return <Loading {...(rows === undefined ? {} : { rows })} />;
}
