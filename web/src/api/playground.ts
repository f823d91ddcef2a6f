// The Playground of the sandbox as the API returns it: devices with their screens, the till, the wire, the four books, the story.
// The page plays nothing itself: it shows what the server has observed.
import type { Said } from './views.ts';

export type Via = 'mqtt' | 'queue';
export const vias: readonly Via[] = ['mqtt', 'queue'];

export type ScreenState =
  | 'idle'
  | 'presentCard'
  | 'enterPin'
  | 'asking'
  | 'approved'
  | 'declined'
  | 'refused'
  | 'busy'
  | 'off'
  | 'printing'
  | 'outOfPaper';

export interface Faults {
  loseAnswer?: boolean;
  answerTwice?: boolean;
  paperOut?: boolean;
  powerCut?: 'beforeBank' | 'afterBank';
}

export interface PlayDevice {
  id: string;
  kind: 'terminal' | 'register';
  name: string;
  bank?: string;
  isOn: boolean;
  byHand: boolean;
  channels: { via: Via; isConnected: boolean; isCut: boolean }[];
  screen: { state: ScreenState; text: string; amount?: number; commandId?: string; authCode?: string; maskedCard?: string };
  waitsFor?: 'card' | 'pin';
  /** The operation that keeps the device from taking a new one. */
  heldBy?: { commandId: string; documentState?: string; amount?: number };
  faults: Faults;
  paper?: { lines: string[]; at: string; kind: 'receipt' | 'slip' | 'X' | 'Z'; number?: string };
}

export interface PlayItem {
  name: string;
  quantity: number;
  price: number;
  total: number;
}

export interface PlaySale {
  kind: 'card' | 'qr';
  state: 'waiting' | 'paying' | 'closing' | 'printing' | 'done' | 'refused' | 'unknown' | 'noReceipt';
  items: PlayItem[];
  total: number;
  paid: number;
  refunded: number;
  /** Of the payment, or of the receipt. */
  commandId?: string;
  oid?: string;
  message?: string;
}

export interface PlayInvoice {
  oid: string;
  state: string;
  amount: number;
  qrText: string;
  expiresAt?: string;
}

export interface PlayCall {
  id: number;
  at: string;
  label: string;
  method: string;
  path: string;
  body?: unknown;
  curl: string;
  status?: number;
  answer?: unknown;
  tookMs?: number;
}

export interface PlayCallback {
  id: number;
  at: string;
  state: string;
  oid?: string;
  subject: string;
  url: string;
  isVerified: boolean;
  answered: number;
  attempt: number;
  tookMs: number;
}

export interface WireMessage {
  seq: number;
  at: string;
  deviceId: string;
  via: Via;
  direction: 'toDevice' | 'toGateway';
  what: string;
  commandId: string;
  fate: 'carried' | 'lost' | 'doubled';
}

export interface Book {
  sum: number;
  count: number;
  refunds?: { sum: number; count: number };
  last?: { amount: number; text: string };
}

export interface Books {
  bank: Book;
  ledger: Book & { unknown: number };
  fiscal: Book;
  erp: Book;
  agree: boolean;
  /** While an operation is in progress, the books may differ for a moment. */
  underWay: number;
  differences: Said[];
  since: string;
}

export interface StoryStep {
  key: string;
  state: 'waiting' | 'running' | 'done' | 'trouble';
  atMs?: number;
  params?: Said['params'];
}

export interface Story {
  name: string;
  number: number;
  of: number;
  runId: string;
  isRunning: boolean;
  /** The story waits for the next step to be requested. */
  isWaiting?: boolean;
  startedAt: string;
  steps: StoryStep[];
  verdict?: Said & { erpHadToDo: Said; booksAgree?: boolean; saleCommandId?: string; oid?: string };
}

export interface Playground {
  devices: PlayDevice[];
  till: {
    /** What the next sale will be. */
    sale: Pick<PlaySale, 'items' | 'total'>;
    lastSale?: PlaySale;
    invoice?: PlayInvoice;
  };
  calls: PlayCall[];
  callbacks: PlayCallback[];
  erp: { isDown: boolean };
  wire: WireMessage[];
  books: Books;
  story?: Story;
  stories: string[];
  stepByStep: boolean;
}

/** `rest` of the address after /playground. */
export type Play = (rest: string, body?: object) => void;
