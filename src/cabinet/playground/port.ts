// The interface of the playground for the cabinet. Only a sandbox has a playground; src/playground implements it and depends on this room.
import type { Bani } from '../../kernel/money.ts';
import type { PlaygroundView, personActs, StoryName } from './view-schema.ts';

export interface SaleRequest {
  /** Absent: the basket of the till, or one item for `amountBani`. */
  items?: readonly { name: string; quantity: number; price: number | string }[] | undefined;
  amountBani?: Bani | undefined;
  deviceId: string;
  registerId?: string | undefined;
}

export interface FaultsChange {
  loseAnswer?: boolean | undefined;
  answerTwice?: boolean | undefined;
  paperOut?: boolean | undefined;
  /** Null cancels it. */
  powerCut?: 'beforeBank' | 'afterBank' | null | undefined;
}

/** Each change throws a GatewayError if it is not possible. It returns at once; read the playground to see its effect. */
export interface PlaygroundPort {
  /** The owner of the devices and sales. */
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
  /** Absent: the rest of the last sale. */
  refund(amountBani: Bani | undefined): void;
  again(): void;
  setErpDown(isDown: boolean): void;
  emptyBooks(): void;
  play(name: StoryName): { runId: string };
  stopStory(): void;
  setStepByStep(isOn: boolean): void;
  nextStep(): void;
}
