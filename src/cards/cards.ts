// POS Mode: its calls as one object.
import type { DeviceAnswer } from '../ledger/answers.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import { cancelTransaction } from './cancel-transaction.ts';
import { cardKinds } from './card-kinds.ts';
import type { CardsDeps } from './cards-deps.ts';
import { closeDoc, closeDocumentByHand } from './close-document.ts';
import { lastTransaction } from './last-transaction.ts';
import { pay } from './pay.ts';
import { plainOperation } from './plain-operation.ts';
import { refund } from './refund.ts';

type WithoutDeps<Call> = Call extends (deps: CardsDeps, request: infer Request) => infer Result ? (request: Request) => Result : never;

export interface Cards {
  pay: WithoutDeps<typeof pay>;
  lastTransaction: WithoutDeps<typeof lastTransaction>;
  closeDoc: WithoutDeps<typeof closeDoc>;
  closeDay(request: DeviceCall): Promise<DeviceAnswer>;
  refund: WithoutDeps<typeof refund>;
  cancelTransaction: WithoutDeps<typeof cancelTransaction>;
  plainOperation: WithoutDeps<typeof plainOperation>;
  closeDocumentByHand: WithoutDeps<typeof closeDocumentByHand>;
}

export function createCards(deps: CardsDeps): Cards {
  deps.ledger.define(cardKinds(deps));
  return {
    pay: (request) => pay(deps, request),
    lastTransaction: (request) => lastTransaction(deps, request),
    closeDoc: (request) => closeDoc(deps, request),
    closeDay: (request) => plainOperation(deps, { ...request, name: 'CloseDay' }),
    refund: (request) => refund(deps, request),
    cancelTransaction: (request) => cancelTransaction(deps, request),
    plainOperation: (request) => plainOperation(deps, request),
    closeDocumentByHand: (request) => closeDocumentByHand(deps, request),
  };
}
