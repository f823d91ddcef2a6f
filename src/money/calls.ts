// One call about devices, from its event to its answer: what it repeats is waited for, what it begins is sent, and the answer is the one that
// the rules give about the operation afterwards. If the caller disconnects or this process dies, the operation goes on, and a repeat of the
// call finds it.
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { operationOf } from '../kernel/operations.ts';
import type { Timeline } from '../ledger/timeline.ts';
import type { Deadlines } from '../link/carrying/deadlines.ts';
import type { ChannelName } from '../link/channel.ts';
import type { Link } from '../link/link.ts';
import type { Op } from './case.ts';
import type { Answer, CallEvent, Effect, StatusEvent } from './event.ts';
import type { Notes } from './notes.ts';
import type { Recall } from './recall.ts';
import { codeOf, notKnownYet, tooManyWait } from './replies.ts';
import { isAbort, isOpen } from './rules/facts.ts';
import type { Caller, Ran, Run } from './run.ts';
import type { Sending } from './send.ts';
import { createStop } from './stop.ts';
import type { Waits } from './waits.ts';

/** A repeat of a request whose outcome is unknown waits this long for the device's report. */
const askAgainForMs = 5_000;
/** At answerBy, the device's answer may be in the middle of its commit. */
const graceMs = 1_000;
const defaultJoiners = 20;
export interface Calls {
  call(event: CallEvent, caller: Caller): Promise<Answer>;
  status(event: StatusEvent, caller: Caller): Promise<Answer>;
}

interface Deps {
  clock: Clock;
  logger: Logger;
  link: Pick<Link, 'deadlines' | 'locate' | 'ask' | 'presence'>;
  timeline: Pick<Timeline, 'addCounted'>;
  run: Run;
  notes: Notes;
  waits: Waits;
  sending: Pick<Sending, 'send' | 'has'>;
  recall: Recall;
  joinersPerCommand?: number | undefined;
}

