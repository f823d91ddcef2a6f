// One plain command under one id, from its first copy to its answer. It ends once: by the answer, its time-out, or `end`.
// If a copy cannot be sent or is not answered soon, another is sent on the next channel; the first answer counts.

import type { Cancel } from '../../kernel/clock.ts';
import type { Channel } from '../channel.ts';
import type { JsonObject, PlainCommandName } from '../protocol.ts';
import { newQuestionId } from '../question-ids.ts';
import type { AnswerMessage } from '../wire-schemas.ts';
import type { CarryDeps } from './carry.ts';
import { writeCommand } from './command.ts';
import { startWithinMs } from './deadlines.ts';

export interface PlainCommand {
  name: PlainCommandName;
  args: JsonObject;
  timeoutMs: number;
}

/** After this long without an answer, the next channel is tried as well. */
const tryNextAfterMs = 1_500;

export class SentPlainCommand {
  /** Undefined: it was not answered. */
  readonly answer: Promise<AnswerMessage | undefined>;
  readonly #deps: CarryDeps;
  readonly #id: string;
  readonly #deviceId: string;
  readonly #command: PlainCommand;
  readonly #bytes: ReturnType<typeof writeCommand>;
  readonly #untried: Channel[];
  readonly #resolve: (answer: AnswerMessage | undefined) => void;
  readonly #cancels: Cancel[];
  #isEnded = false;

  /** Sends nothing yet. `untried`: further channels, used if the first fails or does not answer. */
  constructor(deps: CarryDeps, deviceId: string, command: PlainCommand, untried: readonly Channel[]) {
    const { promise, resolve } = Promise.withResolvers<AnswerMessage | undefined>();
    const { name, args, timeoutMs } = command;
    this.answer = promise;
    this.#resolve = resolve;
    this.#deps = deps;
    this.#id = newQuestionId(deps.random);
    this.#deviceId = deviceId;
    this.#command = command;
    this.#untried = [...untried];
    this.#bytes = writeCommand({
      id: this.#id,
      name,
      args,
      gatewayId: deps.gatewayId,
      nowMs: deps.clock.now(),
      clockOffsetMs: deps.book.clockOffsetMs(deviceId),
      ...(name === 'LastTransaction' ? { startInMs: Math.min(startWithinMs, timeoutMs) } : {}),
      answerInMs: timeoutMs,
    });
    this.#cancels = [
      deps.clock.after(timeoutMs, () => this.end()),
      deps.clock.after(Math.min(tryNextAfterMs, timeoutMs), () => this.#tryNext()),
    ];
    deps.waiting.enter(this.#id, deviceId, (_channel, answer) => this.#answered(answer));
  }

  sendOn(channels: readonly Channel[]): void {
    const { logger } = this.#deps;
    const deviceId = this.#deviceId;
    for (const channel of channels) {
      channel.send(deviceId, this.#bytes, this.#command.timeoutMs).catch((error: unknown) => {
        logger.debug({ err: error, deviceId, channel: channel.name }, 'a plain command could not be sent');
        this.#tryNext();
      });
    }
  }

  /** Ends it as unanswered. */
  end(): void {
    this.#finish(undefined);
  }

  #tryNext(): void {
    const next = this.#untried.shift();
    if (!this.#isEnded && next?.isConnected) this.sendOn([next]);
  }

  #answered(answer: AnswerMessage): void {
    if (answer.outcome === 'accepted') return;
    const isReport = this.#command.name === 'Status' && answer.outcome === 'done';
    if (isReport && answer.report !== undefined) this.#deps.book.noteReport(this.#deviceId, answer.report);
    this.#finish(answer);
  }

  #finish(answer: AnswerMessage | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    for (const cancel of this.#cancels) cancel();
    this.#deps.waiting.forget(this.#id);
    this.#resolve(answer);
  }
}
