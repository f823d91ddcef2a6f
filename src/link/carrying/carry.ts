// The delivery of one ledger command: the state machine behind Link.carry(). Its row is already committed, so only its outcome is open.
//
//   publish -> accepted -> ending answer                                      the normal course
//   no accepted in 3 s, or the channel lost: the same id on the other channel too (only a journal makes that safe)
//   no accepted by startBy, a reconnect on either side, an unclear send: Recall, repeated until the device answers
//   accepted, then no message: a Recall every 30 s, because the answer may be lost [D56]
//   no answer to Recall for 30 s and never accepted: silent.   answerBy: timeout.   Certainly nothing was sent: not-sent
//
// Invariants: exactly one result; the call is registered before the first byte is sent; without a journal at most one copy is sent, and no Recall.
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';
import { Timers } from '../../kernel/timers.ts';
import { type Channel, type ChannelName, inOrder } from '../channel.ts';
import type { PresenceBook } from '../presence.ts';
import type { WaitingRoom } from '../waiting.ts';
import type { AnswerMessage, RecallReport } from '../wire-schemas.ts';
import { Copies, type CopyEnd } from './copies.ts';
import { passedMs, startWithinMs } from './deadlines.ts';
import type { CarryEnded, CarryResult, Delivery, LinkStepName } from './delivery.ts';
import { Recalls, recallPatienceMs } from './recalls.ts';

const acceptWithinMs = 3_000;
const recallRunningEveryMs = 30_000;

const stepOfEnd = { sent: 'sent', unclear: 'send-unclear', 'not-sent': 'not-sent' } as const satisfies Record<CopyEnd, LinkStepName>;

export interface CarryDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  gatewayId: string;
  channels: readonly Channel[];
  book: PresenceBook;
  waiting: WaitingRoom;
}

export class Carry {
  readonly deviceId: string;
  readonly result: Promise<CarryResult>;
  readonly #deps: CarryDeps;
  readonly #delivery: Delivery;
  readonly #channels: readonly Channel[];
  readonly #timers: Timers;
  readonly #copies: Copies;
  readonly #hasJournal: boolean;
  readonly #resolve: (result: CarryResult) => void;
  #isFinished = false;
  #wasAccepted = false;
  #isAcceptOverdue = false;
  /** Created by the first Recall: most commands need none. */
  #recalls: Recalls | undefined;

