// The four books, each summed from its own place, and whether they agree. If they do not, it names the sale.
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import type { Books as AllBooks, Book } from '../../api/playground.ts';
import { lei } from '../../i18n/format.ts';
import { Icon, type IconName } from '../../parts/icons.tsx';
import { useSaid } from '../../parts/said.ts';
import { StateShape } from '../../parts/state-mark.tsx';
import { shortId } from '../../parts/values.tsx';

const kept: [name: 'bank' | 'ledger' | 'fiscal' | 'erp', icon: IconName][] = [
  ['bank', 'bank'],
  ['ledger', 'audit'],
  ['fiscal', 'receipt'],
  ['erp', 'erp'],
];

const shapes = { agree: 'agrees', settling: 'waiting', differ: 'differs' } as const;
const shownDifferences = 3;

export function Books({ books }: { books: AllBooks }) {
  const { t } = useTranslation();
  const say = useSaid();
  // While the till has an operation in progress, the books may differ for a moment.
  const verdict = books.agree ? 'agree' : books.underWay > 0 ? 'settling' : 'differ';
  const isEmpty = kept.every(([name]) => books[name].count === 0);
  return (
    <section className="card books" aria-label={t('playground.books.title')}>
      {kept.map(([name, icon], index) => {
        const book: Book = books[name];
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
                {name === 'ledger' && `, ${t('playground.books.unknown', { count: books.ledger.unknown })}`}
              </span>
              <span>
                {book.last
                  ? t(`playground.books.${name}.last`, { amount: lei(book.last.amount), text: shortId(book.last.text) })
                  : t('playground.books.none')}
              </span>
              {(book.refunds?.count ?? 0) > 0 && (
                <span>{t('playground.books.refunds', { count: book.refunds?.count, sum: lei(-(book.refunds?.sum ?? 0)) })}</span>
              )}
            </div>
          </Fragment>
        );
      })}
      <div className={`agree ${verdict}`} role="status">
        <StateShape state={shapes[verdict]} size={30} />
        <div>
          <b>{t(`playground.books.${verdict}`)}</b>
          {books.agree && <span>{t(isEmpty ? 'playground.books.empty' : 'playground.books.oneSum')}</span>}
          {verdict === 'settling' && <span>{t('playground.books.underWay', { count: books.underWay })}</span>}
          {verdict === 'differ' && books.ledger.unknown > 0 && <span>{t('playground.books.notKnown')}</span>}
          {(verdict === 'differ' ? books.differences.slice(0, shownDifferences) : []).map((difference) => (
            <span key={`${difference.key} ${JSON.stringify(difference.params)}`}>{say(difference)}</span>
          ))}
        </div>
      </div>
    </section>
  );
}
