// Which commands a list shows: the filter as SQL conditions, apart by what an index knows and what only the row tells. Names and states are
// literals, because both engines use a partial index only where the statement itself shows that it applies.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Bani } from '../../../kernel/money.ts';
import { operationOf } from '../../../kernel/operations.ts';
import type { LedgerCommandName } from '../../../link/protocol.ts';
import { cardNames, conditionsOfState, fiscalNames, type ShownState, type StateConditions } from '../shown-state.ts';

export type Mode = 'cards' | 'fiscal';

export interface CommandFilter {
  mode?: Mode | undefined;
  name?: LedgerCommandName | undefined;
  /** Any of these. */
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

type Condition = RawBuilder<SqlBool>;

const namesIn = (names: readonly string[]) => sql<SqlBool>`c.name in (${sql.join(names.map((name) => sql.lit(name)))})`;
/** The predicates of the indexes by time, and of those by merchant and time. */
export const conditionOfMode: Record<Mode, Condition> = { cards: namesIn(cardNames), fiscal: namesIn(fiscalNames) };

/** The index that holds the filter's state, if one does. Several states have none in common. */
export function indexOfState({ states = [] }: CommandFilter): StateConditions['index'] {
  const [state] = states;
  return state === undefined || states.length > 1 ? undefined : conditionsOfState[state].index;
}

/** The span of time, which every index knows. */
export function spanOf(filter: CommandFilter): Condition[] {
  return [
    ...(filter.fromMs === undefined ? [] : [sql<SqlBool>`c.issued_at >= cast(${filter.fromMs} as bigint)`]),
    ...(filter.toMs === undefined ? [] : [sql<SqlBool>`c.issued_at < cast(${filter.toMs} as bigint)`]),
  ];
}

/** What only the row itself tells: judged on a bounded number of walked rows. */
export function sieveOf(filter: CommandFilter, isIn: { modeIndex: boolean; stateIndex: boolean }): Condition[] {
  const wanted = (filter.states ?? []).map((state) => conditionsOfState[state]);
  const [only] = wanted;
  const state = wanted.length === 1 ? only : undefined;
  const held = ({ index }: StateConditions) => (index ? [sql<SqlBool>`(${sql.join(index.wheres, sql` or `)})`] : []);
  const whole = (state: StateConditions) => sql<SqlBool>`(${sql.join([...held(state), ...state.rest], sql` and `)})`;
  return [
    ...(filter.mode === undefined || isIn.modeIndex ? [] : [conditionOfMode[filter.mode]]),
    ...(state && !isIn.stateIndex ? held(state) : []),
    ...(state?.rest ?? []),
    ...(wanted.length > 1 ? [sql<SqlBool>`(${sql.join(wanted.map(whole), sql` or `)})`] : []),
    ...(filter.name === undefined ? [] : [sql<SqlBool>`c.name = ${sql.lit(filter.name)}`]),
    // One that went out again is the same sale as the one that it went out as.
    ...(filter.name === undefined || !operationOf(filter.name).isPayment ? [] : [sql<SqlBool>`c.reissued_as is null`]),
    ...(filter.minBani === undefined ? [] : [sql<SqlBool>`c.amount_bani >= cast(${filter.minBani} as bigint)`]),
    ...(filter.maxBani === undefined ? [] : [sql<SqlBool>`c.amount_bani <= cast(${filter.maxBani} as bigint)`]),
  ];
}
