// Answers of the device in the protocol's form, and the queue of endings that wait for a channel (promise 7).
import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject, Outcome } from '../../link/protocol.ts';
import type { AnswerMessage, RecallReport } from '../../link/wire-schemas.ts';
import type { DeviceChannel } from './connector.ts';
import type { Ending } from './device-work.ts';
import type { Journal, JournalEntry } from './journal.ts';

/** Endings that wait for a channel; the gateway gets older ones by Recall. */
const maxUnsent = 1_000;

/** Sends on `first` if that is live, otherwise on any live channel; false if none is. */
export type SendAnswer = (answer: AnswerMessage, replyTo: string, first: DeviceChannel | undefined) => boolean;

export interface AnswerExtras {
  report?: JsonObject | undefined;
  reason?: string | undefined;
}

export type Answers = ReturnType<typeof createAnswers>;

interface Deps {
  deviceId: string;
  clock: Clock;
  journal: Journal;
  send: SendAnswer;
}

export function createAnswers({ deviceId, clock, journal, send }: Deps) {
  let unsent: { answer: AnswerMessage; replyTo: string }[] = [];
  const clockNow = () => new Date(clock.now()).toISOString();

  const answer = (id: string, outcome: Outcome, { report, reason }: AnswerExtras = {}): AnswerMessage => ({
    v: 1,
    id,
    device: deviceId,
    clock: clockNow(),
    ...(journal.journalId === undefined ? {} : { journalId: journal.journalId }),
    outcome,
    ...(report === undefined ? {} : { report }),
    ...(reason === undefined ? {} : { reason }),
  });

  return {
    /** To the gateway that sent the command; a local command has no receiver. */
    reply(command: { id: string; replyTo: string }, channel: DeviceChannel | undefined, outcome: Outcome, extras?: AnswerExtras): void {
      if (command.replyTo !== '') send(answer(command.id, outcome, extras), command.replyTo, channel);
    },
    /** To the sender and to every gateway that sent a Recall, on any live channel, now or when one connects. */
    sendEnding(entry: JournalEntry, channel: DeviceChannel | undefined): void {
      const { outcome, ...extras } = endingOf(entry);
      for (const replyTo of entry.replyTos) {
        const message = answer(entry.id, outcome, extras);
        if (!send(message, replyTo, channel)) unsent.push({ answer: message, replyTo });
      }
      unsent = unsent.slice(-maxUnsent);
    },
    /** A channel has connected: sends the waiting endings. */
    channelUp(): void {
      const waiting = unsent;
      unsent = [];
      for (const item of waiting) {
        // With the current time: the gateway derives the device's clock offset from messages.
        if (!send({ ...item.answer, clock: clockNow() }, item.replyTo, undefined)) unsent.push(item);
      }
    },
  };
}

export function endingOf(entry: JournalEntry): Ending {
  return {
    outcome: entry.outcome ?? 'unknown',
    ...(entry.report === undefined ? {} : { report: entry.report }),
    ...(entry.reason === undefined ? {} : { reason: entry.reason }),
  };
}

export function recallReport(entry: JournalEntry): RecallReport {
  if (entry.state !== 'ended') return { state: 'running' };
  if (entry.outcome === 'never') return { state: 'never' };
  if (entry.outcome === 'unknown') return { state: 'unknown', ...(entry.reason === undefined ? {} : { reason: entry.reason }) };
  return { state: 'final', ...endingOf(entry) };
}

export function lastState(entry: JournalEntry): 'running' | 'approved' | 'refused' | 'unknown' {
  if (entry.state !== 'ended') return 'running';
  if (entry.outcome === 'done') return 'approved';
  return entry.outcome === 'unknown' ? 'unknown' : 'refused';
}
