// Keeps the frame when a page fails: navigation and search stay, and the error is shown in place of the page.
import { Component, type ReactNode, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { Icon } from '../parts/icons.tsx';
import { PageName, Trouble } from '../parts/page.tsx';
import { reloadPage, reloadWhenReachable } from './recovery.ts';

/** A part of the page could not be loaded. Every other exception is a bug of the page. */
export class LoadFailure extends Error {
  override name = 'LoadFailure';
}

interface GuardProps {
  /** A new page resets the error. */
  path: string;
  children: ReactNode;
}

interface GuardState {
  path: string;
  error: Error | undefined;
}

export class PageGuard extends Component<GuardProps, GuardState> {
  override state: GuardState = { path: this.props.path, error: undefined };

  static getDerivedStateFromError(error: unknown): Pick<GuardState, 'error'> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps({ path }: GuardProps, state: GuardState): GuardState | null {
    return path === state.path ? null : { path, error: undefined };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    if (error instanceof LoadFailure) return <NotLoaded />;
    return <Trouble error={error} retry={() => this.setState({ error: undefined })} />;
  }
}

function NotLoaded() {
  const { t } = useTranslation();
  useEffect(reloadWhenReachable, []);
  return (
    <div className="blank" role="alert">
      <Icon name="offline" size={24} />
      <PageName name={t('trouble.notLoaded.title')} />
      <p>{t('trouble.notLoaded.meaning')}</p>
      <button type="button" className="btn" onClick={reloadPage}>
        <Icon name="refresh" />
        {t('trouble.reload')}
      </button>
    </div>
  );
}
