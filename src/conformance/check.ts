// What a check is: a clause of the protocol page, what to do, and what must be seen. A check ends in one of three ways: it holds, it is
// broken (with a sentence of what was seen instead), or it could not be tested here (with the reason). Nothing else may be thrown.
import type { DeviceKind } from '../link/protocol.ts';
import type { Exam } from './exam.ts';

/** A sentence of docs/device-protocol.md, word by word; a test finds it there. */
export interface Clause {
  /** Where it stands, for people: "Promise 1". */
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

/** Where the clauses stand. */
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
