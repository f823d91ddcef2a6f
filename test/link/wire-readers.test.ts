// wire-schemas.ts defines the wire format, and two hand-written readers parse it [D55]: here both are checked against the schemas.
// Every message that the schemas allow is accepted with all its fields, and every accepted message is allowed by the schemas.
import fc, { type Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deviceDocument } from '../../scripts/asyncapi.ts';
import { readAnswer, readDeviceFrame, readPresence, readRecallReport } from '../../src/link/messages.ts';
import { commandNames, ledgerCommandNames } from '../../src/link/protocol.ts';
import { answerSchema, commandSchema, presenceSchema, recallReportSchema } from '../../src/link/wire-schemas.ts';
import { type ReceivedCommand, readCommand } from '../../src/virtual/client/command-reader.ts';
import { type AsyncApiDocument, createMessageCheck } from '../docs/message-check.ts';
import { arbitraryOf, disturbed } from './schema-arbitrary.ts';

type Message = Record<string, unknown>;

const document = JSON.parse(JSON.stringify(deviceDocument())) as AsyncApiDocument;
const { schemas } = document.components;
const check = createMessageCheck(document);

/** Messages that the schema of that name allows. */
function allowed(name: string): Arbitrary<Message> {
  return arbitraryOf(schemas, schemas[name] as object)
    .filter((message) => check.problemsBy(name, message).length === 0)
    .map((message) => message as Message);
}

const only = (fields: object, message: Message) =>
  Object.fromEntries(Object.keys(fields).flatMap((name) => (name in message ? [[name, message[name]]] : [])));
const bytesOf = (message: object) => Buffer.from(JSON.stringify(message));
const isoOf = (ms: unknown) => new Date(ms as number).toISOString();
const withClock = (message: Message): Message =>
  'clock' in message ? { ...message, clock: isoOf(Date.parse(String(message['clock']))) } : message;
const deviceOf = (message: Message) => String(message['device']);

describe('every message that the schemas allow is accepted', () => {
  it('an answer, with each of its fields', () => {
    fc.assert(
      fc.property(allowed('Answer'), (answer) => {
        const expected = only(answerSchema.properties, answer);
        expect(readAnswer(bytesOf(answer), deviceOf(answer)).message).toEqual(expected);
        expect(readDeviceFrame(bytesOf({ answer }), deviceOf(answer)).message).toEqual({ answer: expected });
      }),
    );
  });

  it('a presence, with each of its fields', () => {
    fc.assert(
      fc.property(allowed('Presence'), (presence) => {
        const expected = only(presenceSchema.properties, presence);
        expect(readPresence(bytesOf(presence), deviceOf(presence)).message).toEqual(expected);
        expect(readDeviceFrame(bytesOf({ presence }), deviceOf(presence)).message).toEqual({ presence: expected });
      }),
    );
  });

  it('the report of a Recall, with each of its fields', () => {
    fc.assert(
      fc.property(allowed('RecallReport'), (report) => {
        const { outcome, ...others } = only(recallReportSchema.properties, report);
        expect(readRecallReport(report)).toEqual(report['state'] === 'final' ? { ...others, outcome } : others);
      }),
    );
  });

  it.each(commandNames)('the command %s', (name) => {
    fc.assert(
      fc.property(allowed(`${name}Command`), (command) => {
        const msOf = (field: string) => (field in command ? Date.parse(String(command[field])) : undefined);
        const { id, replyTo, args } = command;
        const expected = { id, name, replyTo, startByMs: msOf('startBy'), answerByMs: msOf('answerBy'), args };
        expect(readCommand(bytesOf(command))).toEqual({ command: expected });
      }),
      { numRuns: 30 },
    );
  });
});

describe('every accepted message is allowed by the schemas', () => {
  const runs = { numRuns: 1000 };

  it('an answer', () => {
    fc.assert(
      fc.property(disturbed(allowed('Answer'), Object.keys(answerSchema.properties)), (answer) => {
        const { message } = readAnswer(bytesOf(answer), deviceOf(answer).toLowerCase());
        if (message !== undefined) expect(check.problemsBy('Answer', withClock(message))).toEqual([]);
      }),
      runs,
    );
  });

  it('a presence', () => {
    fc.assert(
      fc.property(disturbed(allowed('Presence'), Object.keys(presenceSchema.properties)), (presence) => {
        const fromDevice = '0b1c2d3e-4f50-4617-a283-94a5b6c7d8e9';
        const own = 'device' in presence && presence['device'] !== undefined ? { ...presence, device: fromDevice } : presence;
        const { message } = readPresence(bytesOf(own), fromDevice);
        if (message !== undefined) expect(check.problemsBy('Presence', withClock(message))).toEqual([]);
      }),
      runs,
    );
  });

  it('the report of a Recall', () => {
    fc.assert(
      fc.property(disturbed(allowed('RecallReport'), Object.keys(recallReportSchema.properties)), (report) => {
        const read = readRecallReport(report);
        if (read !== undefined) expect(check.problemsBy('RecallReport', read)).toEqual([]);
      }),
      runs,
    );
  });

  it('a command, unless its name is from a later version', () => {
    const rebuilt = ({ id, name, replyTo, startByMs, answerByMs, args }: ReceivedCommand): Message => ({
      v: 1,
      id,
      name,
      replyTo,
      issuedAt: isoOf(0),
      ...(startByMs === undefined ? {} : { startBy: isoOf(startByMs) }),
      ...(answerByMs === undefined ? {} : { answerBy: isoOf(answerByMs) }),
      args,
    });
    const isLedger = (name: string) => ledgerCommandNames.some((ledgerName) => ledgerName === name);
    fc.assert(
      fc.property(disturbed(allowed('Command'), Object.keys(commandSchema.properties)), (message) => {
        const { command } = readCommand(bytesOf(message));
        if (command === undefined || !commandNames.some((name) => name === command.name)) return;
        expect(check.problemsBy('Command', rebuilt(command))).toEqual([]);
        if (isLedger(command.name)) expect([typeof command.startByMs, typeof command.answerByMs]).toEqual(['number', 'number']);
      }),
      runs,
    );
  });
});
