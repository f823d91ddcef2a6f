// One ledger command on its way: the state machine behind Link.carry(). Its row is committed already, so the one question left is what became of it.
//
//   publish -> accepted -> ending answer                                      the good way
//   no accepted in 3 s, or the channel lost: the same id on the other channel too (only a journal makes that safe)
//   no accepted by startBy, a reconnect on either side, an unclear send: Recall, repeated until the device says something
//   accepted, and nothing more is heard: a look in by Recall every 30 s, because the answer may have got lost [D56]
//   30 s silent to Recall and never accepted: silent.   answerBy: timeout.   Nothing went out anywhere, for certain: not-sent
//
// What always holds: one result; the call waits before the first byte leaves; without a journal at most one copy is ever on the wire, and no Recall.
// No copy leaves after startBy: the fence is judged in the very turn in which the channel is given the copy [D65]. If the process stops
// between the two, or the bytes lie in a socket, the copy still says the startBy that was fixed at first, and the device holds to that.
import type { Cancel, Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Random } from '../kernel/random.ts';
import { type Channel, type ChannelName, isCertainlyNotSent } from './channel.ts';
import { writeCommand } from './command.ts';
import type { CarryEnded, CarryResult, Delivery, LinkStepName } from './delivery.ts';
import { isStartOver, passedMs, startWithinMs } from './fence.ts';
import { readRecallReport } from './messages.ts';
import type { PresenceBook } from './presence.ts';
import type { EndingOutcome, JsonObject } from './protocol.ts';
import type { WaitingRoom } from './waiting.ts';
import type { AnswerMessage } from './wire-schemas.ts';

const acceptWithinMs = 3_000;
const recallPatienceMs = 30_000;
const recallEveryMs = 5_000;
const lookInEveryMs = 30_000;
const recallsAtOnce = 10;

export interface CarryDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  gatewayId: string;
  channels: readonly Channel[];
  book: PresenceBook;
  waiting: WaitingRoom;
  onSent(channel: ChannelName): void;
  onRecall(): void;
}

/** What the link tells a command under way about the connections. */
export interface Carry {
  readonly deviceId: string;
  readonly result: Promise<CarryResult>;
  /** The device's connection, or our own, ended on this channel. */
  lost(channel: ChannelName): void;
  /** The device is back on this channel, or we are; or it has booted anew. */
  seenAgain(channel: ChannelName, isReboot: boolean): void;
  stop(): void;
}

type CopyState = 'under-way' | 'sent' | 'unclear' | 'not-sent';

