// The messages of the device protocol: JSON Schemas for asyncapi/v1.json, and the types derived from them [D55].
// messages.ts and virtual/client/command-reader.ts parse by hand; a property test checks both readers against these schemas.
// Unknown fields are allowed everywhere.
import { type Static, Type } from 'typebox';
import { movesCardMoney, namesWhere } from '../kernel/operations.ts';
import { commandNames, deviceKinds, endingOutcomes, type JsonObject, outcomes, recallStates } from './protocol.ts';

export const uuid = (description: string) => Type.String({ format: 'uuid', description });
export const time = (description: string) => Type.String({ format: 'date-time', description });
const text = (description: string) => Type.String({ description });
const anyObject = (options: { description?: string } = {}) => Type.Unsafe<JsonObject>(Type.Object({}, options));
/** A field that is required for one value of another field; the types cannot express it. */
const whenItIs = (field: string, value: unknown, required: string) => ({
  if: { properties: { [field]: { const: value } } },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { properties: { [required]: {} }, required: [required] },
});
const version = Type.Literal(1, { description: 'Version of the protocol.' });

export const startBy = time("Last moment to begin, in the device's own clock. Absent for Recall, Abort and Status.");

export const commandSchema = Type.Object({
  v: version,
  id: uuid('Id of the command; the answer repeats it.'),
  name: Type.Enum(commandNames),
  replyTo: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'Id of the gateway instance that receives the answer.' }),
  issuedAt: time("When it was written, in the gateway's clock. Informational only."),
  startBy: Type.Optional(startBy),
  answerBy: Type.Optional(time("Until then the caller waits, in the device's own clock.")),
  args: anyObject(),
});
export type CommandMessage = Static<typeof commandSchema>;

export const answerSchema = Type.Object({
  v: version,
  id: uuid('Id of the command.'),
  device: uuid('DeviceID, in lower case.'),
  clock: time("The device's clock at sending, right or wrong."),
  journalId: Type.Optional(uuid('Names the journal; absent: the device keeps none.')),
  outcome: Type.Enum(outcomes),
  report: Type.Optional(anyObject({ description: 'Any JSON object; required fields of a done are those of the command.' })),
  reason: Type.Optional(Type.String({ maxLength: 1000, description: 'One sentence for people.' })),
});
export type AnswerMessage = Static<typeof answerSchema>;

export const presenceSchema = Type.Object(
  {
    v: version,
    device: uuid('DeviceID, in lower case.'),
    online: Type.Boolean({ description: 'false: the device is going offline, or the broker publishes its will.' }),
    clock: Type.Optional(time("The device's clock at sending. Required when online.")),
    bootId: Type.Optional(uuid('New at every start of the device.')),
    journalId: Type.Optional(uuid('Names the journal; new whenever it starts empty. Absent: the device keeps none.')),
    kind: Type.Optional(Type.Enum(deviceKinds)),
    battery: Type.Optional(Type.Number({ description: 'Per cent.' })),
    paper: Type.Optional(text('OK when there is paper.')),
    signal: Type.Optional(Type.Number({ description: 'Per cent.' })),
    bank: Type.Optional(text('Bank of the terminal.')),
    firmware: Type.Optional(text('Name and version.')),
    features: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Optional features of the device: `paid` (registers). Unknown ones are ignored.',
      }),
    ),
  },
  whenItIs('online', true, 'clock'),
);
export type PresenceMessage = Static<typeof presenceSchema>;

/** The report about the target in the `done` of a Recall. */
export const recallReportSchema = Type.Object(
  {
    state: Type.Enum(recallStates),
    outcome: Type.Optional(Type.Enum(endingOutcomes, { description: 'With final: how the command ended.' })),
    report: Type.Optional(anyObject({ description: 'With final: the report of its ending answer.' })),
    reason: Type.Optional(text('With final or unknown: the reason that was given.')),
  },
  whenItIs('state', 'final', 'outcome'),
);
export type RecallReport = Static<typeof recallReportSchema>;

export const statusReportSchema = Type.Object({
  online: Type.Boolean(),
  battery: Type.Integer({ description: 'Per cent.' }),
  paper: text('OK when there is paper.'),
  signal: Type.Integer({ description: 'Per cent.' }),
  bank: Type.Optional(text('Bank of the terminal.')),
});

export const lastTransactionReportSchema = Type.Object({
  state: Type.Enum(['running', 'approved', 'refused', 'unknown', 'none'], { description: 'none: there was no command yet.' }),
  commandId: Type.Optional(uuid('The last ledger command that ran.')),
  kind: Type.Optional(text('Its name.')),
  lastPayment: Type.Optional(
    Type.Object(
      {
        commandId: uuid('The last Pay, Refund or CancelTransaction that ran.'),
        kind: Type.Enum(namesWhere(movesCardMoney)),
        state: Type.Enum(['running', 'approved', 'refused', 'unknown']),
      },
      { description: 'Where the last command was none of the three: the last one that was, with what it reported.' },
    ),
  ),
});

/** One frame of the built-in queue: exactly one of the three. */
export interface QueueFrame {
  command?: CommandMessage;
  answer?: AnswerMessage;
  presence?: PresenceMessage;
}
