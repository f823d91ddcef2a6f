// The state of the playground: the schema for the API document, and the type derived from it.
// Sentences are keys with parameters, amounts are in lei, every list is short.
import { type Static, type TSchema, Type } from 'typebox';
import { textShown } from '../list-fields.ts';
import { mapOf, moment } from '../shared-schemas.ts';

export const storyNames = ['lostAnswer', 'powerCut', 'doubleClick', 'deadErp', 'expiredQr', 'refundOverRest'] as const;
export type StoryName = (typeof storyNames)[number];

export const personActs = ['presentCard', 'pin', 'wrongPin', 'decline', 'cancel', 'newRoll', 'powerOn'] as const;

function oneOf<const Names extends readonly string[]>(names: Names) {
  return Type.Unsafe<Names[number]>({ type: 'string', enum: [...names] });
}

/** JSON leaves out a field that is undefined. */
const may = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Unsafe<Static<Schema> | undefined>(schema));

export const channelName = oneOf(['mqtt', 'queue']);
export const actName = oneOf(personActs);
export const storyName = oneOf(storyNames);
export const powerCut = oneOf(['beforeBank', 'afterBank']);

const screenState = oneOf([
  ...['idle', 'presentCard', 'enterPin', 'asking', 'approved', 'declined', 'refused', 'busy', 'printing', 'outOfPaper', 'off'],
] as const);

const device = Type.Object({
  id: Type.String(),
  kind: oneOf(['terminal', 'register']),
  name: Type.String(),
  bank: may(Type.String()),
  isOn: Type.Boolean(),
  byHand: Type.Boolean(),
  channels: Type.Array(Type.Object({ via: channelName, isConnected: Type.Boolean(), isCut: Type.Boolean() })),
  screen: Type.Object({
    state: screenState,
    text: Type.String(),
    amount: may(Type.Number()),
    commandId: may(Type.String()),
    authCode: may(Type.String()),
    maskedCard: may(Type.String()),
  }),
  waitsFor: may(oneOf(['card', 'pin'])),
  heldBy: may(
    Type.Object(
      {
        commandId: Type.String(),
        documentState: may(Type.String({ description: '`open`: an approved payment that awaits CloseDoc.' })),
        amount: may(Type.Number()),
      },
      { description: 'The operation that blocks the device.' },
    ),
  ),
  faults: Type.Object({ loseAnswer: Type.Boolean(), answerTwice: Type.Boolean(), paperOut: Type.Boolean(), powerCut: may(powerCut) }),
  paper: may(
    Type.Object({
      lines: Type.Array(Type.String()),
      at: moment,
      kind: oneOf(['receipt', 'slip', 'X', 'Z']),
      number: may(Type.String()),
    }),
  ),
});

const saleItem = Type.Object({ name: Type.String(), quantity: Type.Number(), price: Type.Number(), total: Type.Number() });

const sale = Type.Object({
  id: Type.String({ description: 'documentNr of its payment and Uid of its receipt.' }),
  kind: oneOf(['card', 'qr']),
  state: oneOf(['waiting', 'paying', 'closing', 'printing', 'done', 'refused', 'unknown', 'noReceipt']),
  items: Type.Array(saleItem),
  total: Type.Number(),
  paid: Type.Number({ description: 'The paid amount, according to the answers that the till received.' }),
  refunded: Type.Number(),
  deviceId: may(Type.String()),
  registerId: Type.String(),
  commandId: may(Type.String({ description: 'Id of the payment or of the receipt; its page has the details.' })),
  oid: may(Type.String()),
  receiptId: may(Type.String()),
  errorCode: may(Type.Integer()),
  message: may(Type.String()),
});

const apiCall = Type.Object({
  id: Type.Integer(),
  at: moment,
  label: Type.String(),
  method: Type.String(),
  path: Type.String(),
  headers: Type.Record(Type.String(), Type.String()),
  body: may(Type.Unsafe<Record<string, unknown>>({ type: 'object', description: 'As it was sent, the key as $KEY.' })),
  curl: Type.String(),
  status: may(Type.Integer()),
  answer: may(Type.Unsafe<Record<string, unknown>>({ type: 'object' })),
  tookMs: may(Type.Integer()),
});

