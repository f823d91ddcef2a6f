// Dialogs: a question, its consequence, and one button. Focus stays inside and returns to its element at the end.
import { Modal } from '@mantine/core';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Library } from './library.tsx';

export interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  size?: number;
  /** Closed by its own buttons only. */
  isHeld?: boolean;
}

export function Dialog({ title, onClose, children, size = 480, isHeld = false }: DialogProps) {
  const { t } = useTranslation();
  useFocusBack();
  return (
    <Library>
      <Modal
        opened
        onClose={onClose}
        title={title}
        size={size}
        centered
        lockScroll={false}
        closeOnClickOutside={!isHeld}
        transitionProps={{ duration: 0 }}
        closeButtonProps={{ 'aria-label': t('dialog.close') }}
        overlayProps={{ 'data-holds-page': true } as object}
      >
        {children}
      </Modal>
    </Library>
  );
}

/** The last focused element of the page itself. */
let onPage: Element | null = null;

/** Gives the focus back to the element that had it. The library does so only for a dialog that stays mounted. */
function useFocusBack(): void {
  const [before] = useState(() => {
    const { activeElement } = document;
    // The item of a menu is hidden with its menu.
    const menu = activeElement?.closest('[role="menu"]');
    return menu ? document.querySelector(`[popovertarget="${menu.id}"]`) : activeElement;
  });
  useEffect(() => {
    if (!before?.closest('[role="dialog"]')) onPage = before;
    return () => {
      if (document.activeElement !== null && document.activeElement !== document.body) return;
      // A dialog that shows a result replaces the one that asked.
      const target = before?.isConnected ? before : onPage;
      if (target instanceof HTMLElement) target.focus({ preventScroll: true });
    };
  }, [before]);
}

export interface AskProps extends DialogProps {
  /** What will happen, in one or two sentences. */
  consequence?: ReactNode;
  action: string;
  isDanger?: boolean;
  isRunning: boolean;
  isBlocked?: boolean;
  error?: Error | null;
  /** A way on, behind the error. */
  errorLink?: ReactNode;
  onConfirm: () => void;
}

/** A dialog with one decision in it. */
export function AskDialog({
  consequence,
  action,
  isDanger,
  isRunning,
  isBlocked,
  error,
  errorLink,
  onConfirm,
  children,
  ...dialog
}: AskProps) {
  const { t } = useTranslation();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isRunning && !isBlocked) onConfirm();
  };
  return (
    <Dialog {...dialog}>
      <form className="stack wide" onSubmit={submit}>
        {consequence !== undefined && <p className="second">{consequence}</p>}
        {children}
        {error && (
          <p className="note tone-bad" role="alert">
            {error.message}
            {errorLink !== undefined && <> {errorLink}</>}
          </p>
        )}
        <div className="dialog-foot">
          <button type="button" className="btn" onClick={dialog.onClose}>
            {t('dialog.cancel')}
          </button>
          {/* While it runs it keeps the focus, which a disabled button loses. */}
          <button
            type="submit"
            className={`btn primary${isDanger ? ' danger' : ''}`}
            disabled={isBlocked && !isRunning}
            aria-disabled={isRunning}
          >
            {isRunning ? t('dialog.running') : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
