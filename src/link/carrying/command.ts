// Builds the message of a command. startBy and answerBy are in the device's own clock, so that a wrong clock does no harm.
import type { CommandName, JsonObject } from '../protocol.ts';
import type { CommandMessage } from '../wire-schemas.ts';

export interface CommandText {
  id: string;
  name: CommandName;
  args: JsonObject;
  gatewayId: string;
  nowMs: number;
  clockOffsetMs: number;
  /** Absent for Recall, Abort and Status: they may begin at any time. */
  startInMs?: number;
  answerInMs: number;
}

export function writeCommand(text: CommandText): CommandMessage {
  const inDeviceClock = (delayMs: number) => new Date(text.nowMs + text.clockOffsetMs + delayMs).toISOString();
  return {
    v: 1,
    id: text.id,
    name: text.name,
    replyTo: text.gatewayId,
    issuedAt: new Date(text.nowMs).toISOString(),
    ...(text.startInMs === undefined ? {} : { startBy: inDeviceClock(text.startInMs) }),
    answerBy: inDeviceClock(text.answerInMs),
    args: text.args,
  };
}
