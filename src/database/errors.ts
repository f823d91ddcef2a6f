// The errors of failing statements, the same on both engines.
// After "database down" a write may or may not have been committed: read it back by id before you act on it.
import { GatewayError } from '../kernel/error-codes.ts';

export type ConstraintKind = 'unique' | 'check' | 'foreign key' | 'not null' | 'other';

/** The database rejected an invalid row. Code should rarely need to catch it: `on conflict do nothing returning` avoids the error. */
export class ConstraintViolation extends Error {
  readonly kind: ConstraintKind;

  constructor(kind: ConstraintKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ConstraintViolation';
    this.kind = kind;
  }
}

/** A row is not as a commit expected it (commit.ts); nothing was written. */
export class GuardFailed extends Error {
  constructor(cause?: unknown) {
    super('A guard of a commit does not hold.', cause === undefined ? undefined : { cause });
    this.name = 'GuardFailed';
  }
}

export function databaseDown(sentence: string, cause?: unknown): GatewayError {
  return new GatewayError('Error_Connection_Database', sentence, cause === undefined ? {} : { cause });
}

/** Another transaction kept a row locked for too long; nothing was written. */
export class DatabaseBusy extends GatewayError {
  constructor(cause: unknown) {
    super('Error_Connection_Database', 'The database was too busy with the same rows; try again.', { cause });
  }
}

/** A standby after a failover, a disk that was remounted, or a reader that tries to write. */
export function databaseReadOnly(cause: unknown): GatewayError {
  return databaseDown('The database can only be read now.', cause);
}

export function isDatabaseDown(error: unknown): boolean {
  return error instanceof GatewayError && error.errorName === 'Error_Connection_Database';
}

/**
 * A deadlock or serialization failure: the database ended this transaction, nothing was written, and a retry may succeed
 * (until-not-lost.ts). It cannot happen on SQLite, whose transactions run one at a time.
 */
export class LostToAnother extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'LostToAnother';
  }
}

/** The statement or transaction has certainly written nothing, so it may be retried in another way. */
export function isCertainlyUndone(error: unknown): boolean {
  return !isDatabaseDown(error) || error instanceof DatabaseBusy;
}
