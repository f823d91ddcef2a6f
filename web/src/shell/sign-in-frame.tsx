// The frame of the sign-in and password pages: no data, no navigation.
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Icon, Mark } from '../parts/icons.tsx';
import { LanguageSwitch } from './top-bar.tsx';

export function SignInFrame({ isSandbox, title, children }: { isSandbox: boolean; title: string; children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <>
      {isSandbox && (
        <aside className="sandbox-bar" aria-label={t('nav.sandbox')}>
          <Icon name="lock" size={14} />
          <span>
            <b>{t('shell.sandbox.short')}</b> <span className="long">{t('shell.sandbox.long')}</span>
          </span>
        </aside>
      )}
      <main className="sign-in">
        <div className="box stack wide">
          <div className="row">
            <span className="brand grow">
              <Mark size={28} />
              Tillgate
            </span>
            <LanguageSwitch />
          </div>
          <h1>{title}</h1>
          {children}
        </div>
      </main>
    </>
  );
}
