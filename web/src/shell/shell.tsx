// The frame around every page: navigation, search, merchant, environment, language, theme, and whether the page is live.
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { listenForHints, type StreamState } from '../api/events.ts';
import { useViewer } from '../api/session.tsx';
import { Icon } from '../parts/icons.tsx';
import { deferred } from './deferred.ts';
import { useKeys } from './keyboard.ts';
import { Navigation } from './navigation.tsx';
import { PageGuard } from './page-guard.tsx';
import { placesOf } from './places.ts';
import { TopBar } from './top-bar.tsx';

const HelpSheet = deferred(() => import('./help-sheet.tsx'), 'HelpSheet');
const NavigationDrawer = deferred(() => import('./drawer.tsx'), 'NavigationDrawer');
const isNarrowKey = 'tillgate.narrow';

export function Shell({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  const { session } = useViewer();
  const client = useQueryClient();
  const [path, go] = useLocation();
  const [stream, setStream] = useState<StreamState>('connecting');
  const [hasHelp, setHasHelp] = useState(false);
  const [hasDrawer, setHasDrawer] = useState(false);
  const [isNarrow, setIsNarrow] = useState(() => localStorage.getItem(isNarrowKey) === '1');

  useEffect(() => listenForHints(client, setStream), [client]);
  // Another page starts at its top; Back returns to where the reader was.
  const isBack = useRef(false);
  useEffect(() => {
    const markBack = () => {
      isBack.current = true;
    };
    addEventListener('popstate', markBack);
    return () => removeEventListener('popstate', markBack);
  }, []);
  useEffect(() => {
    if (!isBack.current) window.scrollTo(0, 0);
    isBack.current = false;
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- it is about the path, and nothing else
  }, [path]);
  // While the stream is lost the page polls, less often.
  useEffect(() => {
    if (stream !== 'lost') return undefined;
    const timer = setInterval(() => void client.invalidateQueries({ refetchType: 'active' }), 15_000);
    return () => clearInterval(timer);
  }, [stream, client]);

  const toggleNarrow = () => {
    localStorage.setItem(isNarrowKey, isNarrow ? '0' : '1');
    setIsNarrow(!isNarrow);
  };
  useKeys({
    '?': () => setHasHelp(true),
    '/': () => document.querySelector<HTMLInputElement>('#search')?.focus(),
    '[': toggleNarrow,
    ...Object.fromEntries(placesOf(session).map((place) => [`g ${place.letter}`, () => go(place.path)])),
  });

  return (
    <>
      <a className="skip" href="#page">
        {t('shell.skip')}
      </a>
      {session.isSandbox && (
        <aside className="sandbox-bar" aria-label={t('nav.sandbox')}>
          <Icon name="lock" size={14} />
          <span>
            <b>{t('shell.sandbox.short')}</b> <span className="long">{t('shell.sandbox.long')}</span>
          </span>
          <Link href="/playground">{t('shell.sandbox.open')}</Link>
        </aside>
      )}
      {stream === 'lost' && (
        <div className="lost-bar" role="status">
          <Icon name="offline" size={14} />
          {t('shell.lost')}
        </div>
      )}
      <div className={isNarrow ? 'shell narrow' : 'shell'}>
        <Navigation isNarrow={isNarrow} />
        <div>
          <TopBar
            stream={stream}
            onHelp={() => setHasHelp(true)}
            onMenu={() => setHasDrawer(true)}
            onNarrow={toggleNarrow}
            isNarrow={isNarrow}
          />
          <main id="page">{children}</main>
        </div>
      </div>
      <PageGuard path={path}>
        <Suspense fallback={null}>
          {hasDrawer && <NavigationDrawer onClose={() => setHasDrawer(false)} />}
          {hasHelp && <HelpSheet onClose={() => setHasHelp(false)} />}
        </Suspense>
      </PageGuard>
    </>
  );
}
