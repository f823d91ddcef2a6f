// A menu behind a button, on the browser's own popover: it closes by Escape, by a click beside it and by a choice, and the focus returns.
// The library's menu would be a fifth of what a browser loads before the first page.
import { type ButtonHTMLAttributes, type KeyboardEvent, type ReactNode, type ToggleEvent, useId, useRef, useState } from 'react';
import { Link } from 'wouter';

interface MenuProps {
  /** Attributes and content of the button. */
  button: ButtonHTMLAttributes<HTMLButtonElement> & { [attribute: `data-${string}`]: string };
  /** Which edge of the button it stands under. */
  align?: 'start' | 'end';
  children: ReactNode;
}

const marginPx = 4;

export function Menu({ button, align = 'start', children }: MenuProps) {
  const id = useId();
  const target = useRef<HTMLButtonElement>(null);
  const [isOpen, setIsOpen] = useState(false);

  function place({ newState, currentTarget }: ToggleEvent<HTMLDivElement>): void {
    const rect = target.current?.getBoundingClientRect();
    if (newState !== 'open' || !rect) return;
    const { style } = currentTarget;
    const hasRoomBelow = rect.bottom < innerHeight * 0.65;
    style.top = hasRoomBelow ? `${rect.bottom + marginPx}px` : 'auto';
    style.bottom = hasRoomBelow ? 'auto' : `${innerHeight - rect.top + marginPx}px`;
    style.left = align === 'start' ? `${rect.left}px` : 'auto';
    style.right = align === 'end' ? `${document.documentElement.clientWidth - rect.right}px` : 'auto';
  }

  function toggled({ newState, currentTarget }: ToggleEvent<HTMLDivElement>): void {
    setIsOpen(newState === 'open');
    if (newState === 'open') itemsOf(currentTarget)[0]?.focus();
  }

  return (
    <>
      <button type="button" {...button} ref={target} aria-haspopup="menu" aria-expanded={isOpen} popoverTarget={id} />
      <div
        id={id}
        className="menu"
        role="menu"
        popover="auto"
        tabIndex={-1}
        onBeforeToggle={place}
        onToggle={toggled}
        onKeyDown={moveFocus}
      >
        {children}
      </div>
    </>
  );
}

const itemsOf = (menu: Element) => [...menu.querySelectorAll<HTMLElement>('[role="menuitem"]')];

function moveFocus(event: KeyboardEvent<HTMLDivElement>): void {
  const items = itemsOf(event.currentTarget);
  const at = items.findIndex((item) => item === document.activeElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (event.key === 'Tab') event.currentTarget.hidePopover();
  if (next === undefined) return;
  event.preventDefault();
  items.at(next % items.length)?.focus();
}

interface ItemProps {
  children: ReactNode;
  onChoose?: () => void;
  href?: string;
  lang?: string;
  isDanger?: boolean;
}

export function MenuItem({ children, onChoose, href, lang, isDanger }: ItemProps) {
  const choose = (element: Element) => {
    element.closest<HTMLElement>('[popover]')?.hidePopover();
    onChoose?.();
  };
  if (href !== undefined) {
    return (
      <Link href={href} role="menuitem" tabIndex={-1} onClick={(event) => choose(event.currentTarget)}>
        {children}
      </Link>
    );
  }
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      lang={lang}
      className={isDanger ? 'tone-bad' : undefined}
      onClick={(event) => choose(event.currentTarget)}
    >
      {children}
    </button>
  );
}
