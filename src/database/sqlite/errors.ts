// Translates SQLite's errors into the gateway's. An error from the worker thread arrives as a plain object with the same fields.
import { type ConstraintKind, ConstraintViolation, databaseDown, databaseReadOnly, GuardFailed } from '../errors.ts';

/** The fields of an error that are sent between threads. */
export interface CarriedError {
  name: string;
  message: string;
  code: string | undefined;
  errcode: number | undefined;
}

const constraintKinds: Record<number, ConstraintKind> = {
  2067: 'unique',
  1555: 'unique',
  275: 'check',
  787: 'foreign key',
  1299: 'not null',
};

// Primary result codes for a file that cannot be used now: busy, locked, out of memory, I/O, corrupt, full, cannot open, not a database.
const downCodes = new Set([5, 6, 7, 10, 11, 13, 14, 26]);
const constraintCode = 19;
const readOnlyCode = 8;

export function carryError(error: unknown): CarriedError {
  const { name = 'Error', message = String(error), code, errcode } = error as Partial<CarriedError>;
  return { name, message, code, errcode };
}

export function translateSqliteError(error: CarriedError | Error): Error {
  const { name, message, errcode } = carryError(error);
  if (name === 'GuardFailed') return new GuardFailed(error);
  if (errcode !== undefined) {
    const primary = errcode & 0xff;
    if (primary === constraintCode) return new ConstraintViolation(constraintKinds[errcode] ?? 'other', message, error);
    if (primary === readOnlyCode) return databaseReadOnly(error);
    if (downCodes.has(primary))
      return databaseDown('The database file cannot be used.', Object.assign(new Error(message, { cause: error }), { errcode }));
  }
  if (error instanceof Error) return error;
  return error.name === 'TypeError' ? new TypeError(message) : Object.assign(new Error(message), { code: error.code, errcode });
}
