// Examples of every message, one sale after the other, for asyncapi/v1.json. A test checks each against its schema.

import type { CommandName, JsonObject, Outcome } from '../src/link/protocol.ts';
import { commandNames } from '../src/link/protocol.ts';
import type { AnswerMessage, CommandMessage, PresenceMessage } from '../src/link/wire-schemas.ts';
import { exampleId, isLedgerCommand, messagesOf } from './asyncapi-schemas.ts';

export const exampleDevice = 'b4c7b0f6-3f5e-4f0e-9a51-5d2f8e7c1a90';
const exampleGateway = '5f0d8f0a-61c5-4a3e-8d0b-2f6b7f0f9a11';
const journalId = '0c2f6a1e-8d3b-4c57-9f10-6a7e5b4d3c21';
const bootId = 'e81d0f7c-5a42-4f6d-b3c9-7d1e2f3a4b5c';

const withoutStartBy: readonly CommandName[] = ['Recall', 'Abort', 'Status'];

function atSecond(second: number): string {
  return new Date(Date.parse('2026-03-02T09:00:00.000Z') + second * 1000).toISOString();
}

export function exampleCommand(name: CommandName): CommandMessage {
  const { sample, answerWithinMs } = messagesOf[name];
  return {
    v: 1,
    id: exampleId(commandNames.indexOf(name)),
    name,
    replyTo: exampleGateway,
    issuedAt: atSecond(0),
    ...(withoutStartBy.includes(name) ? {} : { startBy: atSecond(10) }),
    answerBy: atSecond(answerWithinMs / 1000),
    args: sample.args as JsonObject,
  };
}

function answer(name: CommandName, outcome: Outcome, extras: { report?: JsonObject; reason?: string } = {}): AnswerMessage {
  return { v: 1, id: exampleId(commandNames.indexOf(name)), device: exampleDevice, clock: atSecond(1), journalId, outcome, ...extras };
}

export function exampleAnswers(name: CommandName): { name: string; summary: string; payload: AnswerMessage }[] {
  const { report } = messagesOf[name].sample;
  const done = {
    name: 'done',
    summary: 'It was done.',
    payload: answer(name, 'done', report === undefined ? {} : { report: report as JsonObject }),
  };
  if (name === 'Recall') {
    const never = { summary: 'Never seen; buried now.', payload: answer(name, 'done', { report: { state: 'never' } }) };
    const running = { summary: 'It is under way.', payload: answer(name, 'done', { report: { state: 'running' } }) };
    return [done, { name: 'running', ...running }, { name: 'never', ...never }];
  }
  if (name === 'Abort') {
    const late = answer(name, 'refused', { reason: 'The bank has been asked.' });
    return [done, { name: 'refused', summary: 'Too late.', payload: late }];
  }
  if (!isLedgerCommand(name)) return [done];
  const refused = answer(name, 'refused', { reason: name === 'Pay' ? 'The bank declined the card.' : 'Not possible now.' });
  return [
    { name: 'accepted', summary: 'It is written down and runs.', payload: answer(name, 'accepted') },
    done,
    { name: 'refused', summary: 'No, and nothing remains done.', payload: refused },
  ];
}

export const examplePresence: { name: string; summary: string; payload: PresenceMessage }[] = [
  {
    name: 'online',
    summary: 'At connect and every 30 s.',
    payload: {
      v: 1,
      device: exampleDevice,
      online: true,
      clock: atSecond(0),
      bootId,
      journalId,
      kind: 'terminal',
      battery: 80,
      paper: 'OK',
      signal: 70,
      bank: 'maib',
      firmware: 'acme-pos 3.2',
    },
  },
  { name: 'gone', summary: 'The will, and the goodbye.', payload: { v: 1, device: exampleDevice, online: false } },
];
