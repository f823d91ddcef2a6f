// What the cabinet needs of the playground; the sandbox gives one in, a real gateway none. The room that plays it stands above this one.
import type { Bani } from '../../kernel/money.ts';
import type { PlaygroundView, personActs, StoryName } from './view-schema.ts';

export interface SaleRequest {
  /** Absent: the basket that the till shows, or one thing for `amountBani`. */
  items?: readonly { name: string; quantity: number; price: number | string }[] | undefined;
  amountBani?: Bani | undefined;
  deviceId: string;
  registerId?: string | undefined;
}

export interface FaultsChange {
  loseAnswer?: boolean | undefined;
  answerTwice?: boolean | undefined;
  paperOut?: boolean | undefined;
  /** Null takes it back. */
  powerCut?: 'beforeBank' | 'afterBank' | null | undefined;
}

/** Each change throws a GatewayError when it cannot be made, and answers at once: what follows from it is seen by reading. */
export interface PlaygroundPort {
  /** Whose devices and sales these are. */
  readonly merchantId: string;
  read(): Promise<PlaygroundView>;
  setByHand(deviceId: string, byHand: boolean): void;
  act(deviceId: string, action: (typeof personActs)[number]): void;
  arm(deviceId: string, faults: FaultsChange): void;
  setChannel(deviceId: string, via: 'mqtt' | 'queue', isCut: boolean): void;
  setPower(deviceId: string, isOn: boolean): void;
  sell(request: SaleRequest): { saleId: string };
  createInvoice(request: { amountBani?: Bani | undefined; expiresInS?: number | undefined }): { saleId: string };
  scanInvoice(deviceId: string): void;
  payInvoice(deviceId: string): void;
  /** Absent: all that is left of the last sale. */
  refund(amountBani: Bani | undefined): void;
  again(): void;
  setErpDown(isDown: boolean): void;
  emptyBooks(): void;
  play(name: StoryName): { runId: string };
  stopStory(): void;
  setStepByStep(isOn: boolean): void;
  nextStep(): void;
}
