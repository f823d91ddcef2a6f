// The bar above every page: merchant, search, state of the event stream, help, theme, language, account.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { StreamState } from '../api/events.ts';
import { useChange, useRead } from '../api/query.ts';
import { useSignedOut, useViewer } from '../api/session.tsx';
import { chooseLanguage, languages } from '../i18n/setup.ts';
import { Icon } from '../parts/icons.tsx';
import { Menu, MenuItem } from '../parts/menu.tsx';
import { chooseScheme, useIsDark } from '../theme/scheme.ts';
import { Search } from './search.tsx';

export interface TopBarProps {
  stream: StreamState;
  isNarrow: boolean;
  onHelp: () => void;
  onMenu: () => void;
  onNarrow: () => void;
}

export function TopBar({ stream, isNarrow, onHelp, onMenu, onNarrow }: TopBarProps) {
  const { t } = useTranslation();
  const [isSearching, setIsSearching] = useState(false);
  return (
    <header className={isSearching ? 'top searching' : 'top'}>
      <button type="button" className="icon-btn only-phone" aria-label={t('shell.menu')} onClick={onMenu}>
        <Icon name="menu" />
      </button>
      <button
        type="button"
        className="icon-btn not-phone"
        aria-label={t(isNarrow ? 'shell.widen' : 'shell.narrow')}
        title={t(isNarrow ? 'shell.widen' : 'shell.narrow')}
        onClick={onNarrow}
      >
        <Icon name={isNarrow ? 'right' : 'left'} />
      </button>
      <MerchantSwitch />
      <Search onDone={() => setIsSearching(false)} />
      {isSearching && (
        <button type="button" className="icon-btn close-search" aria-label={t('dialog.close')} onClick={() => setIsSearching(false)}>
          <Icon name="close" />
        </button>
      )}
      <div className="grow" />
      <button
        type="button"
        className="icon-btn only-phone"
        aria-label={t('search.open')}
        onClick={() => {
          setIsSearching(true);
          requestAnimationFrame(() => document.querySelector<HTMLInputElement>('#search')?.focus());
        }}
      >
        <Icon name="search" />
      </button>
      <span className={stream === 'lost' ? 'live lost not-phone' : 'live not-phone'} title={t(`shell.stream.${stream}`)}>
        <i />
        <span>{t(`shell.stream.${stream}`)}</span>
      </span>
      <button type="button" className="icon-btn not-phone" aria-label={t('help.title')} title={t('help.title')} onClick={onHelp}>
        <Icon name="help" />
      </button>
      <ThemeSwitch />
      <LanguageSwitch />
      <Account />
    </header>
  );
}

export function MerchantSwitch() {
  const { t } = useTranslation();
  const { session, merchantId, chooseMerchant } = useViewer();
  const seesAll = session.user.merchantId === undefined;
  const merchants = useRead<{ merchants: { id: string; name: string }[] }>('/merchants', {}, { isEnabled: seesAll });
  const name = seesAll
    ? (merchants.data?.merchants.find(({ id }) => id === merchantId)?.name ?? t('shell.allMerchants'))
    : (session.user.merchantName ?? '');
  const face = (
    <>
      <span className="face" data-initials={initials(name)} />
      <span className="cut">{name}</span>
    </>
  );
  if (!seesAll) return <span className="switch">{face}</span>;
  return (
    <Menu
      button={{
        className: 'switch',
        children: (
          <>
            <span className="unseen">{t('list.merchant')}: </span>
            {face}
            <Icon name="down" size={14} />
          </>
        ),
      }}
    >
      <MenuItem onChoose={() => chooseMerchant(undefined)}>{t('shell.allMerchants')}</MenuItem>
      <hr />
      {merchants.data?.merchants.map((merchant) => (
        <MenuItem key={merchant.id} onChoose={() => chooseMerchant(merchant.id)}>
          {merchant.name}
        </MenuItem>
      ))}
    </Menu>
  );
}

function ThemeSwitch() {
  const { t } = useTranslation();
  const isDark = useIsDark();
  return (
    <button type="button" className="icon-btn" aria-label={t('shell.theme')} title={t('shell.theme')} onClick={() => chooseScheme(!isDark)}>
      <Icon name={isDark ? 'moon' : 'sun'} />
    </button>
  );
}

export function LanguageSwitch() {
  const { t, i18n } = useTranslation();
  return (
    <Menu
      align="end"
      button={{
        className: 'btn plain',
        'aria-label': `${t('shell.language')}: ${i18n.language.toUpperCase()}`,
        children: (
          <>
            {i18n.language.toUpperCase()}
            <Icon name="down" size={12} />
          </>
        ),
      }}
    >
      {languages.map((language) => (
        <MenuItem key={language} lang={language} onChoose={() => void chooseLanguage(language)}>
          {t(`language.${language}`)}
        </MenuItem>
      ))}
    </Menu>
  );
}

function Account() {
  const { t } = useTranslation();
  const { session } = useViewer();
  const signedOut = useSignedOut();
  const leave = useChange(['/session'], signedOut);
  return (
    <Menu
      align="end"
      button={{
        className: 'face round',
        'data-initials': initials(session.user.name),
        'aria-label': t('shell.account', { name: session.user.name }),
      }}
    >
      <p className="menu-label">
        {session.user.name} · {t(`role.${session.user.role}`)}
      </p>
      <MenuItem href="/account">{t('page.account')}</MenuItem>
      <hr />
      <MenuItem onChoose={() => leave.mutate({ method: 'DELETE', path: '/session' })}>
        <Icon name="out" />
        {t('shell.signOut')}
      </MenuItem>
    </Menu>
  );
}

function initials(name: string): string {
  const words = name.split(/[\s@.]+/).filter((word) => /^\p{L}/u.test(word));
  return (words.length > 1 ? `${words[0]?.[0]}${words[1]?.[0]}` : name.slice(0, 2)).toUpperCase();
}
