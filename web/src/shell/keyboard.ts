// Keys: `/` search, `?` help, `g` and a letter to a page, j and k through a list, Enter opens, n shows what is new.
// Not while a field has the focus, and never with a modifier that belongs to the browser.
import { useEffect, useEffectEvent } from 'react';

type KeyActions = Partial<Record<string, () => void>>;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

const isDialogOpen = () => document.querySelector('[role="dialog"]') !== null;

// Shared by all hooks: a g that one of them sees counts for every other.
let firstAtMs = -Infinity;

/** `actions` by key; `g p` stands for g, then p within a second. */
export function useKeys(actions: KeyActions): void {
  const run = useEffectEvent((name: string) => {
    const action = actions[name];
    action?.();
    return action !== undefined;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || isDialogOpen()) return;
      const isSecond = event.key !== 'g' && event.timeStamp - firstAtMs < 1_000;
      if (event.key === 'g') firstAtMs = event.timeStamp;
      else if (run(isSecond ? `g ${event.key}` : event.key)) event.preventDefault();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
}
