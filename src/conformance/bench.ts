// The gateway's side of the protocol, for one device: sends messages of a check, also invalid ones, and records everything received, in order.
// It makes no verdicts. Bounded: messages above the bound are not kept.
import type { Clock } from '../kernel/clock.ts';
import { clockReadingMs } from '../kernel/clock-reading.ts';
import type { Channel, ChannelListener, ChannelName, OfferedMessage } from '../link/channel.ts';
import type { BrokerLogin } from '../link/channels/mqtt/embedded-broker.ts';
import { createClockOffset } from '../link/clock-offset.ts';
import type { DropDetail, DropReason } from '../link/messages.ts';
import type { AnswerMessage, CommandMessage, PresenceMessage } from '../link/wire-schemas.ts';

type At = { channel: ChannelName; atMs: number };
export type ReceivedAnswer = At & { answer: AnswerMessage };
export type ReceivedPresence = At & { presence: PresenceMessage };
export type ReceivedDrop = At & DropDetail & { reason: DropReason };

export interface BenchDeps {
  clock: Clock;
  deviceId: string;
  channels: readonly Channel[];
}

const maxKept = 20_000;

export class Bench implements ChannelListener {
  readonly deviceId: string;
  readonly answers: ReceivedAnswer[] = [];
  readonly presences: ReceivedPresence[] = [];
  readonly drops: ReceivedDrop[] = [];
  readonly logins: BrokerLogin[] = [];
  /** Topics of messages with the retain flag, which only our own broker sees. */
  readonly retained: string[] = [];
  readonly #deps: BenchDeps;
  readonly #offset = createClockOffset();
  readonly #live = new Set<ChannelName>();
  readonly #watchers = new Set<() => void>();
  #bootId: string | undefined;

  constructor(deps: BenchDeps) {
    this.#deps = deps;
    this.deviceId = deps.deviceId;
  }

  async start(): Promise<void> {
    await Promise.all(this.#deps.channels.map((channel) => channel.start(this)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#deps.channels.map((channel) => channel.stop()));
  }

  /** The channels with an online presence of the device, MQTT first. */
  get live(): ChannelName[] {
    return (['mqtt', 'queue'] as const).filter((name) => this.#live.has(name));
  }

  /** The time by the device's clock. */
  deviceNowMs(): number {
    return this.#deps.clock.now() + (this.#offset.read() ?? 0);
  }

  async send(channel: ChannelName, message: unknown): Promise<void> {
    const sender = this.#deps.channels.find(({ name }) => name === channel);
    // Sent unchecked: a check may send an invalid command on purpose.
    await sender?.send(this.deviceId, message as CommandMessage, 10_000);
  }

  answersTo(id: string): ReceivedAnswer[] {
    return this.answers.filter(({ answer }) => answer.id === id);
  }

  /** Resolves with the first result of `find`, called now and at every message; undefined: none within that time. */
  until<Found>(find: () => Found | undefined, withinMs: number): Promise<Found | undefined> {
    const found = find();
    if (found !== undefined) return Promise.resolve(found);
    return new Promise((resolve) => {
      const end = (value: Found | undefined) => {
        cancel();
        this.#watchers.delete(look);
        resolve(value);
      };
      const look = () => {
        const value = find();
        if (value !== undefined) end(value);
      };
      const cancel = this.#deps.clock.after(withinMs, () => end(undefined));
      this.#watchers.add(look);
    });
  }

  publishedRetained(topic: string): void {
    this.#keep(this.retained, topic);
  }

  loggedIn(login: BrokerLogin): void {
    this.#keep(this.logins, login);
  }

  offer(_channel: ChannelName, _deviceId: string, message: OfferedMessage): void {
    message.read();
  }

  answer(channel: ChannelName, deviceId: string, answer: AnswerMessage): void {
    if (deviceId !== this.deviceId) return;
    this.#measure(answer.clock);
    this.#keep(this.answers, { channel, answer, atMs: this.#deps.clock.elapsed() });
  }

  presence(channel: ChannelName, deviceId: string, presence: PresenceMessage): void {
    if (deviceId !== this.deviceId) return;
    const isRestarted = presence.bootId !== this.#bootId;
    // After a restart the device must reconnect on every channel: a queue does not report the end of its reader.
    if (presence.online && isRestarted) this.#live.clear();
    if (presence.online) this.#live.add(channel);
    else this.#live.delete(channel);
    if (isRestarted) this.#offset.reset();
    if (presence.online) this.#bootId = presence.bootId;
    this.#measure(presence.clock);
    this.#keep(this.presences, { channel, presence, atMs: this.#deps.clock.elapsed() });
  }

  gone(channel: ChannelName, deviceId: string): void {
    if (deviceId !== this.deviceId) return;
    this.#live.delete(channel);
    this.#tell();
  }

  up(): void {}

  down(channel: ChannelName): void {
    this.#live.delete(channel);
  }

  dropped(channel: ChannelName, reason: DropReason, deviceId?: string, { field, why }: DropDetail = {}): void {
    if (deviceId !== this.deviceId) return;
    const detail = { ...(field !== undefined && { field }), ...(why !== undefined && { why }) };
    this.#keep(this.drops, { channel, reason, ...detail, atMs: this.#deps.clock.elapsed() });
  }

  #measure(reading: string | undefined): void {
    const readMs = clockReadingMs(reading);
    if (readMs !== undefined) this.#offset.add(readMs - this.#deps.clock.now());
  }

  #keep<Kept>(list: Kept[], item: Kept): void {
    if (list.length < maxKept) list.push(item);
    this.#tell();
  }

  #tell(): void {
    for (const look of [...this.#watchers]) look();
  }
}