  /** Sends the first copy at once. */
  constructor(deps: CarryDeps, delivery: Delivery) {
    const { promise, resolve } = Promise.withResolvers<CarryResult>();
    const channels = inOrder(deps.channels, delivery.preferredChannel);
    this.#channels = channels;
    this.deviceId = delivery.deviceId;
    this.result = promise;
    this.#resolve = resolve;
    this.#deps = deps;
    this.#delivery = delivery;
    this.#hasJournal = delivery.journalId !== undefined;
    this.#timers = new Timers(deps.clock);
    this.#copies = new Copies({ ...deps, channels, onEnded: (...end) => this.#copyEnded(...end) }, delivery);
    deps.waiting.enter(delivery.id, delivery.deviceId, (channel, answer) => this.#answered(channel, answer));
    this.#setTimers();
    const whyNot = this.#copies.sendFirst();
    if (whyNot !== undefined) this.#finish({ kind: 'not-sent', reason: whyNot });
  }

  /** The device's connection, or ours, ended on this channel. */
  lost(channel: ChannelName): void {
    // Wait for the result of a running send first: if the broker returns the command, it was certainly not sent and must not count as unclear.
    if (this.#copies.stateOn(channel) === 'under-way') this.#timers.after(0, () => this.#channelLost(channel));
    else this.#channelLost(channel);
  }

  /** The device or the gateway has reconnected on this channel, or the device has rebooted. */
  seenAgain(channel: ChannelName, isReboot: boolean): void {
    if (this.#isFinished) return;
    const copy = this.#copies.stateOn(channel);
    if ((copy === undefined || copy === 'not-sent') && !isReboot) {
      // A channel that opens only now may still deliver the command in time.
      if (this.#isAcceptOverdue && !this.#wasAccepted) this.#copies.sendOnOther();
      return;
    }
    this.#step('seen-again', channel, isReboot ? 'rebooted' : undefined);
    this.#startRecall();
  }

  stop(): void {
    this.#finish({ kind: 'silent', reason: 'The gateway is stopping.', wasAccepted: this.#wasAccepted });
  }

  #setTimers(): void {
    const { deadlines } = this.#delivery;
    const goneMs = passedMs(this.#deps.clock, deadlines);
    this.#timers.after(deadlines.answerWithinMs - goneMs, () => this.#finish({ kind: 'timeout', wasAccepted: this.#wasAccepted }));
    this.#timers.after(acceptWithinMs, () => {
      this.#isAcceptOverdue = true;
      if (!this.#wasAccepted) this.#copies.sendOnOther();
    });
    this.#timers.after(startWithinMs - goneMs, () => {
      if (this.#wasAccepted) return;
      if (this.#hasJournal) this.#startRecall();
      else {
        const why = 'The device did not accept the command, and has no journal for a Recall.';
        this.#timers.after(recallPatienceMs, () => this.#silent(why));
      }
    });
  }

  #copyEnded(channel: ChannelName, end: CopyEnd, error?: unknown): void {
    if (this.#isFinished) return;
    const why = error instanceof Error ? error.message : undefined;
    this.#step(stepOfEnd[end], channel, why);
    if (end === 'sent' || this.#wasAccepted) return;
    if (this.#copies.sendOnOther()) return;
    if (end === 'unclear') this.#startRecall();
    else if (this.#copies.nothingSent) this.#finish({ kind: 'not-sent', reason: why ?? 'Nothing was sent.' });
  }

  #channelLost(channel: ChannelName): void {
    const copy = this.#copies.stateOn(channel);
    if (this.#isFinished || copy === undefined || copy === 'not-sent') return;
    this.#step('channel-lost', channel);
    if (!this.#wasAccepted) this.#copies.sendOnOther();
  }

  #answered(channel: ChannelName, answer: AnswerMessage): void {
    this.#copies.hasArrived(channel);
    if (answer.outcome === 'accepted') {
      if (!this.#wasAccepted) this.#step('accepted', channel);
      this.#deviceAccepted();
      return;
    }
    const { outcome, report, reason, journalId } = answer;
    this.#step('answered', channel, outcome);
    this.#end({ by: 'answer', outcome, report, reason, journalId, channel });
  }

  /** The device reports that the command runs. */
  #deviceAccepted(): void {
    const isNews = !this.#wasAccepted;
    this.#wasAccepted = true;
    this.#recalls?.stopAsking();
    if (!isNews) return;
    this.#delivery.onAccepted();
    if (this.#hasJournal) this.#recallLater();
  }

  /** If the answer was lost, the caller would otherwise wait until answerBy. */
  #recallLater(): void {
    this.#timers.after(recallRunningEveryMs, () => {
      this.#asking().askOnce();
      this.#recallLater();
    });
  }

  #startRecall(): void {
    if (this.#hasJournal && !this.#isFinished) this.#asking().ask();
  }

  #asking(): Recalls {
    this.#recalls ??= new Recalls({
      ...this.#deps,
      channels: this.#channels,
      timers: this.#timers,
      commandId: this.#delivery.id,
      deviceId: this.#delivery.deviceId,
      onAsked: (asked) => this.#recallAsked(asked),
      onAnswered: (...answered) => this.#recallAnswered(...answered),
      onUnusable: (channel, { outcome }) => this.#step('recalled', channel, `unusable ${outcome}`),
      onSilent: () => this.#silent('The device never accepted the command and did not answer Recall.'),
    });
    return this.#recalls;
  }

  #recallAsked(channels: readonly ChannelName[]): void {
    for (const channel of channels) this.#step('recall', channel);
  }

  #recallAnswered(channel: ChannelName, { state, outcome, report, reason }: RecallReport, answer: AnswerMessage): void {
    this.#step('recalled', channel, outcome === undefined ? state : `${state} ${outcome}`);
    if (state === 'running') return this.#deviceAccepted();
    const ending = state === 'final' ? (outcome ?? 'unknown') : state;
    this.#end({ by: 'recall', outcome: ending, report, reason: reason ?? answer.reason, journalId: answer.journalId, channel });
  }

  #silent(reason: string): void {
    if (!this.#wasAccepted) this.#finish({ kind: 'silent', reason, wasAccepted: false });
  }

  #end(ending: Omit<CarryEnded, 'kind' | 'wasAccepted'>): void {
    this.#finish({ kind: 'ended', ...ending, wasAccepted: this.#wasAccepted });
  }

  #finish(result: CarryResult): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#timers.stop();
    this.#deps.waiting.leave(this.#delivery.id);
    this.#recalls?.forget();
    this.#resolve(result);
  }

  #step(step: LinkStepName, channel: ChannelName, detail?: string): void {
    const { clock, logger } = this.#deps;
    try {
      this.#delivery.onStep({ step, atMs: clock.now(), channel, ...(detail === undefined ? {} : { detail }) });
    } catch (error) {
      // The timeline is informational: a failure to record it must not change the outcome.
      logger.error({ err: error, commandId: this.#delivery.id, step }, 'a step of a command could not be recorded');
    }
  }
}
