// The environment of a check: the bench, a person in front of the device, the amount to charge, and the record of observations.
// Every sent command is recorded here, so that none keeps running into the next check and all money can be refunded.

import type { Clock } from '../kernel/clock.ts';
import { sleep } from '../kernel/clock.ts';
import { type Bani, baniToLei } from '../kernel/money.ts';
import type { Random } from '../kernel/random.ts';
import type { World } from '../kernel/world.ts';
import type { ChannelName } from '../link/channel.ts';
import { readRecallReport } from '../link/messages.ts';
import { type DeviceKind, type JsonObject, protocolVersion } from '../link/protocol.ts';
import type { AnswerMessage, RecallReport } from '../link/wire-schemas.ts';
import type { Bench } from './bench.ts';
import { Broken, must, untested } from './verdict.ts';

/** A person or a script in front of the device. */
export interface Person {
  /** Shows the sentence; does not wait. */
  tell(sentence: string): void;
  /** Cuts and restores the power; absent: not possible. The device's next presence shows the restart. */
  reboot?(): Promise<void>;
  /** Keeps the device off every channel for this long; absent with external brokers. */
  lockOut?(durationMs: number): Promise<void>;
}

export interface Pace {
  /** Time allowed for "at once". */
  atOnceMs: number;
  /** After this long without an answer, there is none. */
  silenceMs: number;
  /** Time for card and PIN. */
  customerMs: number;
  /** Time until answerBy in checks that let it pass. */
  shortAnswerMs: number;
  /** Time for the device to reconnect after its connection was cut. */
  backMs: number;
  /** Time for a person and the device to restart it. */
  rebootMs: number;
  /** Allowed time between two presences: 30 s plus a tolerance. */
  presenceMs: number;
}

export const realPace: Pace = {
  atOnceMs: 3_000,
  silenceMs: 2_000,
  customerMs: 120_000,
  shortAnswerMs: 2_000,
  backMs: 30_000,
  rebootMs: 180_000,
  presenceMs: 35_000,
};

export interface SendOptions {
  id?: string;
  channel?: ChannelName;
  replyTo?: string;
  /** From now, by the device's clock. */
  startInMs?: number;
  answerInMs?: number;
  /** Additional fields; undefined removes a field. */
  extra?: JsonObject;
}

/** A ledger command as it was sent. */
export interface Order {
  id: string;
  name: string;
  args: JsonObject;
}

export interface ExamDeps extends Pick<World, 'clock' | 'random'> {
  bench: Bench;
  kind: DeviceKind;
  gatewayId: string;
  person: Person;
  pace: Pace;
  amountBani: Bani;
}

export class Exam {
  readonly bench: Bench;
  readonly kind: DeviceKind;
  readonly person: Person;
  readonly pace: Pace;
  readonly gatewayId: string;
  readonly amount: number;
  /** Every valid ledger command that was sent and may run. */
  readonly orders: Order[] = [];
  /** Orders whose ending did not arrive in time: later checks do not wait for them again. */
  readonly givenUp = new Set<string>();
  /** Ids of all sent messages. */
  readonly sentIds = new Set<string>();
  /** Observations of the current check. */
  seen: string[] = [];
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(deps: ExamDeps) {
    this.bench = deps.bench;
    this.kind = deps.kind;
    this.person = deps.person;
    this.pace = deps.pace;
    this.gatewayId = deps.gatewayId;
    this.amount = baniToLei(deps.amountBani);
    this.#clock = deps.clock;
    this.#random = deps.random;
  }

  see(sentence: string): void {
    this.seen.push(sentence);
  }

  newId(): string {
    return this.#random.uuid();
  }

