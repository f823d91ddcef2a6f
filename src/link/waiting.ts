// Calls that wait for an answer, by command id. A call is registered before its command is published, and an answer is accepted only from
// the device of the command. The number is bounded, so that a broker failure cannot fill the memory.
import { BoundedMap } from '../kernel/bounded-map.ts';
import type { ChannelName } from './channel.ts';
import type { AnswerMessage } from './wire-schemas.ts';

type OnAnswer = (channel: ChannelName, answer: AnswerMessage) => void;

export type WaitingRoom = ReturnType<typeof createWaitingRoom>;

const rememberedIds = 10_000;

export function createWaitingRoom(limit: number) {
  const calls = new Map<string, { deviceId: string; onAnswer: OnAnswer }>();
  const forgotten = new BoundedMap<string, true>(rememberedIds);
  return {
    get size() {
      return calls.size;
    },
    get isFull() {
      return calls.size >= limit;
    },
    isWaiting: (id: string) => calls.has(id),
    isWaitingFor: (id: string, deviceId: string) => calls.get(id)?.deviceId === deviceId,
    enter(id: string, deviceId: string, onAnswer: OnAnswer): void {
      calls.set(id, { deviceId, onAnswer });
    },
    leave(id: string): void {
      calls.delete(id);
    },
    /** As `leave`, for ids without a ledger row: later answers to them are dropped. */
    forget(id: string): void {
      calls.delete(id);
      forgotten.set(id, true);
    },
    deliver(channel: ChannelName, deviceId: string, answer: AnswerMessage): 'taken' | 'foreign' | 'forgotten' | 'unknown' {
      const call = calls.get(answer.id);
      if (call === undefined) return forgotten.has(answer.id) ? 'forgotten' : 'unknown';
      if (call.deviceId !== deviceId) return 'foreign';
      call.onAnswer(channel, answer);
      return 'taken';
    },
  };
}
