// Parts of asyncapi/v1.json beside the messages themselves: the arguments and the report of each command, and the frames of the
// built-in queue. The gateway runs without it. Unknown fields are allowed everywhere, as the protocol says.
import Type, { type TSchema } from 'typebox';
import { movesCardMoney, namesWhere } from '../src/kernel/operations.ts';
import { type CommandName, type JsonObject, ledgerCommandNames } from '../src/link/protocol.ts';
import { recallReportSchema, startBy, text, time, uuid } from '../src/link/wire-schemas.ts';

/** The place of a schema in the document, for references. */
const refTo = (name: string) => Type.Ref(`#/components/schemas/${name}`);

/** An amount in a command. */
const amount = Type.Number({ minimum: 0.01, maximum: 9_999_999_999.99, description: 'Lei with at most two decimals.' });
/** An amount in a report; a total may be zero. */
const money = (description: string) => Type.Number({ description: `${description} Lei with at most two decimals.` });
const total = (description: string) => Type.Optional(money(description));
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
        paid: Type.Optional(
          Type.Object(
            {
              rrn: text('Reference Retrieval Number.'),
              authCode: Type.Optional(text('Authorization code.')),
              operationId: text("The bank's number of the payment."),
              amount: money('What was paid; equal to Amount.'),
              documentNr: text('Number of the payment.'),
            },
            {
              description:
                'The payment was made on a card terminal before: print it under its code, count it under card, ask no bank. Only for registers whose presence lists the feature `paid`.',
            },
          ),
        ),
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

/** `report` of each command's `done`. Further fields are allowed and passed on. */
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
  CloseDay: Type.Object({
    count: Type.Integer({ minimum: 0 }),
    amount: money('What was sent to the bank, net of refunds.'),
    totals: Type.Optional(
      Type.Object({ sales: total('Payments, without those that were voided.'), refunds: total('What was given back of them.') }),
    ),
  }),
  Refund: Type.Object({ rrn: text('Of the refund.'), operationId: text('Of the refund.'), amount: money('What was given back.') }),
  CancelTransaction: Type.Object({ operationId: text('Of the payment.'), amount: money('What was voided.') }),
  MoneyIn: cashReport,
  MoneyOut: cashReport,
  Report: Type.Object({
    number: numberOrText('Number of the report.'),
    totals: Type.Object(
      {
        sales: total('All receipts.'),
        cash: total('What was paid in cash.'),
        card: total('What was paid by card.'),
        refunds: total('What was given back.'),
        cashIn: total('Cash put into the drawer.'),
        cashOut: total('Cash taken out of it.'),
      },
      { description: 'Totals in lei, as the register keeps them; without those named here the day cannot be compared.' },
    ),
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
  }),
  Abort: nothing,
  Recall: recallReportSchema,
};

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

/** An answer to one command: with `done`, its report is the command's. */
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

/** Frames of the built-in queue: exactly one field. */
export const frameSchemas = {
  CommandFrame: Type.Object({ command: refTo('Command') }),
  AnswerFrame: Type.Object({ answer: refTo('Answer') }),
  PresenceFrame: Type.Object({ presence: refTo('Presence') }),
};

// An example of each command.
const exampleDocument = '3f9f6a52-0c1d-4e8b-a7c6-1b2d3e4f5a6b';

interface Sample {
  args: JsonObject;
  report?: JsonObject;
  answerWithinS: number;
}

const payReport = { rrn: '407312908813', authCode: '283749', operationId: '000147', amount: 150.5 };
const exampleReceipt = {
  Number: 'A-1',
  Uid: 'order-1001',
  Items: [{ Name: 'Coffee', Quantity: 2, Price: 35 }],
  Payments: [{ PaymentCode: 1 }],
};

/** Arguments, report and time to answer of each command. */
export const samples: Record<CommandName, Sample> = {
  Pay: {
    args: { amount: 150.5, currency: 'MDL', documentNr: exampleDocument },
    report: { ...payReport, token: '9d1c5e', maskedCard: '516793******0042', time: '2026-03-02T09:00:21.310Z' },
    answerWithinS: 300,
  },
  CloseDoc: { args: { documentNr: exampleDocument, operationId: '000147' }, answerWithinS: 60 },
  CloseDay: { args: {}, report: { count: 42, amount: 18350.75, totals: { sales: 18415.25, refunds: 64.5 } }, answerWithinS: 60 },
  Refund: {
    args: { documentNr: exampleDocument, operationId: '000147', rrn: '407312908813', amount: 50, currency: 'MDL' },
    report: { rrn: '407312909120', operationId: '000151', amount: 50 },
    answerWithinS: 60,
  },
  CancelTransaction: {
    args: { documentNr: exampleDocument, operationId: '000147', token: '9d1c5e', amount: 150.5 },
    report: { operationId: '000147', amount: 150.5 },
    answerWithinS: 60,
  },
  MoneyIn: { args: { amount: 500, reason: 'Change for the morning' }, report: { documentNumber: 1, cashInDrawer: 500 }, answerWithinS: 20 },
  MoneyOut: { args: { amount: 200 }, report: { documentNumber: 18, cashInDrawer: 300 }, answerWithinS: 20 },
  Report: {
    args: { fiscal: true },
    report: { number: 7, totals: { receipts: 3, total: 210, byVat: { A: { gross: 210, vat: 35 } } } },
    answerWithinS: 20,
  },
  PrintReceipt: {
    args: { receipt: exampleReceipt },
    report: { receiptId: 'b4c7b0f6-00000003', fiscalNumber: '00000003', total: 70 },
    answerWithinS: 300,
  },
  Status: { args: {}, report: { online: true, battery: 80, paper: 'OK', bank: 'maib', signal: 70 }, answerWithinS: 20 },
  LastTransaction: {
    args: {},
    report: {
      commandId: exampleId(1),
      kind: 'CloseDoc',
      state: 'approved',
      lastPayment: { ...payReport, commandId: exampleId(0), kind: 'Pay', state: 'approved' },
    },
    answerWithinS: 30,
  },
  Abort: { args: { target: exampleId(0) }, answerWithinS: 60 },
  Recall: { args: { target: exampleId(0) }, report: { state: 'final', outcome: 'done', report: payReport }, answerWithinS: 30 },
};

export function exampleId(index: number): string {
  return `7a1e4c20-9b3d-4f5a-8c6e-0000000000${String(index + 10)}`;
}
