// Settling what stayed open: late answers, Recall of this instance's and of dead instances' commands, and the review list.
//
// The device is asked as soon as it appears again, and otherwise after longer and longer pauses. Asking is harmless: Recall starts nothing.
// A device without a journal is asked for its LastTransaction, which settles only by an equal command id; all else is for a person.
import type { Database } from '../database/database.ts';
import { deadAfterMs } from '../database/instances.ts';
import { growingPauseMs } from '../kernel/backoff.ts';
import { type Cancel, type Clock, every } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Link } from '../link/link.ts';
import { readRecallReport } from '../link/messages.ts';
import type { EndingOutcome } from '../link/protocol.ts';
import type { AnswerMessage } from '../link/wire-schemas.ts';
import { type Command, isOpen } from './command.ts';
import type { CommandsInFlight } from './in-flight.ts';
import type { Finding } from './rules.ts';
import type { Settlements } from './settlement.ts';
import * as store from './store.ts';
import type { Timeline } from './timeline.ts';

const sweepEveryMs = 2_000;
/** The call that carries a command ends with its time; this is more than its commit can take. */
const abandonedAfterMs = 5_000;
const reviewAfterMs = 15 * 60_000;
const recallTimeoutMs = 10_000;
const recallPauses = { firstMs: 2_000, maxMs: 5 * 60_000 };
const maxPerSweep = 50;
/** A device has one open command at a time; one that says more than this at once is broken, and must not keep the database from the others. */
const maxLateAnswers = 20;

export interface Recovery {
  start(): void;
  stop(): void;
  /** Asks the device about an open command now; returns how it stands afterwards. */
  recall(command: Command): Promise<Command>;
  /** The same, also about one that is settled: its device's journal is read and compared. */
  recheck(command: Command): Promise<Command>;
}

interface Deps {
  database: Database;
  link: Link;
  clock: Clock;
  logger: Logger;
  instanceId: string;
  settlements: Settlements;
  timeline: Timeline;
  /** Commands that a call on this instance is carrying right now: those are not asked about from here. */
  inFlight: Pick<CommandsInFlight, 'has' | 'count'>;
}

