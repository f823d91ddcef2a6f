// What a caller would be answered in a state, without a change; and the state as one case with every row.
import type { Case, Id, TableName, TableRows } from '../src/money/case.ts';
import { nameKey } from '../src/money/case.ts';
import type { Answer, Event, StatusEvent } from '../src/money/event.ts';
import { storedTable } from '../src/money/tables.ts';
import { type Asked, ask } from './gateway.ts';
import { rowOf } from './memory-store.ts';
import type { Counter } from './moves.ts';
import { aroundOf, merchantId, newId, now, opsOf, priceBani, type State } from './world.ts';

export const planIn = (state: State, event: Event): Asked => ask(state.ledger, event, aroundOf(state));

export function askIn(state: State, event: Event, count?: Counter): Answer {
  const { answer, wouldChange } = planIn(state, event);
  if (!answer) throw new Error(`${event.type} is not answered.`);
  count?.(event, answer, wouldChange);
  return answer;
}

/** The call would be carried out, or has been. */
export function isAccepted(state: State, event: Event): boolean {
  const { answer, wouldChange } = planIn(state, event);
  return wouldChange || answer?.code === 'NoError';
}

export const statusOf = (by: Pick<StatusEvent, 'oid' | 'documentNr' | 'receiptUid' | 'idempotencyKey'>): StatusEvent => ({
  ...{ type: 'Status', merchantId },
  ...by,
});

export const payAgain = (deviceId: Id, documentNr: string): Event => ({
  ...{ type: 'Pay', merchantId, newId, deviceId, documentNr, amountBani: priceBani },
});

export const stopAt = (deviceId: Id, documentNr: string): Event => ({
  ...{ type: 'CancelTransaction', merchantId, newId, deviceId, documentNr, operationId: 'none', amountBani: priceBani, token: '' },
});

const cases = new WeakMap<object, Case>();

export function wholeCase(state: State): Case {
  let found = cases.get(state.ledger);
  if (!found) {
    const { ledger } = state;
    const rows = <Table extends TableName>(table: Table): Record<string, TableRows[Table]> =>
      Object.fromEntries(Object.entries(ledger[storedTable(table).table] ?? {}).map(([key, row]) => [key, rowOf(table, row)]));
    found = {
      ...{
        now,
        scanGraceMs: 0,
        isAssumed: false,
        orphans: rows('orphans'),
        presence: aroundOf(state).presence,
        waitedFor: new Set<Id>(),
        roots: [],
      },
      ...{ ops: rows('ops'), devices: rows('devices'), names: rows('names'), keys: rows('keys'), invoices: rows('invoices') },
      sales: new Set(opsOf(state).flatMap(({ kind, id }) => (kind === 'Pay' ? [id] : []))),
    };
    cases.set(state.ledger, found);
  }
  return found;
}

export const listedUnder = (state: State, value: string): readonly Id[] => wholeCase(state).names[nameKey(merchantId, value)]?.ops ?? [];
