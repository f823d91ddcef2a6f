// Recalls of one command: they ask the device for its outcome. Recall starts nothing, so it may be repeated freely.

import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';
import type { Timers } from '../../kernel/timers.ts';
import type { Channel, ChannelName } from '../channel.ts';
import { readRecallReport } from '../messages.ts';
import type { PresenceBook } from '../presence.ts';
import { newQuestionId } from '../question-ids.ts';
import type { WaitingRoom } from '../waiting.ts';
import type { AnswerMessage, RecallReport } from '../wire-schemas.ts';
import { writeCommand } from './command.ts';

/** A device that does not answer Recall for this long counts as silent. */
export const recallPatienceMs = 30_000;
const recallEveryMs = 5_000;
const maxRecalls = 10;

interface Deps {
  clock: Clock;
  random: Random;
  logger: Logger;
  timers: Timers;
  gatewayId: string;
  book: PresenceBook;
  channels: readonly Channel[];
  waiting: WaitingRoom;
  commandId: string;
  deviceId: string;
  /** A Recall was sent on these channels. */
  onAsked(channels: readonly ChannelName[]): void;
  onAnswered(channel: ChannelName, recalled: RecallReport, answer: AnswerMessage): void;
  /** The answer does not contain the command's outcome. */
  onUnusable(channel: ChannelName, answer: AnswerMessage): void;
  /** The device has not answered for `recallPatienceMs`. */
  onSilent(): void;
}

export class Recalls {
  readonly #deps: Deps;
  readonly #ids: string[] = [];
  #stopAsking: Cancel = () => {};

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Asks at once and then every 5 s, until `stopAsking` or for `recallPatienceMs`. */
  ask(): void {
    const { timers } = this.#deps;
    this.#stopAsking();
    let cancelNext: Cancel = () => {};
    const cancelPatience = timers.after(recallPatienceMs, () => {
      this.#stopAsking();
      this.#deps.onSilent();
    });
    this.#stopAsking = () => {
      cancelPatience();
      cancelNext();
    };
    const askAgain = (isRepeat: boolean) => {
      // Set before sending: an in-memory channel may answer, and so cancel this, within the call.
      cancelNext = timers.after(recallEveryMs, () => askAgain(true));
      this.#send(isRepeat);
    };
    askAgain(false);
  }

  askOnce(): void {
    this.#send(false);
  }

  stopAsking(): void {
    this.#stopAsking();
  }

  /** Later answers are dropped. */
  forget(): void {
    for (const id of this.#ids) this.#deps.waiting.forget(id);
  }

  /** On the channels where the device is live; on all channels if there is none, or if it did not answer the last Recall. */
  #send(isRepeat: boolean): void {
    const { clock, random, logger, gatewayId, book, channels, waiting, commandId, deviceId } = this.#deps;
    const connected = channels.filter((channel) => channel.isConnected);
    const live = connected.filter((channel) => book.isLive(deviceId, channel.name));
    const targets = isRepeat || live.length === 0 ? connected : live;
    if (targets.length === 0) return;
    const id = newQuestionId(random);
    this.#ids.push(id);
    // A device in a reboot loop must not fill the list of waiting calls: only the newest Recalls are kept.
    if (this.#ids.length > maxRecalls) waiting.forget(this.#ids.shift() ?? '');
    waiting.enter(id, deviceId, (channel, answer) => this.#answered(id, channel, answer));
    const question = writeCommand({
      id,
      name: 'Recall',
      args: { target: commandId },
      gatewayId,
      nowMs: clock.now(),
      clockOffsetMs: book.clockOffsetMs(deviceId),
      answerInMs: recallPatienceMs,
    });
    this.#deps.onAsked(targets.map(({ name }) => name));
    for (const channel of targets) {
      channel.send(deviceId, question, recallEveryMs).catch((error: unknown) => {
        logger.debug({ err: error, commandId, channel: channel.name }, 'a Recall could not be sent; it is repeated');
      });
    }
  }

  #answered(id: string, channel: ChannelName, answer: AnswerMessage): void {
    const { logger, waiting, commandId, deviceId } = this.#deps;
    waiting.forget(id);
    const recalled = answer.outcome === 'done' ? readRecallReport(answer.report) : undefined;
    if (recalled !== undefined) return this.#deps.onAnswered(channel, recalled, answer);
    logger.warn({ commandId, deviceId, outcome: answer.outcome }, 'a device sent an unusable answer to Recall');
    this.#deps.onUnusable(channel, answer);
  }
}
