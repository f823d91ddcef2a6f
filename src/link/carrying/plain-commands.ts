// Plain commands, which change nothing: querying a device, and finding its channel.
// Invariants: one search per device at a time; every search and command ends at its time-out or when the link stops.
// If too many calls wait, the error is Too_Many_Requests and not Device_Busy: the device is not the cause, and a retry soon is right.
import { GatewayError } from '../../kernel/error-codes.ts';
import { type Channel, type ChannelName, inOrder } from '../channel.ts';
import type { AnswerMessage } from '../wire-schemas.ts';
import type { CarryDeps } from './carry.ts';
import { type PlainCommand, SentPlainCommand } from './sent-plain-command.ts';

const searchForMs = 2_000;

export interface AskedCommand extends PlainCommand {
  /** The channel that is tried first. */
  preferredChannel: ChannelName;
}

interface Search {
  end(found: ChannelName | undefined): void;
  result: Promise<ChannelName | undefined>;
}

export class PlainCommands {
  readonly #deps: CarryDeps;
  readonly #searches = new Map<string, Search>();
  readonly #sent = new Set<SentPlainCommand>();
  #isStopped = false;

  constructor(deps: CarryDeps) {
    this.#deps = deps;
  }

  /** The channel on which the device is live; searches for it if unknown. */
  async locate(deviceId: string, preferred: ChannelName): Promise<ChannelName | undefined> {
    const live = this.#liveIn(deviceId, preferred)[0];
    if (live !== undefined) return live.name;
    if (this.#isStopped) return undefined;
    const running = this.#searches.get(deviceId);
    if (running !== undefined) return running.result;
    this.#refuseWhenFull();
    return this.#search(deviceId, preferred);
  }

  /** Undefined: no answer in time. */
  async ask(deviceId: string, command: AskedCommand): Promise<AnswerMessage | undefined> {
    if (this.#isStopped) return undefined;
    this.#refuseWhenFull();
    const live = this.#liveIn(deviceId, command.preferredChannel);
    const connected = this.#connected(command.preferredChannel);
    const [best, ...others] = live;
    if (best === undefined) return this.#send(deviceId, command, connected, []).answer;
    return this.#send(deviceId, command, [best], [...others, ...connected.filter((channel) => !live.includes(channel))]).answer;
  }

  /** A message of the device arrived on this channel, which ends a search for it. */
  received(deviceId: string, channel: ChannelName): void {
    this.#searches.get(deviceId)?.end(channel);
  }

  /** Ends every search and command, also later ones, as unanswered. */
  stop(): void {
    this.#isStopped = true;
    for (const search of [...this.#searches.values()]) search.end(undefined);
    for (const sent of [...this.#sent]) sent.end();
  }

  /** Sends Status on every channel and waits 2 s. Any message of the device ends the search. */
  #search(deviceId: string, preferred: ChannelName): Promise<ChannelName | undefined> {
    const { promise: result, resolve } = Promise.withResolvers<ChannelName | undefined>();
    const sent: SentPlainCommand[] = [];
    const end = (found: ChannelName | undefined) => {
      this.#searches.delete(deviceId);
      cancel();
      for (const command of sent) command.end();
      resolve(found);
    };
    const cancel = this.#deps.clock.after(searchForMs, () => end(undefined));
    this.#searches.set(deviceId, { end, result });
    for (const channel of this.#connected(preferred)) {
      sent.push(this.#send(deviceId, { name: 'Status', args: {}, timeoutMs: searchForMs }, [channel], []));
    }
    return result;
  }

  #send(deviceId: string, command: PlainCommand, now: readonly Channel[], thereafter: readonly Channel[]): SentPlainCommand {
    const sent = new SentPlainCommand(this.#deps, deviceId, command, thereafter);
    this.#sent.add(sent);
    void sent.answer.then(() => this.#sent.delete(sent));
    sent.sendOn(now);
    return sent;
  }

  #refuseWhenFull(): void {
    if (this.#deps.waiting.isFull) {
      throw new GatewayError('Too_Many_Requests', 'The gateway is waiting for too many answers; try again shortly.', { retryAfterS: 1 });
    }
  }

  #connected(preferred: ChannelName): Channel[] {
    return inOrder(this.#deps.channels, preferred).filter((channel) => channel.isConnected);
  }

  #liveIn(deviceId: string, preferred: ChannelName): Channel[] {
    return this.#connected(preferred).filter((channel) => this.#deps.book.isLive(deviceId, channel.name));
  }
}
