// The filter of a list of commands as SQL conditions, split into those that an index covers and those that need the row.
import { type SqlBool, sql } from 'kysely';
import type { Bani } from '../../../kernel/money.ts';
import { operationOf } from '../../../kernel/operations.ts';
import { kindConditions } from '../../../ledger/standing-sql.ts';
import type { LedgerCommandName } from '../../../link/protocol.ts';
import type { Condition } from '../money-conditions.ts';
import { moneySql } from '../money-sql.ts';
import { conditionsOfState, type ShownState } from '../shown-state.ts';

export type Mode = 'cards' | 'fiscal';

export interface CommandFilter {
  mode?: Mode | undefined;
  name?: LedgerCommandName | undefined;
  /** Any of these states. */
  states?: readonly ShownState[] | undefined;
  /** A document, rrn, operation id, Receipt.Uid, receipt number, id (or its beginning) or amount. */
  q?: string | undefined;
  deviceId?: string | undefined;
  bank?: string | undefined;
  shop?: string | undefined;
  fromMs?: number | undefined;
  toMs?: number | undefined;
  minBani?: Bani | undefined;
  maxBani?: Bani | undefined;
}

const { cards, fiscal } = kindConditions('c');
/** The indexes by time begin with this condition. */
export const conditionOfMode: Record<Mode, Condition> = { cards, fiscal };

/** Conditions that find the rows of the filter's states by small indexes; undefined if a state has none. */
export function fewOf({ states = [] }: CommandFilter): Condition[] | undefined {
  const places = states.map((state) => conditionsOfState(state).few);
  return places.length > 0 && places.every((few) => few !== undefined) ? [...new Set(places.flat())] : undefined;
}

/** The period, which every index covers. */
export function spanOf(filter: CommandFilter): Condition[] {
  return [
    ...(filter.fromMs === undefined ? [] : [sql<SqlBool>`c.issued_at >= cast(${filter.fromMs} as bigint)`]),
    ...(filter.toMs === undefined ? [] : [sql<SqlBool>`c.issued_at < cast(${filter.toMs} as bigint)`]),
  ];
}

/** Conditions that need the row: checked on a bounded number of scanned rows. */
export function sieveOf(filter: CommandFilter, isInModeIndex: boolean): Condition[] {
  const wanted = (filter.states ?? []).map((state) => sql<SqlBool>`(${sql.join(conditionsOfState(state).is, sql` and `)})`);
  return [
    ...(isInModeIndex ? [] : [filter.mode === undefined ? moneySql().isCommand('c') : conditionOfMode[filter.mode]]),
    ...(wanted.length > 0 ? [sql<SqlBool>`(${sql.join(wanted, sql` or `)})`] : []),
    ...(filter.name === undefined ? [] : [sql<SqlBool>`c.name = ${sql.lit(filter.name)}`]),
    // A reissued command is the same sale as its successor.
    ...(filter.name === undefined || !operationOf(filter.name).isPayment ? [] : [sql<SqlBool>`c.reissued_as is null`]),
    ...(filter.minBani === undefined ? [] : [sql<SqlBool>`c.amount_bani >= cast(${filter.minBani} as bigint)`]),
    ...(filter.maxBani === undefined ? [] : [sql<SqlBool>`c.amount_bani <= cast(${filter.maxBani} as bigint)`]),
  ];
}