export function createRecovery(deps: Deps): Recovery {
  const { database, link, clock, logger, instanceId, settlements, timeline, inFlight } = deps;
  const asking = new Map<string, Promise<Command>>();
  const lateWords = new Map<string, number>();
  const cancels: Cancel[] = [];
  let stopped = false;

  /** `isHeardNow`: the device has just appeared, so a question that is under way went out when nobody was there to hear it. */
  function recall(command: Command, isHeardNow = false): Promise<Command> {
    const running = asking.get(command.id);
    if (running && !isHeardNow) return running;
    const question: Promise<Command> = ask(command).finally(() => {
      if (asking.get(command.id) === question) asking.delete(command.id);
    });
    asking.set(command.id, question);
    return question;
  }

  async function ask(command: Command): Promise<Command> {
    if (!(await store.takeOver(database.queries, command, instanceId, pauseAfter(command.recalls)))) {
      return (await store.findCommand(database.queries, command.id)) ?? command;
    }
    timeline.add({ commandId: command.id, atMs: clock.now(), step: command.journalId === null ? 'asked last transaction' : 'recall' });
    const preferredChannel = link.presence.of(command.deviceId)?.liveOn[0] ?? 'mqtt';
    if (command.journalId !== null) {
      const answer = await link.ask(command.deviceId, {
        name: 'Recall',
        args: { target: command.id },
        timeoutMs: recallTimeoutMs,
        preferredChannel,
      });
      const finding = answer && findingOfRecall(answer);
      if (finding === 'running') settlements.accepted(command.id);
      else if (finding) return settlements.apply(command, finding, 'recall');
    } else {
      const answer = await link.ask(command.deviceId, { name: 'LastTransaction', args: {}, timeoutMs: recallTimeoutMs, preferredChannel });
      const finding = answer && findingOfLastTransaction(command, answer);
      if (finding) return settlements.apply(command, finding, 'last-transaction');
      if (answer && isRunning(command, answer)) settlements.accepted(command.id);
      else if (answer && command.reviewSinceMs === null) {
        const why = 'The device keeps no journal, and its last transaction is another one.';
        if (await store.putOnReview(database.queries, command.id, why, { unless: 'settled' }))
          timeline.add({ commandId: command.id, atMs: clock.now(), step: 'review', detail: why });
      }
    }
    return (await store.findCommand(database.queries, command.id)) ?? command;
  }

  async function recheck(command: Command): Promise<Command> {
    if (isOpen(command)) return recall(command);
    if (command.journalId === null) return command;
    const preferredChannel = link.presence.of(command.deviceId)?.liveOn[0] ?? 'mqtt';
    timeline.add({ commandId: command.id, atMs: clock.now(), step: 'recall', channel: preferredChannel });
    const answer = await link.ask(command.deviceId, {
      name: 'Recall',
      args: { target: command.id },
      timeoutMs: recallTimeoutMs,
      preferredChannel,
    });
    const finding = answer && findingOfRecall(answer);
    if (!finding) return command;
    const word = finding === 'running' ? finding : `final ${finding.outcome}`;
    timeline.add({ commandId: command.id, atMs: clock.now(), step: 'recalled', channel: preferredChannel, detail: word });
    return finding === 'running' ? command : settlements.apply(command, finding, 'recall');
  }

  function askAll(commands: Command[], isHeardNow = false): void {
    for (const command of commands) {
      if (inFlight.has(command.id) || stopped) continue;
      recall(command, isHeardNow).catch((error: unknown) =>
        logger.warn({ err: error, commandId: command.id }, 'Recall failed and will be tried again'),
      );
    }
  }

  async function sweep(): Promise<void> {
    try {
      // What is in flight here also looks due; asking for that many more keeps it from standing before what was left behind.
      const due = await store.dueForRecall(database.queries, instanceId, deadAfterMs, maxPerSweep + inFlight.count);
      askAll(await store.findCommands(database.queries, due.filter((id) => !inFlight.has(id)).slice(0, maxPerSweep)));
      // Nobody carries them any more, and their time is over: who follows them, and their completion notices, must hear so.
      const abandoned = await store.abandoned(database.queries, instanceId, deadAfterMs, abandonedAfterMs, maxPerSweep);
      for (const command of abandoned) if (!inFlight.has(command.id)) await settlements.becomeUnknown(command, 0);
      for (const commandId of await store.putOverdueOnReview(database.queries, reviewAfterMs)) {
        logger.warn({ commandId }, 'the outcome of a command is still unknown; it is on the review list now');
        timeline.add({ commandId, atMs: clock.now(), step: 'review' });
      }
    } catch (error) {
      logger.warn({ err: error }, 'looking for open commands failed and will be tried again');
    }
  }

  async function hearLate(deviceId: string, answer: AnswerMessage): Promise<void> {
    const underWay = lateWords.get(deviceId) ?? 0;
    if (underWay >= maxLateAnswers) return;
    lateWords.set(deviceId, underWay + 1);
    try {
      await settleLate(deviceId, answer);
    } finally {
      const left = (lateWords.get(deviceId) ?? 1) - 1;
      if (left === 0) lateWords.delete(deviceId);
      else lateWords.set(deviceId, left);
    }
  }

  async function settleLate(deviceId: string, answer: AnswerMessage): Promise<void> {
    const command = await store.findCommand(database.queries, answer.id);
    if (command?.deviceId !== deviceId) return;
    if (answer.outcome === 'accepted') {
      if (command.acceptedAtMs === null) settlements.accepted(command.id);
      return;
    }
    // A doubled answer of a command whose first copy is being committed right now settles nothing twice: the update is guarded.
    await settlements.apply(command, findingOfAnswer(answer), 'late-answer');
  }

  return {
    start() {
      cancels.push(
        every(clock, sweepEveryMs, sweep),
        link.onLateAnswer((deviceId, answer) => {
          hearLate(deviceId, answer).catch((error: unknown) =>
            logger.warn({ err: error, commandId: answer.id }, 'a late answer could not be recorded; Recall will ask again'),
          );
        }),
        link.onSeen((deviceId) => {
          store
            .openCommandsOf(database.queries, deviceId)
            .then((commands) =>
              askAll(
                commands.filter((command) => command.instanceId === instanceId),
                true,
              ),
            )
            .catch((error: unknown) => logger.warn({ err: error, deviceId }, 'looking for open commands of a device failed'));
        }),
      );
      void sweep();
    },
    stop() {
      stopped = true;
      for (const cancel of cancels) cancel();
    },
    recall: (command) => recall(command),
    recheck,
  };
}

/** 2 s, 4 s, 8 s ... 5 min. */
function pauseAfter(recalls: number): number {
  return growingPauseMs(recalls + 1, recallPauses);
}

function findingOfAnswer(answer: AnswerMessage): Finding {
  return {
    outcome: answer.outcome as EndingOutcome,
    report: answer.report,
    reason: answer.reason,
    journalId: answer.journalId,
    wasAccepted: false,
  };
}

/** undefined when the answer makes no sense. */
function findingOfRecall(answer: AnswerMessage): Finding | 'running' | undefined {
  const recalled = answer.outcome === 'done' ? readRecallReport(answer.report) : undefined;
  if (recalled === undefined) return undefined;
  if (recalled.state === 'running') return 'running';
  const { state, outcome = 'unknown', report } = recalled;
  return {
    outcome: state === 'final' ? outcome : state,
    report: state === 'final' ? report : undefined,
    reason: recalled.reason ?? answer.reason,
    journalId: answer.journalId,
    wasAccepted: false,
  };
}

function findingOfLastTransaction(command: Command, answer: AnswerMessage): Finding | undefined {
  if (answer.outcome !== 'done' || answer.report?.['commandId'] !== command.id) return undefined;
  const { state } = answer.report;
  const outcome = state === 'approved' ? 'done' : state === 'refused' ? 'refused' : undefined;
  return outcome && { outcome, report: answer.report, reason: undefined, journalId: answer.journalId, wasAccepted: false };
}

function isRunning(command: Command, answer: AnswerMessage): boolean {
  return answer.report?.['commandId'] === command.id && answer.report['state'] === 'running' && isOpen(command);
}
