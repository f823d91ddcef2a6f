// Languages: one catalogue each, loaded on demand; the browser stores the choice. The code contains no text for people.
// Texts that the gateway sends are keys of the same catalogues with their values.
import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { duration, exactTime, lei, quantity } from './format.ts';

export const languages = ['en', 'ro', 'ru'] as const;
export type Language = (typeof languages)[number];

const catalogues: Record<Language, () => Promise<{ default: object }>> = {
  en: () => import('./en.json'),
  ro: () => import('./ro.json'),
  ru: () => import('./ru.json'),
};
const storageKey = 'tillgate.language';

function isLanguage(text: string | null | undefined): text is Language {
  return languages.some((language) => language === text);
}

/** The language chosen here before, else the browser's first that is supported, else English. */
function wantedLanguage(): Language {
  const kept = localStorage.getItem(storageKey);
  if (isLanguage(kept)) return kept;
  return navigator.languages.map((tag) => tag.slice(0, 2)).find(isLanguage) ?? 'en';
}

export async function startLanguages(): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: 'en',
    fallbackLng: false,
    resources: {},
    interpolation: { escapeValue: false },
    returnEmptyString: false,
  });
  const formatter = i18next.services.formatter;
  formatter?.add('decimal', (value: unknown) => quantity(Number(value)));
  formatter?.add('lei', (value: unknown) => lei(Number(value)));
  formatter?.add('duration', (value: unknown) => duration(Number(value), i18next.t));
  formatter?.add('time', (value: unknown, language) => exactTime(String(value), language ?? 'en'));
  formatter?.add('clock', (value: unknown, language) => exactTime(String(value), language ?? 'en', 'clock'));
  formatter?.add('shortId', (value: unknown) => String(value).slice(0, 8));
  // A word inside a sentence that has its own entry: the name of a command, of a state.
  for (const kind of ['command', 'state', 'settledBy', 'deviceKind', 'channel', 'journal', 'settledMoney', 'decided', 'invoice']) {
    formatter?.add(kind, (value: unknown) => i18next.t(`${kind}.${String(value)}`, { defaultValue: String(value) }));
  }
  await useLanguage(wantedLanguage());
}

export async function useLanguage(language: Language): Promise<void> {
  if (!i18next.hasResourceBundle(language, 'translation')) {
    i18next.addResourceBundle(language, 'translation', (await catalogues[language]()).default);
  }
  // Before the pages are rendered again: amounts take their form from it.
  document.documentElement.lang = language;
  await i18next.changeLanguage(language);
}

export async function chooseLanguage(language: Language): Promise<void> {
  localStorage.setItem(storageKey, language);
  await useLanguage(language);
}
