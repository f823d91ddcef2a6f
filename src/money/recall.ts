// Asking a device what became of an operation. A question starts nothing, and each answer is an event like any other. A device without a
// journal is asked for its LastTransaction, which can only prove that the operation was executed [D304].
// Invariants: one question about an operation at a time on this gateway; for open operations only one gateway asks: it takes the operation
// over first, by a guarded update that also sets the time of the next question. If the process dies after that, the next one asks then.
import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { keptStatement } from '../database/kept-statement.ts';
import { growingPauseMs } from '../kernel/backoff.ts';
import { sameNumber } from '../kernel/ids.ts';
import type { Timeline } from '../ledger/timeline.ts';
import type { Link } from '../link/link.ts';
import { readRecallReport } from '../link/messages.ts';
import type { AnswerMessage } from '../link/wire-schemas.ts';
import type { Id, Op } from './case.ts';
import type { DeviceEvent } from './event.ts';
import type { Notes } from './notes.ts';
import { isOpen } from './rules/facts.ts';
import type { Run } from './run.ts';
import { reportEvent } from './send.ts';

const timeoutMs = 10_000;
/** 2 s, 4 s, 8 s ... 5 min. */
const pauses = { firstMs: 2_000, maxMs: 5 * 60_000 };

/** An operation as far as a question needs it. */
export type Asked = Pick<Op, 'id' | 'deviceId' | 'journalId' | 'state'>;

/** `end`: it has ended, or never began. `another`: the device's last transaction is another one. `nothing`: it did not answer. */
export interface Answered {
  said: 'end' | 'running' | 'another' | 'unusable' | 'nothing';
  /** The journal has answered under whose id the operation was sent. */
  isOwn: boolean;
}

const nothing: Answered = { said: 'nothing', isOwn: false };

export interface Recall {
  /** Asks about an open operation; `isDeviceBack`: a question that is under way was sent while the device was offline. */
  ask(op: Asked, isDeviceBack?: boolean): Promise<Answered>;
  /** Asks whatever the state is. */
  compare(op: Asked): Promise<Answered>;
}

interface Deps {
  database: Database;
  link: Pick<Link, 'ask' | 'presence'>;
  instanceId: string;
  timeline: Pick<Timeline, 'add' | 'addCounted'>;
  notes: Pick<Notes, 'missed' | 'wasAccepted'>;
  run: Run;
}

/** No rule reads these columns, so the version stays; the number of questions is the guard. */
const takeOver = keptStatement((queries, given: { id: string; instanceId: string; pauseMs: number; recalls: number }) =>
  sql<{ id: string }>`update "commands" set "instance_id" = ${given.instanceId}, "recalls" = "recalls" + 1,
      "next_recall_at" = now_ms() + cast(${given.pauseMs} as bigint)
    where "id" = ${given.id} and "state" in ('sent', 'unknown') and "recalls" = ${given.recalls} returning "id"`.compile(queries),
);

const recallsOf = keptStatement((queries, { id }: { id: string }) =>
  queries.selectFrom('commands').select(['recalls', 'request_hash', 'outcome_missed_at']).where('id', '=', id).compile(),
);

export function createRecall({ database, link, instanceId, timeline, notes, run }: Deps): Recall {
  const underWay = new Map<Id, Promise<Answered>>();

  function shared(op: Asked, isDeviceBack: boolean, work: () => Promise<Answered>): Promise<Answered> {
    const running = underWay.get(op.id);
    if (running && !isDeviceBack) return running;
    const asked: Promise<Answered> = work().finally(() => {
      if (underWay.get(op.id) === asked) underWay.delete(op.id);
    });
    underWay.set(op.id, asked);
    return asked;
  }

  async function takeOverAndAsk(op: Asked): Promise<Answered> {
    const { queries } = database;
    const [row] = await recallsOf(queries, { id: op.id });
    if (!row) return nothing;
    const pauseMs = growingPauseMs(row.recalls + 1, pauses);
    const taken = await takeOver(queries, { id: op.id, instanceId, pauseMs, recalls: row.recalls });
    if (taken.length === 0) return nothing;
    // The caller was answered or has disconnected: a repeat is not another customer [D58].
    if (row.request_hash !== null && row.outcome_missed_at === null) notes.missed(op.id);
    return question(op);
  }

  /** The timeline lists question and answer, also if the answer is unusable. */
  async function question(op: Asked): Promise<Answered> {
    const { id: commandId, deviceId, journalId } = op;
    const channel = link.presence.of(deviceId)?.liveOn[0];
    // Steps of a settled operation are counted, because its device is asked at every reconnect.
    const note = isOpen(op) ? timeline.add : timeline.addCounted;
    note({ commandId, step: journalId === null ? 'asked last transaction' : 'recall', channel });
    const asked =
      journalId === null ? ({ name: 'LastTransaction', args: {} } as const) : ({ name: 'Recall', args: { target: commandId } } as const);
    const answer = await link.ask(deviceId, { ...asked, timeoutMs, preferredChannel: channel ?? 'mqtt' });
    if (!answer) return nothing;
    const event = journalId === null ? ofLastTransaction(commandId, answer) : ofRecall(commandId, answer);
    note({ commandId, step: journalId === null ? 'last transaction reported' : 'recalled', channel, detail: inShort(event, answer) });
    const isOwn = (answer.journalId ?? null) === journalId;
    if (!event) return { said: 'unusable', isOwn };
    // Read by what is gathered, too: the acceptance contradicts a `never`.
    await run(event.type === 'Report' ? { ...event, wasAccepted: notes.wasAccepted(commandId) } : event);
    return { said: event.type === 'Accepted' ? 'running' : event.type === 'LastIsAnother' ? 'another' : 'end', isOwn };
  }

  return {
    ask: (op, isDeviceBack = false) => shared(op, isDeviceBack, () => takeOverAndAsk(op)),
    compare: (op) => shared(op, false, () => question(op)),
  };
}

/** Undefined: the answer is unusable. */
function ofRecall(id: Id, answer: AnswerMessage): DeviceEvent | undefined {
  const recalled = answer.outcome === 'done' ? readRecallReport(answer.report) : undefined;
  if (recalled === undefined) return undefined;
  if (recalled.state === 'running') return { type: 'Accepted', id, isRunning: true };
  const { state, outcome = 'unknown', report, reason } = recalled;
  const isFinal = state === 'final';
  return reportEvent(id, 'recall', {
    outcome: isFinal ? outcome : state,
    report: isFinal ? report : undefined,
    reason: reason ?? answer.reason,
    journalId: answer.journalId,
  });
}

function ofLastTransaction(id: Id, answer: AnswerMessage): DeviceEvent | undefined {
  const { outcome: word, report, journalId } = answer;
  if (word !== 'done') return undefined;
  const commandId = report?.['commandId'];
  if (!report || typeof commandId !== 'string' || sameNumber(commandId) !== id) return { type: 'LastIsAnother', id, journalId };
  if (report['state'] === 'running') return { type: 'Accepted', id, isRunning: true };
  const outcome = report['state'] === 'approved' ? 'done' : report['state'] === 'refused' ? 'refused' : undefined;
  return outcome && reportEvent(id, 'last-transaction', { outcome, report, journalId });
}

function inShort(event: DeviceEvent | undefined, { outcome }: AnswerMessage): string {
  if (!event) return `unusable ${outcome}`;
  if (event.type === 'Accepted') return 'running';
  if (event.type === 'LastIsAnother') return 'another';
  return event.type === 'Report' && event.outcome !== 'never' ? `final ${event.outcome}` : 'never';
}
