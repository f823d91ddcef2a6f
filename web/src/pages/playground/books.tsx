// The four books, each summed from its own place, and whether they agree. If they do not, it says where.
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import type { Books as AllBooks } from '../../api/playground.ts';
import { lei } from '../../i18n/format.ts';
import { Icon, type IconName } from '../../parts/icons.tsx';
import { useSaid } from '../../parts/said.ts';
import { StateShape } from '../../parts/state-mark.tsx';

const kept: [name: 'bank' | 'ledger' | 'fiscal' | 'erp', icon: IconName][] = [
  ['bank', 'bank'],
  ['ledger', 'audit'],
  ['fiscal', 'receipt'],
  ['erp', 'erp'],
];

export function Books({ books }: { books: AllBooks }) {
  const { t } = useTranslation();
  const say = useSaid();
  const isEmpty = kept.every(([name]) => books[name].count === 0);
  return (
    <section className="card books" aria-label={t('playground.books.title')}>
      {kept.map(([name, icon], index) => {
        const book = books[name];
        const before = kept[index - 1];
        const isEqual = before !== undefined && books[before[0]].sum === book.sum;
        return (
          <Fragment key={name}>
            {before !== undefined && (
              <span className={isEqual ? 'equals tone-ok' : 'equals tone-warn'} aria-hidden="true">
                {isEqual ? '=' : '≠'}
              </span>
            )}
            <div className="book">
              <h2>
                <Icon name={icon} size={14} />
                {t(`playground.books.${name}.name`)}
              </h2>
              <b data-book={name}>
                {lei(book.sum)} <small>MDL</small>
              </b>
              <span>
                {t(`playground.books.${name}.count`, { count: book.count })}
                {name === 'ledger' && `, ${t('playground.books.unknown', { count: book.unknown ?? 0 })}`}
              </span>
              <span>
                {book.last
                  ? t('playground.books.last', { amount: lei(book.last.amount), reference: book.last.reference ?? '' }).replace(/, $/, '')
                  : t('playground.books.none')}
              </span>
            </div>
          </Fragment>
        );
      })}
      <div className={`agree ${books.agree ? 'yes' : 'no'}`} role="status">
        <StateShape state={books.agree ? 'agrees' : 'differs'} size={30} />
        <div>
          <b>{t(books.agree ? 'playground.books.agree' : 'playground.books.differ')}</b>
          {books.agree && <span>{t(isEmpty ? 'playground.books.empty' : 'playground.books.oneSum')}</span>}
          {books.differences.map((difference) => (
            <span key={`${difference.key} ${JSON.stringify(difference.params)}`}>{say(difference)}</span>
          ))}
        </div>
      </div>
    </section>
  );
}
