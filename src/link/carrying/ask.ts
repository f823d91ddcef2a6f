// Commands that change nothing: asking a device, and finding out on which channel it is.
// A full waiting room is Too_Many_Requests, not Device_Busy: it says nothing about the device, and trying again soon is right.
import { GatewayError } from '../../kernel/error-codes.ts';
import { type Channel, type ChannelName, inOrder } from '../channel.ts';
import type { JsonObject, PlainCommandName } from '../protocol.ts';
import type { AnswerMessage } from '../wire-schemas.ts';
import type { CarryDeps } from './carry.ts';
import { writeCommand } from './command.ts';
import { startWithinMs } from './fence.ts';

export interface Question {
  name: PlainCommandName;
  args: JsonObject;
  timeoutMs: number;
  /** The channel that is tried first. */
  preferredChannel: ChannelName;
}

const probeForMs = 2_000;
/** A question unanswered for this long goes to the other channel as well. */
const askOtherAfterMs = 1_500;

export interface Questions {
  locate(deviceId: string, preferred: ChannelName): Promise<ChannelName | undefined>;
  ask(deviceId: string, question: Question): Promise<AnswerMessage | undefined>;
  /** The device said something on this channel: that ends a search for it. */
  heard(deviceId: string, channel: ChannelName): void;
  /** Ends every search and question as unanswered; later ones too. */
  stop(): void;
}

export function createQuestions(deps: CarryDeps): Questions {
  const { clock, random, logger, gatewayId, channels, book, waiting } = deps;
  const probes = new Map<string, { found: (channel: ChannelName | undefined) => void; result: Promise<ChannelName | undefined> }>();
  const open = new Set<() => void>();
  let isStopped = false;

  function refuseWhenFull(): void {
    if (waiting.isFull) {
      throw new GatewayError('Too_Many_Requests', 'The gateway is waiting for too many answers; try again shortly.', { retryAfterS: 1 });
    }
  }

  function liveIn(deviceId: string, preferred: ChannelName): Channel[] {
    return inOrder(channels, preferred).filter((channel) => channel.isConnected && book.isLive(deviceId, channel.name));
  }

  /** Status on every channel for 2 s. Whatever the device says meanwhile, on any channel, tells where it is. */
  function probe(deviceId: string, preferred: ChannelName): Promise<ChannelName | undefined> {
    const { promise, resolve } = Promise.withResolvers<ChannelName | undefined>();
    const ends: (() => void)[] = [];
    const cancel = clock.after(probeForMs, () => found(undefined));
    function found(channel: ChannelName | undefined): void {
      probes.delete(deviceId);
      cancel();
      for (const end of ends) end();
      resolve(channel);
    }
    probes.set(deviceId, { found, result: promise });
    for (const channel of inOrder(channels, preferred)) {
      if (channel.isConnected) ends.push(put(deviceId, { name: 'Status', args: {}, timeoutMs: probeForMs }, [channel], []).end);
    }
    return promise;
  }

  /** One question under one id: at once on `now`, on `thereafter` when a send fails or no answer comes soon. */
  function put(
    deviceId: string,
    question: Omit<Question, 'preferredChannel'>,
    now: readonly Channel[],
    thereafter: readonly Channel[],
  ): { answer: Promise<AnswerMessage | undefined>; end: () => void } {
    const { promise, resolve } = Promise.withResolvers<AnswerMessage | undefined>();
    const id = random.uuid();
    const untried = [...thereafter];
    let isEnded = false;

    const command = writeCommand({
      id,
      name: question.name,
      args: question.args,
      gatewayId,
      nowMs: clock.now(),
      clockOffsetMs: book.clockOffsetMs(deviceId),
      ...(question.name === 'LastTransaction' ? { startInMs: Math.min(startWithinMs, question.timeoutMs) } : {}),
      answerInMs: question.timeoutMs,
    });

    function finish(answer: AnswerMessage | undefined): void {
      if (isEnded) return;
      isEnded = true;
      cancelTimeout();
      cancelOther();
      open.delete(end);
      waiting.forget(id);
      resolve(answer);
    }
    const end = () => finish(undefined);

    function sendOn(channel: Channel): void {
      channel.send(deviceId, command, question.timeoutMs).catch((error: unknown) => {
        logger.debug({ err: error, deviceId, channel: channel.name }, 'a question did not go out');
        tryNext();
      });
    }

    function tryNext(): void {
      const next = untried.shift();
      if (!isEnded && next?.isConnected) sendOn(next);
    }

    const cancelTimeout = clock.after(question.timeoutMs, end);
    const cancelOther = clock.after(Math.min(askOtherAfterMs, question.timeoutMs), tryNext);
    open.add(end);
    waiting.enter(id, deviceId, (_channel, answer) => {
      if (answer.outcome === 'accepted') return;
      if (question.name === 'Status' && answer.outcome === 'done' && answer.report !== undefined) book.noteReport(deviceId, answer.report);
      finish(answer);
    });
    for (const channel of now) sendOn(channel);
    return { answer: promise, end };
  }

  return {
    async locate(deviceId, preferred) {
      const live = liveIn(deviceId, preferred)[0];
      if (live !== undefined) return live.name;
      if (isStopped) return undefined;
      const running = probes.get(deviceId);
      if (running !== undefined) return running.result;
      refuseWhenFull();
      return probe(deviceId, preferred);
    },

    async ask(deviceId, question) {
      if (isStopped) return undefined;
      refuseWhenFull();
      const live = liveIn(deviceId, question.preferredChannel);
      const connected = inOrder(channels, question.preferredChannel).filter((channel) => channel.isConnected);
      const [best, ...others] = live;
      if (best === undefined) return put(deviceId, question, connected, []).answer;
      return put(deviceId, question, [best], [...others, ...connected.filter((channel) => !live.includes(channel))]).answer;
    },

    heard: (deviceId, channel) => probes.get(deviceId)?.found(channel),

    stop() {
      isStopped = true;
      for (const { found } of [...probes.values()]) found(undefined);
      for (const end of [...open]) end();
    },
  };
}