export function startCarry(deps: CarryDeps, delivery: Delivery): Carry {
  const { clock, random, logger, gatewayId, book, waiting } = deps;
  const { id, deviceId, fence } = delivery;
  const hasJournal = delivery.journalId !== undefined;
  const channels = inOrder(deps.channels, delivery.first);
  const copies = new Map<ChannelName, CopyState>();
  const recallIds: string[] = [];
  const timers = new Set<Cancel>();
  let isFinished = false;
  let wasAccepted = false;
  let isAcceptOverdue = false;
  let stopRecalling: Cancel = () => {};
  let isLookedAfter = false;
  let resolveResult: (result: CarryResult) => void;
  const result = new Promise<CarryResult>((resolve) => {
    resolveResult = resolve;
  });

  function finish(outcome: CarryResult): void {
    if (isFinished) return;
    isFinished = true;
    for (const cancel of timers) cancel();
    timers.clear();
    waiting.leave(id);
    for (const recallId of recallIds) waiting.forget(recallId);
    resolveResult(outcome);
  }

  function later(delayMs: number, action: () => void): Cancel {
    const cancelTimer = clock.after(Math.max(0, delayMs), () => {
      timers.delete(cancel);
      if (!isFinished) action();
    });
    const cancel = () => {
      cancelTimer();
      timers.delete(cancel);
    };
    timers.add(cancel);
    return cancel;
  }

  function step(name: LinkStepName, channel?: ChannelName, detail?: string): void {
    try {
      delivery.onStep({
        step: name,
        atMs: clock.now(),
        ...(channel === undefined ? {} : { channel }),
        ...(detail === undefined ? {} : { detail }),
      });
    } catch (error) {
      // The timeline is for people; it must not decide about money.
      logger.error({ err: error, commandId: id, step: name }, 'a step of a command could not be recorded');
    }
  }

  // --- copies of the command itself

  const isLive = (channel: Channel) => channel.isConnected && book.isLive(deviceId, channel.name);
  const nothingWentOut = () => [...copies.values()].every((state) => state === 'not-sent');

  /** The same in every copy. */
  const message = writeCommand({
    id,
    name: delivery.name,
    args: delivery.args,
    gatewayId,
    nowMs: fence.issuedAtMs,
    clockOffsetMs: fence.clockOffsetMs,
    startInMs: startWithinMs,
    answerInMs: fence.answerWithinMs,
  });

  /** False, and nothing goes out, when the time to begin is over. */
  function sendCopy(channel: Channel): boolean {
    if (isStartOver(clock, fence)) return false;
    copies.set(channel.name, 'under-way');
    channel.send(deviceId, message, startWithinMs - passedMs(clock, fence)).then(
      () => copySettled(channel.name, 'sent'),
      (error: unknown) => copySettled(channel.name, isCertainlyNotSent(error) ? 'not-sent' : 'unclear', error),
    );
    return true;
  }

  function copySettled(name: ChannelName, state: CopyState, error?: unknown): void {
    // An answer may overtake the broker's confirm, and is the better proof.
    if (copies.get(name) !== 'under-way') return;
    copies.set(name, state);
    if (state === 'sent') deps.onSent(name);
    if (isFinished) return;
    step(
      state === 'sent' ? 'sent' : state === 'unclear' ? 'send-unclear' : 'not-sent',
      name,
      error instanceof Error ? error.message : undefined,
    );
    if (state === 'sent' || wasAccepted) return;
    if (sendOnOther()) return;
    if (state === 'unclear') recall();
    else if (nothingWentOut()) finish({ kind: 'not-sent', reason: error instanceof Error ? error.message : 'Nothing went out.' });
  }

  /** True if a copy went to a channel that had none. */
  function sendOnOther(): boolean {
    const isCertain = nothingWentOut();
    // A second copy beside one that may arrive: only the journal that the first came under makes sure that one of them is executed.
    if (!isCertain && (!hasJournal || book.of(deviceId)?.journalId !== delivery.journalId)) return false;
    const other = channels.find((channel) => {
      if (copies.has(channel.name) || !channel.isConnected) return false;
      // As long as nothing went out, the plain answer "not sent" is worth more than a shot in the dark.
      return isCertain ? isLive(channel) || channel.tellsAbsence : true;
    });
    return other !== undefined && sendCopy(other);
  }

  // --- Recall

  /** It runs, says the device. */
  function takenOn(): void {
    if (!wasAccepted) delivery.onAccepted();
    wasAccepted = true;
    stopRecalling();
    if (isLookedAfter || !hasJournal) return;
    isLookedAfter = true;
    lookInLater();
  }

  /** The answer may get lost on its way, and then the caller would wait until answerBy for nothing. */
  function lookInLater(): void {
    later(lookInEveryMs, () => {
      sendRecall(false);
      lookInLater();
    });
  }

  /** Asks what became of the command, at once and again every 5 s, until the device says so or 30 s have passed. */
  function recall(): void {
    if (!hasJournal || isFinished) return;
    stopRecalling();
    const cancelPatience = later(recallPatienceMs, () => {
      stopRecalling();
      if (!wasAccepted) finish({ kind: 'silent', reason: 'The device never accepted the command and did not answer Recall.', wasAccepted });
    });
    let cancelNext: Cancel = () => {};
    stopRecalling = () => {
      cancelPatience();
      cancelNext();
    };
    const ask = (isRepeat: boolean) => {
      // Set before sending: an in-memory channel may answer, and so stop this, within the call.
      cancelNext = later(recallEveryMs, () => ask(true));
      sendRecall(isRepeat);
    };
    ask(false);
  }

  function sendRecall(isRepeat: boolean): void {
    const connected = channels.filter((channel) => channel.isConnected);
    const live = connected.filter(isLive);
    const targets = isRepeat || live.length === 0 ? connected : live;
    if (targets.length === 0) return;
    const recallId = random.uuid();
    recallIds.push(recallId);
    // A device that reboots without end must not fill the waiting room with questions: the newest will do.
    if (recallIds.length > recallsAtOnce) waiting.forget(recallIds.shift() ?? '');
    waiting.enter(recallId, deviceId, (channel, answer) => recallAnswered(recallId, channel, answer));
    const command = writeCommand({
      id: recallId,
      name: 'Recall',
      args: { target: id },
      gatewayId,
      nowMs: clock.now(),
      clockOffsetMs: book.clockOffsetMs(deviceId),
      answerInMs: recallPatienceMs,
    });
    deps.onRecall();
    for (const channel of targets) {
      step('recall', channel.name);
      channel.send(deviceId, command, recallEveryMs).catch((error: unknown) => {
        logger.debug({ err: error, commandId: id, channel: channel.name }, 'a Recall did not go out; it is repeated');
      });
    }
  }

  function recallAnswered(recallId: string, channel: ChannelName, answer: AnswerMessage): void {
    waiting.forget(recallId);
    const recalled = answer.outcome === 'done' ? readRecallReport(answer.report) : undefined;
    if (recalled === undefined) {
      logger.warn({ commandId: id, deviceId, outcome: answer.outcome }, 'a device answered Recall with nothing that could be used');
      return;
    }
    step('recalled', channel, recalled.outcome === undefined ? recalled.state : `${recalled.state} ${recalled.outcome}`);
    if (recalled.state === 'running') {
      takenOn();
      return;
    }
    const outcome: EndingOutcome = recalled.state === 'final' ? (recalled.outcome ?? 'unknown') : recalled.state;
    finish(ended('recall', outcome, recalled.report, recalled.reason ?? answer.reason, answer.journalId, channel));
  }

  // --- answers

  function answered(channel: ChannelName, answer: AnswerMessage): void {
    if (isFinished) return;
    copySettled(channel, 'sent');
    if (answer.outcome === 'accepted') {
      if (!wasAccepted) step('accepted', channel);
      takenOn();
      return;
    }
    step('answered', channel, answer.outcome);
    finish(ended('answer', answer.outcome, answer.report, answer.reason, answer.journalId, channel));
  }

  function ended(
    by: CarryEnded['by'],
    outcome: EndingOutcome,
    report: JsonObject | undefined,
    reason: string | undefined,
    journalId: string | undefined,
    channel: ChannelName,
  ): CarryEnded {
    return { kind: 'ended', by, outcome, report, reason, journalId, channel, wasAccepted };
  }

  // --- the course of time

  waiting.enter(id, deviceId, answered);
  later(fence.answerWithinMs - passedMs(clock, fence), () => finish({ kind: 'timeout', wasAccepted }));
  later(acceptWithinMs, () => {
    isAcceptOverdue = true;
    if (!wasAccepted) sendOnOther();
  });
  later(startWithinMs - passedMs(clock, fence), () => {
    if (wasAccepted) return;
    if (hasJournal) recall();
    else {
      later(recallPatienceMs, () => {
        if (!wasAccepted)
          finish({ kind: 'silent', reason: 'The device did not accept the command, and keeps no journal to ask.', wasAccepted });
      });
    }
  });
  function lost(channel: ChannelName): void {
    const copy = copies.get(channel);
    if (isFinished || copy === undefined || copy === 'not-sent') return;
    step('channel-lost', channel);
    if (!wasAccepted && hasJournal) sendOnOther();
  }

  const firstChannel = channels.find(isLive);
  if (firstChannel === undefined) finish({ kind: 'not-sent', reason: 'The device is not live on any channel.' });
  else if (!sendCopy(firstChannel)) finish({ kind: 'not-sent', reason: 'The gateway was held up until it was too late to send it.' });

  return {
    deviceId,
    result,
    lost(channel) {
      // A send under way has its own word to say first: given back by the broker, the command went nowhere, and no copy may go out blindly.
      if (copies.get(channel) === 'under-way') later(0, () => lost(channel));
      else lost(channel);
    },
    seenAgain(channel, isReboot) {
      if (isFinished) return;
      const copy = copies.get(channel);
      if ((copy === undefined || copy === 'not-sent') && !isReboot) {
        // A channel that opens only now may still bring the command in time.
        if (isAcceptOverdue && !wasAccepted) sendOnOther();
        return;
      }
      step('seen-again', channel, isReboot ? 'rebooted' : undefined);
      recall();
    },
    stop: () => finish({ kind: 'silent', reason: 'The gateway is stopping.', wasAccepted }),
  };
}

/** The preferred channel first. */
export function inOrder(channels: readonly Channel[], first: ChannelName): Channel[] {
  return [...channels].sort((a, b) => Number(b.name === first) - Number(a.name === first));
}
