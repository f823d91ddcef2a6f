// Translates errors of PostgreSQL and the network into the gateway's: an error of the statement itself is kept, everything else means
// "down".
import {
  type ConstraintKind,
  ConstraintViolation,
  DatabaseBusy,
  databaseDown,
  databaseReadOnly,
  GuardFailed,
  LostToAnother,
} from '../errors.ts';

const constraintKinds: Record<string, ConstraintKind> = {
  '23505': 'unique',
  '23514': 'check',
  '23503': 'foreign key',
  '23502': 'not null',
};

// SQLSTATE classes in which the server rejected this statement: data, constraint, transaction state, conflict, syntax, a row too large for
// an index... It was rolled back. Not included are classes that the server or a proxy in front of it also uses for itself or for a lost
// connection (08, 28, 3D, 53, 55, 57, 58, XX, F0, HV): with those, the commit may be unclear, or all other statements would fail as well.
const statementClasses = new Set([
  '09',
  '0A',
  '20',
  '21',
  '22',
  '23',
  '24',
  '25',
  '26',
  '27',
  '2B',
  '2D',
  '2F',
  '34',
  '38',
  '39',
  '3B',
  '3F',
  '40',
  '42',
  '44',
  '54',
  'P0',
]);
// The server refuses the statement for lack of a resource, whose name the caller may know.
const shortageSentences: Record<string, string> = {
  '53100': 'The disk of the database is full.',
  '53200': 'The database server has no memory left.',
  '53300': 'The database server accepts no more connections.',
};
// A lock was not released in time.
const lockTimeoutCode = '55P03';
// A transaction cannot write: this server became, or still is, a standby.
const readOnlyCode = '25006';

// A serialization failure, and a deadlock.
const lostCodes = new Set(['40001', '40P01']);

// Statement completion unknown. PostgreSQL itself does not use it; a proxy or a compatible server may.
const unclearCode = '40003';

/** A division by zero is how a guard of a commit ends the transaction (commit.ts); no other statement divides. */
const guardCode = '22012';

export const readTimeoutMessage = 'Query read timeout';

export function translatePostgresError(error: unknown): Error {
  const { code, message } = error as { code?: unknown; message?: string };
  if (error instanceof TypeError || error instanceof RangeError) return error;
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) {
    if (code.startsWith('23')) return new ConstraintViolation(constraintKinds[code] ?? 'other', message ?? code, error);
    if (code === readOnlyCode) return databaseReadOnly(error);
    if (code === lockTimeoutCode) return new DatabaseBusy(error);
    if (code === guardCode) return new GuardFailed(error);
    if (lostCodes.has(code) || isStaleStatement(error) || isForgottenStatement(error)) return new LostToAnother(message ?? code, error);
    if (code !== unclearCode && statementClasses.has(code.slice(0, 2))) return error as Error;
  }
  // Addresses stay in the cause, because API callers see this message.
  return databaseDown(shortageSentences[String(code)] ?? 'The database cannot be reached.', error);
}

/** A statement that was prepared before its tables changed: the server rejected it before executing it. */
export function isStaleStatement(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: string };
  return code === '0A000' && (message ?? '').includes('cached plan');
}

/** A prepared statement that the server does not have any more, for example after `discard all`. */
export function isForgottenStatement(error: unknown): boolean {
  return (error as { code?: unknown }).code === '26000';
}

export function isInFailedTransaction(error: unknown): boolean {
  return (error as { code?: unknown }).code === '25P02';
}
