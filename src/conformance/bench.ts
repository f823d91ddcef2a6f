// The gateway's end of the wire, for one device: sends what a check asks for, also what no gateway would, and keeps everything that
// comes back in the order in which it came. It judges nothing. Bounded: of a device that never stops talking the rest is not kept.
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
  /** Topics of messages that were to be retained; only our own broker sees it. */
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

  /** Where the device has said that it is, MQTT first. */
  get live(): ChannelName[] {
    return (['mqtt', 'queue'] as const).filter((name) => this.#live.has(name));
  }

  /** The time on the device's own clock. */
  deviceNowMs(): number {
    return this.#deps.clock.now() + (this.#offset.read() ?? 0);
  }

  async send(channel: ChannelName, message: unknown): Promise<void> {
    const sender = this.#deps.channels.find(({ name }) => name === channel);
    // The wire carries whatever it is given; that it is no command may be the point of it.
    await sender?.send(this.deviceId, message as CommandMessage, 10_000);
  }

  answersTo(id: string): ReceivedAnswer[] {
    return this.answers.filter(({ answer }) => answer.id === id);
  }

  /** Resolves with what `find` finds, now or as soon as something came; undefined: not within that time. */
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
    // Where it was before its restart it has yet to come back: a queue does not tell that who read it is gone.
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
