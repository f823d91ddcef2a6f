// The pages, in groups; Attention shows its count.
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { Icon, Mark } from '../parts/icons.tsx';
import { placeGroupsOf } from './places.ts';

interface AttentionCount {
  sales?: { count: number };
  /** There may be more than are counted. */
  isCut?: boolean;
}

interface NavigationProps {
  isNarrow: boolean;
  isDrawer?: boolean;
  onLeave?: () => void;
}

export function Navigation({ isNarrow, isDrawer = false, onLeave }: NavigationProps) {
  const { t } = useTranslation();
  const { session, scope } = useViewer();
  const [path] = useLocation();
  const attention = useRead<AttentionCount>('/attention', { ...scope });
  const waiting = attention.data?.sales?.count ?? 0;
  return (
    <nav className="nav" aria-label={isDrawer ? t('shell.menu') : t('shell.pages')}>
      <Link href="/overview" className="brand">
        <Mark />
        <span>Tillgate</span>
      </Link>
      {placeGroupsOf(session).map((group) => (
        <div className="nav-group" key={group.key}>
          {group.key !== 'work' && <span>{t(`nav.${group.key === 'build' && session.isSandbox ? 'sandbox' : group.key}`)}</span>}
          {group.places.map((place) => (
            <Link
              key={place.key}
              href={place.path}
              className="nav-link"
              onClick={onLeave}
              {...(path === place.path || path.startsWith(`${place.path}/`) ? { 'aria-current': 'page' as const } : {})}
              {...(isNarrow ? { title: t(`page.${place.key}`), 'aria-label': t(`page.${place.key}`) } : {})}
            >
              <Icon name={place.icon} />
              <span>{t(`page.${place.key}`)}</span>
              {place.key === 'attention' && waiting > 0 && (
                <span className="badge">{`${waiting}${attention.data?.isCut === true ? '+' : ''}`}</span>
              )}
            </Link>
          ))}
        </div>
      ))}
      <div className="nav-foot">{t('shell.version', { version: session.version })}</div>
    </nav>
  );
}
