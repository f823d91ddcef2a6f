// What a failing statement means to the rest of the house, the same on both engines.
// After "database down" a write may or may not have been committed: read it back by id before acting on it.
import { GatewayError } from '../kernel/error-codes.ts';

export type ConstraintKind = 'unique' | 'check' | 'foreign key' | 'not null' | 'other';

/** The database refused an impossible row. No code should need to catch it: `on conflict do nothing returning` says the same without an error. */
export class ConstraintViolation extends Error {
  readonly kind: ConstraintKind;

  constructor(kind: ConstraintKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ConstraintViolation';
    this.kind = kind;
  }
}

export function databaseDown(sentence: string, cause?: unknown): GatewayError {
  return new GatewayError('Error_Connection_Database', sentence, cause === undefined ? {} : { cause });
}

/** Another transaction held a row for too long; nothing was done. */
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
 * Another transaction stood in its way, and the database ended this one: nothing was done, and the same may succeed when it is tried again
 * (until-not-lost.ts). On SQLite, whose transactions take turns, there is none.
 */
export class LostToAnother extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'LostToAnother';
  }
}

/** Nothing of what the statement or transaction was to write is there, so it may be tried in another way. */
export function isCertainlyUndone(error: unknown): boolean {
  return !isDatabaseDown(error) || error instanceof DatabaseBusy;
}
