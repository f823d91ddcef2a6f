// A commit whose answer is lost, as src/database/commit.ts goes on: the unit is repeated under the same guards; if these do not hold, what only
// this unit can have inserted is read back. The first try may have been written, may be written later, or never.
import { commitTables } from '../src/money/tables.ts';
import { commitTo } from './memory-store.ts';
import { type Acted, counted, goOn, hardwareOf, isPast, now, opOf, type Pending, renamed, runIn, type State, started } from './world.ts';

interface Step extends Acted {
  label: string;
}

export function stepsAfterLostAnswer(state: State, pending: Pending): Step[] {
  const late = pending.try === 'done' ? undefined : written(state, pending);
  return [
    ...(late ? [{ ...late, label: `the database writes it late: ${pending.label}` }] : []),
    ...(pending.try === 'given up' ? [] : [{ ...again(state, pending), label: `gateway 2 repeats and reads back: ${pending.label}` }]),
  ];
}

const begunBy = ({ inserts }: Pending['unit']) => inserts.find(({ table }) => table === 'commands')?.row;

function written(state: State, pending: Pending): Acted | undefined {
  const id = String(state.count);
  const unit = renamed(pending.unit, id);
  const ledger = commitTo(state.ledger, unit, now);
  if (!ledger) return undefined;
  const next = counted({ ...state, pending: pending.try === 'given up' ? null : { ...pending, unit, try: 'done' } }, ledger, unit);
  const deviceId = begunBy(unit)?.['device_id'];
  if (typeof deviceId !== 'string') return { state: next, unit };
  return { state: { ...next, truth: { ...next.truth, [id]: { hw: hardwareOf(next, deviceId), did: 'unsent' } } }, unit };
}

function again(state: State, pending: Pending): Acted {
  const { unit, event } = pending;
  const free = { ...state, pending: null };
  const isWritten = pending.try === 'done';
  if (commitTo(state.ledger, isWritten ? unit : renamed(unit, String(state.count)), now)) {
    if (isWritten) throw new Error(`A unit is written twice: ${pending.label}`);
    return goOn(state);
  }
  const own = unit.inserts.filter(({ table }) => commitTables[table]?.assigned !== undefined && commitTables[table]?.version !== undefined);
  if (isWritten && own.length > 0) return found(free, pending);
  const isFinal = unit.writes.length > 0 && unit.writes.every(({ guard }) => typeof guard === 'number');
  return isFinal ? runIn(free, event) : { state: { ...state, pending: { ...pending, try: 'given up' } } };
}

/** It was committed: what it decided is done now, unless the device was asked meanwhile and has noted that it never begins it. */
function found(state: State, { unit, event }: Pending): Acted {
  const id = String(begunBy(unit)?.['id']);
  if (begunBy(unit)?.['name'] === 'Abort') return { state: started(state, unit, event) };
  const isToBeSent = state.truth[id]?.did === 'unsent' && !isPast(opOf(state, id));
  return { state: isToBeSent ? started(state, unit, event) : { ...state, sent: undefined } };
}
