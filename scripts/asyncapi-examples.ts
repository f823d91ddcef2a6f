// Examples of every message, one sale after the other: what asyncapi/v1.json shows. A test holds each against its schema.
import type { CommandName, JsonObject, Outcome } from '../src/link/protocol.ts';
import { commandNames, ledgerCommandNames } from '../src/link/protocol.ts';
import type { AnswerMessage, CommandMessage, PresenceMessage } from '../src/link/wire-schemas.ts';

export const exampleDevice = 'b4c7b0f6-3f5e-4f0e-9a51-5d2f8e7c1a90';
const exampleGateway = '5f0d8f0a-61c5-4a3e-8d0b-2f6b7f0f9a11';
const journalId = '0c2f6a1e-8d3b-4c57-9f10-6a7e5b4d3c21';
const bootId = 'e81d0f7c-5a42-4f6d-b3c9-7d1e2f3a4b5c';
const documentNr = '3f9f6a52-0c1d-4e8b-a7c6-1b2d3e4f5a6b';

interface Sample {
  args: JsonObject;
  report?: JsonObject;
  answerWithinS: number;
}

const payReport = { rrn: '407312908813', authCode: '283749', operationId: '000147', amount: 150.5 };
const receipt = {
  Number: 'A-1',
  Uid: 'order-1001',
  Items: [{ Name: 'Coffee', Quantity: 2, Price: 35 }],
  Payments: [{ PaymentCode: 1 }],
};

const samples: Record<CommandName, Sample> = {
  Pay: {
    args: { amount: 150.5, currency: 'MDL', documentNr },
    report: { ...payReport, token: '9d1c5e', maskedCard: '516793******0042', time: '2026-03-02T09:00:21.310Z' },
    answerWithinS: 300,
  },
  CloseDoc: { args: { documentNr, operationId: '000147' }, answerWithinS: 60 },
  CloseDay: { args: {}, report: { count: 42, amount: 18350.75, totals: { sales: 18415.25, refunds: 64.5 } }, answerWithinS: 60 },
  Refund: {
    args: { documentNr, operationId: '000147', rrn: '407312908813', amount: 50, currency: 'MDL' },
    report: { rrn: '407312909120', operationId: '000151', amount: 50 },
    answerWithinS: 60,
  },
  CancelTransaction: {
    args: { documentNr, operationId: '000147', token: '9d1c5e', amount: 150.5 },
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
  PrintReceipt: { args: { receipt }, report: { receiptId: 'b4c7b0f6-00000003', fiscalNumber: '00000003', total: 70 }, answerWithinS: 300 },
  Status: { args: {}, report: { online: true, battery: 80, paper: 'OK', bank: 'maib', signal: 70 }, answerWithinS: 20 },
  LastTransaction: {
    args: {},
    report: {
      commandId: idOf(1),
      kind: 'CloseDoc',
      state: 'approved',
      lastPayment: { ...payReport, commandId: idOf(0), kind: 'Pay', state: 'approved' },
    },
    answerWithinS: 30,
  },
  Abort: { args: { target: idOf(0) }, answerWithinS: 60 },
  Recall: { args: { target: idOf(0) }, report: { state: 'final', outcome: 'done', report: payReport }, answerWithinS: 30 },
};

const withoutStartBy: readonly CommandName[] = ['Recall', 'Abort', 'Status'];

function idOf(index: number): string {
  return `7a1e4c20-9b3d-4f5a-8c6e-0000000000${String(index + 10)}`;
}

function atSecond(second: number): string {
  return new Date(Date.parse('2026-03-02T09:00:00.000Z') + second * 1000).toISOString();
}

export function exampleCommand(name: CommandName): CommandMessage {
  const { args, answerWithinS } = samples[name];
  return {
    v: 1,
    id: idOf(commandNames.indexOf(name)),
    name,
    replyTo: exampleGateway,
    issuedAt: atSecond(0),
    ...(withoutStartBy.includes(name) ? {} : { startBy: atSecond(10) }),
    answerBy: atSecond(answerWithinS),
    args,
  };
}

function answer(name: CommandName, outcome: Outcome, extras: { report?: JsonObject; reason?: string } = {}): AnswerMessage {
  return { v: 1, id: idOf(commandNames.indexOf(name)), device: exampleDevice, clock: atSecond(1), journalId, outcome, ...extras };
}

export function exampleAnswers(name: CommandName): { name: string; summary: string; payload: AnswerMessage }[] {
  const { report } = samples[name];
  const isLedger = ledgerCommandNames.some((ledgerName) => ledgerName === name);
  const done = { name: 'done', summary: 'It was done.', payload: answer(name, 'done', report === undefined ? {} : { report }) };
  if (name === 'Recall') {
    const never = { summary: 'Never seen; buried now.', payload: answer(name, 'done', { report: { state: 'never' } }) };
    const running = { summary: 'It is under way.', payload: answer(name, 'done', { report: { state: 'running' } }) };
    return [done, { name: 'running', ...running }, { name: 'never', ...never }];
  }
  if (name === 'Abort') {
    const late = answer(name, 'refused', { reason: 'The bank has been asked.' });
    return [done, { name: 'refused', summary: 'Too late.', payload: late }];
  }
  if (!isLedger) return [done];
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
