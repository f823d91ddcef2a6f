// Texts that the gateway sends as key and values, in the language of the page. A key that the catalogue lacks is shown as it is.
// A sentence takes the values that it names; further values are shown in a second line.
import i18next from 'i18next';
import { useTranslation } from 'react-i18next';
import type { Said } from '../api/views.ts';

export function useSaid(): (said: Said | undefined) => string {
  const { t } = useTranslation();
  return (said) => (said === undefined ? '' : t(said.key, { ...optionsOf(said), defaultValue: said.key }));
}

/** Sentences with an amount in them have a form of their own. */
function optionsOf({ params }: Said): Record<string, unknown> {
  return params['amount'] === undefined ? params : { ...params, context: 'amount' };
}

/** In the order in which they are shown. */
const sideValues = [
  'name',
  'actor',
  'key',
  'device',
  'channel',
  'authCode',
  'rrn',
  'operationId',
  'receiptId',
  'outcome',
  'by',
  'notice',
  'documentNr',
  'receiptUid',
  'status',
  'durationMs',
  'attempt',
  'nextInMs',
  'waitedMs',
  'error',
  'reason',
];

/** The values that its sentence does not name, each as a few words. `ownName`: the command whose page it is, which needs no repeating. */
export function useSideLine(ownName?: string): (said: Said) => string {
  const { t } = useTranslation();
  return (said) => {
    const { params } = said;
    const withAmount: unknown = i18next.getResource(i18next.language, 'translation', `${said.key}_amount`);
    const sentence = String(
      (params['amount'] === undefined ? undefined : withAmount) ?? i18next.getResource(i18next.language, 'translation', said.key) ?? '',
    );
    return sideValues
      .filter((name) => !(name === 'name' && params[name] === ownName))
      .filter((name) => params[name] !== undefined && params[name] !== '' && !new RegExp(`\\{\\{\\s*${name}\\b`).test(sentence))
      .map((name) => t(`side.${name}`, { value: params[name] }))
      .join(' · ');
  };
}
