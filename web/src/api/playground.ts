// The Playground of the sandbox: devices with their screens, the till, the wire, the four books, the story.
// The page plays nothing itself: it shows what the server has observed.
import type { Answers } from './answers.ts';

export type Playground = Answers['readPlayground'];
export type PlayDevice = Playground['devices'][number];
export type Faults = PlayDevice['faults'];
export type Via = PlayDevice['channels'][number]['via'];
export const vias: readonly Via[] = ['mqtt', 'queue'];
export type PlaySale = NonNullable<Playground['till']['lastSale']>;
export type PlayInvoice = NonNullable<Playground['till']['invoice']>;
export type PlayCall = Playground['calls'][number];
export type PlayCallback = Playground['callbacks'][number];
export type WireMessage = Playground['wire'][number];
export type Books = Playground['books'];
export type Book = Books['fiscal'] & Partial<Pick<Books['bank'], 'refunds'>>;
export type Story = NonNullable<Playground['story']>;
export type StoryName = Story['name'];
export type StoryStep = Story['steps'][number];

/** `rest` of the address after /playground. */
export type Play = (rest: string, body?: object) => void;
