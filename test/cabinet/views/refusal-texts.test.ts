// "Not possible now" is the sentence of the refused call: the English catalogue has it word by word, but for the form of its values.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { refusalSentences, refusalText } from '../../../src/cabinet/views/sale/refusal-texts.ts';

const english = JSON.parse(readFileSync(new URL('../../../web/src/i18n/en.json', import.meta.url), 'utf8')) as {
  whyNot: Record<string, string>;
};

describe('the sentences of refused steps', () => {
  it.each(Object.entries(refusalSentences))('%s', (key, sentence) => {
    expect(english.whyNot[key]?.replaceAll(/\{\{(\w+), \w+\}\}/g, '{{$1}}')).toBe(sentence);
    expect(refusalText(sentence).key).toBe(`whyNot.${key}`);
  });

  it('give the values that they contain, and an unknown one is shown as it is', () => {
    expect(refusalText('The invoice is Payed; it can no longer be cancelled.')).toEqual({
      key: 'whyNot.invoiceEnded',
      params: { state: 'Payed' },
    });
    expect(refusalText('Something else.')).toEqual({ key: 'whyNot.said', params: { sentence: 'Something else.' } });
  });
});
