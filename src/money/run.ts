// The loop of the money core [D300]: the facts of an event, the decision, the commit if the facts still hold, then what follows. The facts are
// assumed or remembered without a query where that is possible; otherwise, and after a conflict, they are loaded.
//
//   const { answer, effects } = await run(event, { origin, recipient });
//
// If the process dies
//   before the commit ....... nothing was stored or sent
//   after the commit ........ what was to be sent was not; the row is open, and Recall gets the answer `never`
// If it is not known whether the commit succeeded, the call is answered 2, nothing is sent, and the row is read back for a minute: if it is
// there, its operation is settled as not sent.
import { type AuditEntry, auditRow } from '../access/audit.ts';
import type { Commit } from '../database/commit.ts';
import type { Unit, Values } from '../database/commit-data.ts';
import { DatabaseBusy, databaseDown } from '../database/errors.ts';
import type { Origin } from '../http/origin.ts';
import type { Recipient } from '../http/recipient.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Known } from './assume.ts';
import type { Added, Case, Id, Notice } from './case.ts';
import type { Answer, Decision, Effect, Event, Need } from './event.ts';
import type { FollowUp } from './follow-up.ts';
import type { Load } from './load.ts';
import type { Memory } from './memory.ts';
import { callerIsGone } from './replies.ts';
import { decide } from './rules/decide.ts';
import { createTurns } from './turns.ts';
import { unitOf } from './unit.ts';

export interface Ran {
  answer: Answer | undefined;
  effects: readonly Effect[];
  /** The case after the event. */
  case: Case;
  added: Added | undefined;
}

/** Of an event that may begin an operation: its caller; of a step of a person: its entry in the audit log. */
export interface Caller {
  origin?: Origin | undefined;
  recipient?: Recipient | undefined;
  /** Written in the same commit, if the event changes anything. */
  audit?: AuditEntry | undefined;
  /** Before each try: what is sent afterwards counts its deadlines from here, and from what is known about the device's clock now [D65]. */
  beforeTry?(): void;
}

export type Run = (event: Event, caller?: Caller) => Promise<Ran>;

/** After so many conflicts and waits the call is answered 2. */
const maxTries = 5;

interface Deps {
  clock: Clock;
  instanceId: string;
  commit: Commit;
  load: Load;
  memory: Memory;
  /** Undefined: this event loads. */
  assumed(event: Event, now: number): Promise<Known | undefined>;
  followUp: Pick<FollowUp, 'changed' | 'counted'>;
  /** Its row, or undefined if its address can no longer be read. */
  callbackOf(notice: Notice, after: Case): Values | undefined;
  wakeCallbacks(rows: readonly Values[]): void;
  /** Does what a decision asks for before it is made. Of a confirmation: the operations whose own journal has answered. */
  meet(need: Need): Promise<readonly Id[] | undefined>;
  /** Effects that need no caller. */
  perform(effect: Effect): void;
  /** Whether the unit of a new operation was committed is not known. */
  readBack(id: Id): void;
}

export function createRun(deps: Deps): Run {
  const { clock, commit, memory, instanceId } = deps;
  const turns = createTurns();
  /** The database's time minus the time since this process began. */
  let offsetMs: number | undefined;
  const seenNow = (now: number) => void (offsetMs = now - clock.elapsed());

  async function quick(event: Event): Promise<Known | undefined> {
    if (offsetMs === undefined) return undefined;
    const now = Math.floor(clock.elapsed() + offsetMs);
    const known = memory.recall(event);
    return known ? { ...known, case: { ...known.case, now } } : deps.assumed(event, now);
  }

  /** Undefined: the facts were not as they were taken to be, or do not suffice. */
  async function attempt(known: Known, event: Event, { origin, recipient, audit, beforeTry }: Caller): Promise<Ran | undefined> {
    beforeTry?.();
    const decided = decide(known.case, event);
    if (decided.needs) return undefined;
    if (!decided.next) return isLoaded(known.case) ? said(known.case, decided) : undefined;
    const callbacks: Values[] = [];
    const unit = unitOf(known.case, decided, {
      audit: audit && auditRow(audit),
      ofOperation: { instance_id: instanceId, caller: origin?.caller ?? null, request: origin?.request ?? null },
      callbackOf(notice) {
        const row = deps.callbackOf(notice, decided.next as Case);
        if (row) callbacks.push(row);
        return row;
      },
    });
    // Saves the row of a command that would not be sent; the check before the publish decides (send.ts).
    if (recipient?.hasLeft() && begins(unit)) throw callerIsGone();
    const result = await commit.add(unit);
    if (result === 'conflict') {
      memory.forget(event);
      return undefined;
    }
    if (result === 'unclear') throw unclear(event, unit);
    seenNow(result.now);
    memory.remember(known, decided.next, unit, result);
    follow(known.case, decided, callbacks);
    return said(decided.next, decided);
  }

  function unclear(event: Event, unit: Unit): Error {
    memory.forget(event);
    for (const { table, row } of unit.inserts) if (table === 'commands') deps.readBack(String(row['id']));
    return databaseDown('The database did not confirm the change.');
  }

  /** After the commit: wake-ups, the timeline, and what no caller waits for. */
  function follow(before: Case, { next, added, effects }: Decision, callbacks: readonly Values[]): void {
    deps.followUp.changed(before, next, added);
    if ((added?.notices.length ?? 0) > 0) deps.wakeCallbacks(callbacks);
    for (const effect of effects) deps.perform(effect);
  }

  function said(c: Case, { answer, effects, next, added }: Decision): Ran {
    if (!next) {
      for (const effect of effects) deps.perform(effect);
      deps.followUp.counted(added);
    }
    return { answer, effects, case: c, added };
  }

  /** Undefined: the facts have changed since they were loaded. */
  async function loadedAttempt(event: Event, caller: Caller): Promise<Ran | Need | undefined> {
    const loaded = await deps.load(event);
    seenNow(loaded.case.now);
    return decide(loaded.case, event).needs ?? attempt(loaded, event, caller);
  }

  return async (first, caller = {}) => {
    let event = first;
    const known = await quick(event);
    const done = known && (await attempt(known, event, caller));
    if (done) return done;
    for (let tries = 0; tries < maxTries; tries += 1) {
      const step = () => loadedAttempt(event, caller);
      const ran = await (tries === 0 ? step() : turns.take(placeOf(event), step));
      if (ran && 'case' in ran) return ran;
      if (!ran) continue;
      const answered = await deps.meet(ran);
      event = { ...event, hasWaited: true, answered } as Event;
    }
    throw new DatabaseBusy(new Error('Other calls changed the same operations all the time.'));
  };
}

/** A request to stop is carried out for a caller that is gone, too. */
const begins = ({ inserts }: Unit) => inserts.some(({ table, row }) => table === 'commands' && row['name'] !== 'Abort');

/** Calls about the same invoice, or on the same device, disturb each other. */
function placeOf(event: Event): Id {
  if ('oid' in event && event.oid !== undefined) return event.oid;
  if ('deviceId' in event) return event.deviceId;
  return 'id' in event ? event.id : event.type;
}

const isLoaded = (c: Case) => !c.isAssumed && c.isRemembered !== true;
