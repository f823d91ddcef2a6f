// JSON Schemas of everything on the wire to the devices, in one place: asyncapi/v1.json is generated from them, and a test holds
// the examples in the docs and the real messages of gateway and devices against them. They describe; messages.ts reads.
// Unknown fields are allowed everywhere, as the protocol says.
import Type, { type TSchema } from 'typebox';
import { type CommandName, ledgerCommandNames, outcomes, plainCommandNames } from './protocol.ts';

/** Where the document keeps a schema; references are written for it. */
const refTo = (name: string) => Type.Ref(`#/components/schemas/${name}`);

const commandNames: readonly CommandName[] = [...ledgerCommandNames, ...plainCommandNames];

const uuid = (description: string) => Type.String({ format: 'uuid', description });
const time = (description: string) => Type.String({ format: 'date-time', description });
const text = (description: string) => Type.String({ description });
const version = Type.Literal(1, { description: 'Version of the protocol.' });

/** What a command asks for. */
const amount = Type.Number({ minimum: 0.01, maximum: 9_999_999_999.99, description: 'Lei with at most two decimals.' });
/** What a device tells; a total may be zero. */
const money = (description: string) => Type.Number({ description: `${description} Lei with at most two decimals.` });
const currency = Type.Literal('MDL');
const documentNr = text("The ERP's number of the document, a UUID or any other text.");
const operationId = text("The bank's number of the payment, as the terminal reported it in Pay.");
const target = uuid('Id of the command that is meant.');
const numberOrText = (description: string) => Type.Union([Type.Integer(), Type.String({ minLength: 1 })], { description });

const cash = Type.Object({ amount, reason: Type.Optional(text('For the paper; may be absent.')) });
const receipt = Type.Object(
  {
    Number: Type.Optional(text('Number of the receipt or invoice.')),
    Uid: Type.Optional(text('Unique id of the receipt.')),
    Items: Type.Array(
      Type.Object({
        Name: Type.String({ minLength: 1 }),
        Quantity: Type.Number({ exclusiveMinimum: 0 }),
        Price: Type.Number({ description: 'Lei; negative for a discount line.' }),
      }),
      { minItems: 1 },
    ),
    Payments: Type.Array(
      Type.Object({
        PaymentCode: Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^\\d{1,9}$' })], {
          description: '1, 2, 7 and 1000 are card payments.',
        }),
      }),
      { minItems: 1 },
    ),
  },
  { description: 'The receipt as the ERP sent it, with all its fields.' },
);

/** `args` of each command. */
export const argsSchemas: Readonly<Record<CommandName, TSchema>> = {
  Pay: Type.Object({ amount, currency, documentNr: Type.Optional(documentNr) }),
  CloseDoc: Type.Object({ documentNr, operationId }),
  CloseDay: Type.Object({}),
  Refund: Type.Object({ documentNr, operationId, rrn: text('Reference Retrieval Number of the payment.'), amount, currency }),
  CancelTransaction: Type.Object({ documentNr, operationId, token: text('Authorization token of the bank, unchecked.'), amount }),
  MoneyIn: cash,
  MoneyOut: cash,
  Report: Type.Object({ fiscal: Type.Boolean({ description: 'true: Z, which closes the day; false: X.' }) }),
  PrintReceipt: Type.Object({ receipt }),
  Status: Type.Object({}),
  LastTransaction: Type.Object({}),
  Abort: Type.Object({ target }),
  Recall: Type.Object({ target }),
};

const nothing = Type.Object({}, { description: 'Nothing is asked for; whatever the device adds is passed on.' });
const cashReport = Type.Object({
  documentNumber: numberOrText('Number in the fiscal memory.'),
  cashInDrawer: money('What is in the drawer now.'),
});
const endings = outcomes.filter((outcome) => outcome !== 'accepted');

