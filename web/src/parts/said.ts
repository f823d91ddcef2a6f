// Texts that the gateway sends as key and values, in the language of the page. A key that the catalogue lacks is shown as it is.
import { useTranslation } from 'react-i18next';
import type { Said } from '../api/views.ts';

export function useSaid(): (said: Said | undefined) => string {
  const { t } = useTranslation();
  return (said) => (said === undefined ? '' : t(said.key, { ...said.params, defaultValue: said.key }));
}