const receivedCallback = Type.Object({
  id: Type.Integer(),
  at: moment,
  state: Type.String(),
  oid: may(Type.String()),
  subject: oneOf(['invoice', 'operation', 'other']),
  url: Type.String(),
  isVerified: Type.Boolean(),
  answered: Type.Integer(),
  attempt: Type.Integer(),
  tookMs: Type.Integer(),
});

const wireMessage = Type.Object({
  seq: Type.Integer(),
  at: moment,
  deviceId: Type.String(),
  via: channelName,
  direction: oneOf(['toDevice', 'toGateway']),
  what: Type.String(),
  commandId: Type.String({ description: 'Of a Recall: the command that it asks about.' }),
  fate: oneOf(['carried', 'lost', 'doubled']),
});

const lastEntry = may(Type.Object({ amount: Type.Number(), text: Type.String(), at: moment }));
const refunds = Type.Object({ sum: Type.Number(), count: Type.Integer() });
const book = { sum: Type.Number(), count: Type.Integer(), last: lastEntry };

const books = Type.Object({
  bank: Type.Object({ ...book, refunds }),
  ledger: Type.Object({ ...book, refunds, unknown: Type.Integer() }),
  fiscal: Type.Object(book),
  erp: Type.Object({ ...book, refunds }),
  agree: Type.Boolean(),
  /** While operations run, the books may differ for a moment. */
  underWay: Type.Integer(),
  differences: Type.Array(textShown),
  since: moment,
});

const params = mapOf<string | number>('string', 'number');

const story = Type.Object({
  name: storyName,
  number: Type.Integer(),
  of: Type.Integer(),
  runId: Type.String(),
  isRunning: Type.Boolean(),
  isWaiting: may(Type.Boolean({ description: 'The story waits for the call that plays the next step.' })),
  startedAt: moment,
  steps: Type.Array(
    Type.Object({
      key: Type.String(),
      state: oneOf(['waiting', 'running', 'done', 'trouble']),
      atMs: may(Type.Integer({ description: 'Since the story began.' })),
      params: may(params),
    }),
  ),
  verdict: may(
    Type.Object({
      key: Type.String(),
      params,
      erpHadToDo: textShown,
      booksAgree: may(Type.Boolean({ description: 'Absent if the story did not reach its end: then the books were not compared.' })),
      saleCommandId: may(Type.String()),
      oid: may(Type.String()),
    }),
  ),
});

export const viewFields = {
  devices: Type.Array(device),
  till: Type.Object({
    sale: Type.Object({ items: Type.Array(saleItem), total: Type.Number() }),
    lastSale: may(sale),
    invoice: may(
      Type.Object({
        oid: Type.String(),
        state: oneOf(['NewItem', 'Scanned', 'Payed', 'Expired', 'Cancelled']),
        amount: Type.Number(),
        qrText: Type.String(),
        qrImage: Type.String({ description: 'Address of the picture.' }),
        expiresAt: may(moment),
      }),
    ),
  }),
  calls: Type.Array(apiCall),
  callbacks: Type.Array(receivedCallback),
  erp: Type.Object({ isDown: Type.Boolean() }),
  wire: Type.Array(wireMessage),
  books,
  story: may(story),
  stories: Type.Array(storyName),
  stepByStep: Type.Boolean({ description: 'Stories wait before each step.' }),
};

const view = Type.Object(viewFields);
export type PlaygroundView = Static<typeof view>;
export type DeviceView = PlaygroundView['devices'][number];
export type SaleView = Static<typeof sale>;
export type ApiCallView = Static<typeof apiCall>;
export type CallbackView = Static<typeof receivedCallback>;
export type WireView = Static<typeof wireMessage>;
export type BooksView = Static<typeof books>;
export type StoryView = Static<typeof story>;
