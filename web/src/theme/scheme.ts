// Light or dark: what was chosen here, else what the system says. public/first-paint.js does the same before the first paint.
import { useSyncExternalStore } from 'react';

export const schemeKey = 'tillgate.theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

const isDark = () => document.documentElement.dataset['mantineColorScheme'] === 'dark';

function show(dark: boolean): void {
  document.documentElement.dataset['mantineColorScheme'] = dark ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

system.addEventListener('change', ({ matches }) => {
  const chosen = localStorage.getItem(schemeKey);
  if (chosen !== 'dark' && chosen !== 'light') show(matches);
});

export function useIsDark(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, isDark);
}

export function chooseScheme(dark: boolean): void {
  localStorage.setItem(schemeKey, dark ? 'dark' : 'light');
  show(dark);
}