  pause(ms: number): Promise<void> {
    return sleep(this.#clock, ms);
  }

  elapsedMs(): number {
    return this.#clock.elapsed();
  }

  /** The default channel. */
  first(): ChannelName {
    const [first] = this.bench.live;
    must(first !== undefined, 'The device is on no channel any more.');
    return first;
  }

  /** The second channel. */
  other(): ChannelName {
    return this.bench.live[1] ?? untested('The device uses one channel.');
  }

  /** Sends a message in the form of a command; `extra` may break that form. Returns its id. */
  async send(name: string, args: JsonObject, options: SendOptions = {}): Promise<string> {
    const { id = this.newId(), channel = this.first(), startInMs = 10_000, answerInMs = 60_000, replyTo = this.gatewayId } = options;
    const time = (fromNowMs: number) => new Date(this.bench.deviceNowMs() + fromNowMs).toISOString();
    const issuedAt = new Date(this.#clock.now()).toISOString();
    const times = isPlain(name) ? {} : { startBy: time(startInMs), answerBy: time(answerInMs) };
    const command = { v: protocolVersion, id, name, replyTo, issuedAt, ...times, args, ...options.extra };
    this.sentIds.add(id);
    try {
      await this.bench.send(channel, command);
    } catch (error) {
      throw new Broken(`${name} could not be sent: ${(error as Error).message}`);
    }
    return id;
  }

  /** A command that is answered once, at once. */
  async ask(name: string, args: JsonObject = {}, options: SendOptions = {}): Promise<AnswerMessage> {
    const id = await this.send(name, args, options);
    const received = await this.bench.until(() => this.bench.answersTo(id)[0], this.pace.atOnceMs);
    must(received !== undefined, `${name} got no answer within ${this.pace.atOnceMs / 1000} s.`);
    must(received.answer.outcome !== 'accepted', `${name} was answered accepted, which only ledger commands are.`);
    this.see(`${name}: ${describe(received.answer)}`);
    return received.answer;
  }

  async recall(target: string, options: SendOptions = {}): Promise<RecallReport> {
    const answer = await this.ask('Recall', { target }, options);
    must(answer.outcome === 'done', `Recall was answered ${describe(answer)} instead of done.`);
    const report = readRecallReport(answer.report);
    must(report !== undefined, 'The report of Recall has no state, or none of final (with an outcome), running, never and unknown.');
    return report;
  }

  /** Sends a ledger command. With the `id` of an earlier one it is a repeat. */
  async order(name: string, args: JsonObject, options: SendOptions = {}): Promise<Order> {
    const id = await this.send(name, args, options);
    const order = { id, name, args };
    if (!this.orders.some((earlier) => earlier.id === id)) this.orders.push(order);
    return order;
  }

  /** The next new answer to this id. */
  async nextAnswer(id: string, alreadyReceived: number, withinMs = this.pace.atOnceMs): Promise<AnswerMessage | undefined> {
    return (await this.bench.until(() => this.bench.answersTo(id)[alreadyReceived], withinMs))?.answer;
  }

  /** Sends the same id again and returns the first answer to it. */
  async repeat(order: Order, options: SendOptions = {}): Promise<AnswerMessage> {
    const before = this.bench.answersTo(order.id).length;
    await this.order(order.name, order.args, { ...options, id: order.id });
    const answer = await this.nextAnswer(order.id, before);
    must(answer !== undefined, `A repeated ${order.name} got no answer.`);
    this.see(`the same id again: ${describe(answer)}`);
    return answer;
  }

  /** The ending after `accepted`, or instead of it. */
  async ending(order: Order, withinMs = this.pace.customerMs): Promise<AnswerMessage> {
    const received = await this.bench.until(() => this.endingOf(order.id), withinMs);
    must(received !== undefined, `${order.name} had no ending within ${withinMs / 1000} s.`);
    this.see(`${order.name} ended ${describe(received)}`);
    return received;
  }

  endingOf(id: string): AnswerMessage | undefined {
    return this.bench.answersTo(id).find(({ answer }) => answer.outcome !== 'accepted')?.answer;
  }

  wasAccepted(id: string): boolean {
    return this.bench.answersTo(id).some(({ answer }) => answer.outcome === 'accepted');
  }

  /** Fails if an answer to one of these ids arrives within `silenceMs`. */
  async silence(...ids: string[]): Promise<void> {
    await this.pause(this.pace.silenceMs);
    for (const id of ids) {
      const [received] = this.bench.answersTo(id);
      must(received === undefined, `It was answered: ${describe(received?.answer)}.`);
    }
    this.see('no answer');
  }
}

function isPlain(name: string): boolean {
  return name === 'Recall' || name === 'Abort' || name === 'Status';
}

/** An answer in a few words, for reports. */
export function describe(answer: AnswerMessage | undefined): string {
  if (answer === undefined) return 'not at all';
  const { outcome, report, reason } = answer;
  const parts = [outcome, report && JSON.stringify(report).slice(0, 300), reason && `"${reason.slice(0, 200)}"`];
  return parts.filter(Boolean).join(' ');
}
