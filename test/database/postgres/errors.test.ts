// What each of PostgreSQL's codes means to the house: above all, whether what was asked for is certainly not there, so that it may be done again.
import { describe, expect, it } from 'vitest';
import { type ConstraintViolation, DatabaseBusy, isCertainlyUndone, isDatabaseDown, LostToAnother } from '../../../src/database/errors.ts';
import { translatePostgresError } from '../../../src/database/postgres/errors.ts';

const raised = (code: string, message = 'as the server says it') => Object.assign(new Error(message), { code });

describe('an error of PostgreSQL', () => {
  it.each([
    ['40001', 'a serialization failure'],
    ['40P01', 'a deadlock'],
    ['0A000', 'a cached plan must not change its result type'],
  ])('%s was lost to another transaction: it is retried', (code, message) => {
    const error = raised(code, message);
    const translated = translatePostgresError(error);
    expect(translated).toBeInstanceOf(LostToAnother);
    expect(translated).toMatchObject({ message, cause: error });
    expect(isCertainlyUndone(translated)).toBe(true);
  });

  it.each(['0A000', '09000', '22001', '24000', '27000', '3F000', '40002', '42P01', '54000', '54001', 'P0001'])(
    '%s is the statement’s own fault: it is left as it is, and was not done',
    (code) => {
      const error = raised(code);
      expect(translatePostgresError(error)).toBe(error);
      expect(isCertainlyUndone(error)).toBe(true);
    },
  );

  it.each(['40003', '08006', '28P01', '3D000', '55000', '57P01', '57014', '58030', 'XX000', 'ECONNRESET'])(
    '%s leaves it unclear: it is read back',
    (code) => {
      const translated = translatePostgresError(raised(code));
      expect([isDatabaseDown(translated), isCertainlyUndone(translated)]).toEqual([true, false]);
      expect(translated.message).toBe('The database cannot be reached.');
    },
  );

  it.each([
    ['53100', 'The disk of the database is full.'],
    ['53200', 'The database server has no memory left.'],
    ['53300', 'The database server accepts no more connections.'],
    ['53400', 'The database cannot be reached.'],
  ])('%s names what the server lacks, and leaves it unclear', (code, message) => {
    const translated = translatePostgresError(raised(code));
    expect([isDatabaseDown(translated), isCertainlyUndone(translated), translated.message]).toEqual([true, false, message]);
  });

  it('about an invalid row is reported by its kind, and one about a lock as busy', () => {
    const kinds = ['23505', '23514', '23503', '23502', '23P01'].map(
      (code) => (translatePostgresError(raised(code)) as ConstraintViolation).kind,
    );
    expect(kinds).toEqual(['unique', 'check', 'foreign key', 'not null', 'other']);
    expect(translatePostgresError(raised('55P03'))).toBeInstanceOf(DatabaseBusy);
    expect(translatePostgresError(raised('25006')).message).toBe('The database can only be read now.');
  });
});