export function createCalls(deps: Deps): Calls {
  const { clock, logger, link, run, notes, waits, sending, recall, joinersPerCommand = defaultJoiners } = deps;
  const stop = createStop(deps);

  async function call(event: CallEvent, caller: Caller): Promise<Answer> {
    let deadlines = link.deadlines(event.deviceId, 0);
    // Fixed before each commit: the time spent on it counts against them, but not the time in which the device was looked for or asked. Its
    // clock is known afterwards.
    const beforeTry = () => void (deadlines = link.deadlines(event.deviceId, 0));
    const atMs = clock.now();
    const ran = await located(event, { ...caller, beforeTry });
    const answer = await (ran.effects.some(isWaitedFor) ? finish(ran, caller, deadlines) : answered(event, ran, caller));
    for (const effect of ran.effects) if (effect.type === 'repeat') noteRepeat(deps, effect, answer, atMs);
    return answer;
  }

  /**
   * A device that is live nowhere may be found by a probe: only if nothing else answers the call. It takes a while, in which another gateway
   * may have begun the same: it is decided again, found or not.
   */
  async function located(event: CallEvent, caller: Caller): Promise<Ran> {
    const ran = await run(event, caller);
    const { deviceId } = event;
    if (ran.answer?.code !== 'Device_Offline' || link.presence.isLiveAnywhere(deviceId)) return ran;
    await link.locate(deviceId, preferredChannel(event));
    return run(event, caller);
  }

  async function finish(ran: Ran, caller: Caller, deadlines: Deadlines): Promise<Answer> {
    const effect = ran.effects.find(isWaitedFor) ?? nothingToSay();
    const op = ran.case.ops[effect.id];
    if (!op) throw new Error(`The case lacks the operation ${effect.id}.`);
    if (effect.type === 'send') {
      const channel = preferredChannels[operationOf(op.kind as Exclude<Op['kind'], 'Abort'>).device];
      const ended = await sending.send({
        op,
        deadlines: { ...deadlines, answerWithinMs: op.answerBy - op.issuedAt },
        channel,
        recipient: caller.recipient,
      });
      return about(op, ended, caller);
    }
    if (effect.type === 'sendAbort') {
      await stop(effect, op, caller.recipient);
      return about(op, undefined, caller);
    }
    await waitFor(op, ran, caller);
    const answer = await about(op, undefined, caller);
    return ran.answer?.fields.Repeated ? { ...answer, fields: { ...answer.fields, Repeated: true } } : answer;
  }

  /** An equal request that is answered about the earlier one brings its outcome to the caller, unless it is refused beside a dispute. */
  function answered(
    { deviceId, requestHash, isByPerson }: CallEvent,
    { answer = nothingToSay(), case: c }: Ran,
    { recipient }: Caller,
  ): Answer {
    const op = c.ops[answer.fields.OID ?? ''];
    const isEqual = op !== undefined && op.requestHash !== null && op.requestHash === requestHash && op.deviceId === deviceId;
    // A step of a person delivers nothing to a till [D309].
    if (isEqual && answer.code !== 'Device_Busy' && !isByPerson) notes.answered(op, recipient);
    return answer;
  }

  /** The answer about an operation that this call has begun or waited for, and the note whether it arrives. */
  async function about(begun: Op, ended: Ran | undefined, { recipient }: Caller): Promise<Answer> {
    const { id } = begun;
    const ran = ended?.answer ? ended : await run({ type: 'Outcome', id }).catch(() => undefined);
    // Without its row, which the database may have lost since, the outcome is not known either.
    const answer = (ran?.case.ops[id] && ran.answer) ?? notKnownYet(isAbort(begun) ? (begun.targetId ?? id) : id);
    const op = ran?.case.ops[answer.fields.OID ?? id];
    if (op) notes.answered(op, recipient);
    return answer;
  }

  async function waitFor(op: Op, { answer }: Ran, { recipient }: Caller): Promise<void> {
    if (waits.countOf(op.id) >= joinersPerCommand) throw tooManyWait(answer);
    const isIdle = op.state === 'unknown' && !sending.has(op.id);
    if (isIdle) recall.ask(op).catch((error: unknown) => logger.warn({ err: error, commandId: op.id }, 'Recall for a repeat failed'));
    await waits.waitFor(op.id, op.state, isIdle ? askAgainForMs : op.answerBy - op.issuedAt + graceMs, recipient);
  }

  async function status(event: StatusEvent, caller: Caller): Promise<Answer> {
    const ran = await run(event);
    const op = ran.case.ops[ran.answer?.fields.OID ?? ''];
    if (op?.state !== 'unknown' || sending.has(op.id) || !ran.answer) return shown(ran, op, caller);
    await waitFor(op, ran, caller);
    const again = await run(event);
    return shown(again, again.case.ops[again.answer?.fields.OID ?? ''], caller);
  }

  /** A status query that shows the outcome delivers it; if the operation is open, nothing is noted. */
  function shown(ran: Ran, op: Op | undefined, { recipient }: Caller): Answer {
    if (op && !isOpen(op) && op.standing !== 'Disputed') notes.answered(op, recipient);
    return ran.answer ?? nothingToSay();
  }

  return { call, status };
}

function noteRepeat(
  { clock, timeline }: Pick<Deps, 'clock' | 'timeline'>,
  { id, by }: Extract<Effect, { type: 'repeat' }>,
  answer: Answer,
  atMs: number,
): void {
  const detail = [by, 'answered', codeOf(answer), clock.now() - atMs].join(' ');
  timeline.addCounted({ commandId: id, atMs, step: 'asked again', detail });
}

type WaitedFor = Extract<Effect, { type: 'send' | 'sendAbort' | 'wait' }>;
const isWaitedFor = (effect: Effect): effect is WaitedFor => ['send', 'sendAbort', 'wait'].includes(effect.type);

const preferredChannels: Record<'terminal' | 'register', ChannelName> = { terminal: 'mqtt', register: 'queue' };

function preferredChannel(event: CallEvent): ChannelName {
  if (event.type === 'Print') return preferredChannels.register;
  return event.type === 'Plain' ? preferredChannels[operationOf(event.kind).device] : preferredChannels.terminal;
}

function nothingToSay(): never {
  throw new Error('A call was decided without an answer.');
}