/** `report` of each command's `done`. More fields are welcome and passed on. */
export const reportSchemas: Readonly<Record<CommandName, TSchema>> = {
  Pay: Type.Object({
    rrn: Type.String({ minLength: 1, description: 'Reference Retrieval Number.' }),
    authCode: text('Authorization code.'),
    operationId: Type.String({ minLength: 1, description: "The bank's number of this payment." }),
    amount: Type.Number({ description: 'What was charged; another amount than was asked for goes to the review list.' }),
    token: Type.Optional(text('Authorization token, for CancelTransaction.')),
    maskedCard: Type.Optional(text('First six and last four digits.')),
    time: Type.Optional(time('When the bank said yes.')),
  }),
  CloseDoc: nothing,
  CloseDay: Type.Object({ count: Type.Integer({ minimum: 0 }), amount: money('What was sent to the bank.') }),
  Refund: Type.Object({ rrn: text('Of the refund.'), operationId: text('Of the refund.'), amount: money('What was given back.') }),
  CancelTransaction: Type.Object({ operationId: text('Of the payment.'), amount: money('What was voided.') }),
  MoneyIn: cashReport,
  MoneyOut: cashReport,
  Report: Type.Object({
    number: numberOrText('Number of the report.'),
    totals: Type.Object({}, { description: 'Totals in lei, as the register keeps them.' }),
  }),
  PrintReceipt: Type.Object({
    receiptId: numberOrText('Id of the fiscal receipt; an ERP gets it as ReceiptID.'),
    fiscalNumber: numberOrText('Number in the fiscal memory.'),
    total: money('Total of the receipt.'),
  }),
  Status: Type.Object({
    online: Type.Boolean(),
    battery: Type.Integer({ description: 'Per cent.' }),
    paper: text('OK when there is paper.'),
    signal: Type.Integer({ description: 'Per cent.' }),
    bank: Type.Optional(text('Bank of the terminal.')),
  }),
  LastTransaction: Type.Object({
    state: Type.Enum(['running', 'approved', 'refused', 'unknown', 'none'], { description: 'none: there was no command yet.' }),
    commandId: Type.Optional(uuid('The last ledger command that ran.')),
    kind: Type.Optional(text('Its name.')),
  }),
  Abort: nothing,
  Recall: Type.Object({
    state: Type.Enum(['final', 'running', 'never', 'unknown']),
    outcome: Type.Optional(Type.Enum(endings, { description: 'With final: how the command ended.' })),
    report: Type.Optional(Type.Object({}, { description: 'With final: what its ending answer reported.' })),
    reason: Type.Optional(text('With final or unknown: the reason that was given.')),
  }),
};

const startBy = time("Last moment to begin, in the device's own clock. Absent for Recall, Abort and Status.");

export const commandSchema = Type.Object({
  v: version,
  id: uuid('Id of the command; the answer repeats it.'),
  name: Type.Enum([...commandNames]),
  replyTo: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'Id of the gateway instance that wants the answer.' }),
  issuedAt: time("When it was written, in the gateway's clock. For people: decide nothing by it."),
  startBy: Type.Optional(startBy),
  answerBy: Type.Optional(time("Until then the caller waits, in the device's own clock.")),
  args: Type.Object({}),
});

/** Ledger commands always have both limits. */
export function commandSchemaOf(name: CommandName): TSchema {
  const isLedger = ledgerCommandNames.some((ledgerName) => ledgerName === name);
  return Type.Intersect([
    refTo('Command'),
    Type.Object({
      name: Type.Literal(name),
      args: refTo(`${name}Args`),
      ...(isLedger ? { startBy, answerBy: time('The last moment to answer, and to ask a bank.') } : {}),
    }),
  ]);
}

/** An answer to one command: when it says `done`, its report is the command's. */
export function answerSchemaOf(name: CommandName): TSchema {
  return Type.Unsafe({
    allOf: [
      refTo('Answer'),
      {
        if: { properties: { outcome: { const: 'done' } } },
        // CloseDoc and Abort report nothing: there the field may be absent.
        // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
        then: { properties: { report: refTo(`${name}Report`) }, ...(reportSchemas[name] === nothing ? {} : { required: ['report'] }) },
      },
    ],
  });
}

export const answerSchema = Type.Object({
  v: version,
  id: uuid('Id of the command.'),
  device: uuid('DeviceID, in lower case.'),
  clock: time("The device's clock at sending, right or wrong."),
  journalId: Type.Optional(uuid('Names the journal; absent: the device keeps none.')),
  outcome: Type.Enum([...outcomes]),
  report: Type.Optional(Type.Object({}, { description: 'Any JSON object; required fields of a done are those of the command.' })),
  reason: Type.Optional(Type.String({ maxLength: 1000, description: 'One sentence for people.' })),
});

export const presenceSchema = Type.Object({
  v: version,
  device: uuid('DeviceID, in lower case.'),
  online: Type.Boolean({ description: 'false: the device says goodbye, or the broker says it by the will.' }),
  clock: Type.Optional(time("The device's clock at sending. Required when online.")),
  bootId: Type.Optional(uuid('New at every start of the device.')),
  journalId: Type.Optional(uuid('Names the journal; new whenever it starts empty. Absent: the device keeps none.')),
  kind: Type.Optional(Type.Enum(['terminal', 'register'])),
  battery: Type.Optional(Type.Number({ description: 'Per cent.' })),
  paper: Type.Optional(text('OK when there is paper.')),
  signal: Type.Optional(Type.Number({ description: 'Per cent.' })),
  bank: Type.Optional(text('Bank of the terminal.')),
  firmware: Type.Optional(text('Name and version.')),
});

/** Frames of the built-in queue: exactly one field. */
export const frameSchemas = {
  CommandFrame: Type.Object({ command: refTo('Command') }),
  AnswerFrame: Type.Object({ answer: refTo('Answer') }),
  PresenceFrame: Type.Object({ presence: refTo('Presence') }),
};
