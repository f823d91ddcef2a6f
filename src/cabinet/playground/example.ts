// Example of the playground in the API document: a card payment whose answer was lost and recovered.
import { exampleIds, exampleTime } from '../shared-schemas.ts';
import { type PlaygroundView, storyNames } from './view-schema.ts';

const refunds = { sum: 0, count: 0 };
const book = { sum: 150.5, count: 1 };

export const playgroundExample: PlaygroundView = {
  devices: [
    {
      id: exampleIds.device,
      kind: 'terminal',
      name: 'Terminal maib',
      bank: 'maib',
      isOn: true,
      byHand: true,
      channels: [
        { via: 'mqtt', isConnected: true, isCut: false },
        { via: 'queue', isConnected: true, isCut: false },
      ],
      screen: { state: 'presentCard', text: '150.50 MDL: present the card', amount: 150.5, commandId: exampleIds.callback },
      waitsFor: 'card',
      faults: { loseAnswer: true, answerTwice: false, paperOut: false },
    },
  ],
  till: { sale: { items: [{ name: 'Coffee', quantity: 2, price: 35, total: 70 }], total: 70 } },
  calls: [
    {
      id: 1,
      at: exampleTime,
      label: 'pay',
      method: 'POST',
      path: '/Device/payment/Pay',
      headers: { 'Content-Type': 'application/json' },
      body: { APIKey: '$KEY', DeviceID: exampleIds.device, amount: 150.5 },
      curl: 'curl -X POST http://127.0.0.1:8080/tillgate/Device/payment/Pay …',
      status: 200,
      answer: { errorCode: 0, errorMessage: '' },
      tookMs: 3_180,
    },
  ],
  callbacks: [],
  erp: { isDown: false },
  wire: [
    {
      seq: 1,
      at: exampleTime,
      deviceId: exampleIds.device,
      via: 'mqtt',
      direction: 'toGateway',
      what: 'done',
      commandId: exampleIds.callback,
      fate: 'lost',
    },
  ],
  books: {
    bank: { ...book, refunds },
    ledger: { ...book, refunds, unknown: 0 },
    fiscal: book,
    erp: { ...book, refunds },
    agree: true,
    underWay: 0,
    differences: [],
    since: exampleTime,
  },
  stories: [...storyNames],
  stepByStep: false,
};
