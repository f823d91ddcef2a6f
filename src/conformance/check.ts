// A check: a clause of the protocol page, an action, and the expected observation. It ends in one of three ways: the clause holds, is broken
// (with the actual observation), or could not be tested here (with the reason). No other error may be thrown.
import type { DeviceKind } from '../link/protocol.ts';
import type { Exam } from './exam.ts';

/** A literal sentence of docs/device-protocol.md; a test verifies it. */
export interface Clause {
  /** Its place on the page: "Promise 1". */
  place: string;
  /** The heading on the page. */
  anchor: string;
  says: string;
}

export interface Check {
  id: string;
  clause: Clause;
  /** Absent: both. */
  kind?: DeviceKind;
  does: string;
  mustSee: string;
  run(exam: Exam): Promise<void>;
}

const promises = (number: number, says: string): Clause => ({ place: `Promise ${number}`, anchor: 'the-seven-promises', says });
const section = (place: string, anchor: string) => (says: string) => ({ place, anchor, says });

/** The places of the clauses. */
export const on = {
  promise: promises,
  messages: section('Messages', 'messages'),
  command: section('Messages, command', 'command-gateway-to-device'),
  answer: section('Messages, answer', 'answer-device-to-gateway'),
  presence: section('Messages, presence', 'presence-device-to-gateway'),
  channels: section('Channels', 'channels'),
  commands: section('Commands', 'commands'),
  time: section('Time', 'time'),
};
