// One round of the play: everything that ran since the till last began something, in the order in which it happened, numbered.
// It is read from what the gateway has seen; the page adds nothing.
import type { PlayCall, Playground, PlaySale, Via } from '../../api/playground.ts';

/** `ask`: till to gateway; `tell`: gateway to till (answers and callbacks); the others are a device's channels. */
export type LineName = 'ask' | 'tell' | `${'terminal' | 'register'}.${Via}`;
export type Fate = 'carried' | 'lost' | 'doubled';

export interface Message {
  key: string;
  number: number;
  atMs: number;
  sinceMs: number;
  line: LineName;
  /** Away from the gateway or towards it; on the till's lines: the question and what comes back. */
  direction: 'out' | 'back';
  what: string;
  /** What it is about: messages about the same thing belong together. */
  about: string;
  fate: Fate;
  /** A message that was sent before, on this line or on another. */
  isRepeat: boolean;
}

/** A longer list is not readable. */
const longestRound = 40;
/** With these the till begins something new; every other call goes on with what is there. */
const openings = new Set(['pay', 'create', 'refund']);

export interface Shown {
  terminalId: string | undefined;
  registerId: string | undefined;
}

export function beginningOf({ calls, story }: Pick<Playground, 'calls' | 'story'>): number {
  const opening = calls.find(({ label }) => openings.has(label)) ?? calls.at(-1);
  const openedMs = opening ? Date.parse(opening.at) : -Infinity;
  if (!story) return openedMs;
  const startedMs = Date.parse(story.startedAt);
  const endedMs = story.isRunning ? Infinity : startedMs + Math.max(0, ...story.steps.map(({ atMs }) => atMs ?? 0));
  // A call after the story's end is play of its own.
  return openedMs <= endedMs ? startedMs : openedMs;
}

export function roundOf(play: Pick<Playground, 'calls' | 'story' | 'wire' | 'callbacks'>, { terminalId, registerId }: Shown): Message[] {
  const fromMs = beginningOf(play);
  const messages: Omit<Message, 'number' | 'sinceMs' | 'isRepeat'>[] = [];
  for (const call of play.calls) {
    const atMs = Date.parse(call.at);
    messages.push({
      key: `ask ${call.id}`,
      atMs,
      line: 'ask',
      direction: 'out',
      what: nameOf(call),
      about: JSON.stringify(call.body),
      fate: 'carried',
    });
    if (call.tookMs !== undefined)
      messages.push({
        key: `answer ${call.id}`,
        atMs: atMs + call.tookMs,
        line: 'tell',
        direction: 'back',
        what: `errorCode ${errorCodeOf(call) ?? call.status ?? '?'}`,
        about: `call ${call.id}`,
        fate: 'carried',
      });
  }
  for (const callback of play.callbacks)
    messages.push({
      key: `callback ${callback.id} ${callback.attempt}`,
      atMs: Date.parse(callback.at),
      line: 'tell',
      direction: 'back',
      what: callback.state,
      about: callback.url,
      fate: callback.answered >= 200 && callback.answered < 300 ? 'carried' : 'lost',
    });
  for (const message of play.wire) {
    const kind = message.deviceId === terminalId ? 'terminal' : message.deviceId === registerId ? 'register' : undefined;
    if (!kind) continue;
    messages.push({
      key: `wire ${message.seq}`,
      atMs: Date.parse(message.at),
      line: `${kind}.${message.via}`,
      direction: message.direction === 'toDevice' ? 'out' : 'back',
      what: message.what,
      about: message.commandId,
      fate: message.fate,
    });
  }
  const inOrder = messages
    .filter(({ atMs }) => atMs >= fromMs)
    .sort((a, b) => a.atMs - b.atMs || rank(a.line, a.direction) - rank(b.line, b.direction));
  const firstMs = inOrder[0]?.atMs ?? 0;
  const said = new Set<string>();
  return inOrder
    .map((message, index) => {
      const sentence = `${message.line.split('.')[0]} ${message.direction} ${message.what} ${message.about}`;
      const isRepeat = said.has(sentence);
      said.add(sentence);
      return { ...message, number: index + 1, sinceMs: message.atMs - firstMs, isRepeat };
    })
    .slice(-longestRound);
}

/** Within one millisecond a question stands before what it caused. */
function rank(line: LineName, direction: 'out' | 'back'): number {
  return line === 'ask' ? 0 : line === 'tell' ? 3 : direction === 'out' ? 1 : 2;
}

/** The end of the address is what people call it: Pay, CloseDoc, Invoice/Pay. */
export function nameOf(call: Pick<PlayCall, 'path'>): string {
  const parts = (call.path.split('?')[0] ?? '').split('/').filter((part) => part !== '' && !/^[\da-f-]{16,}$/i.test(part));
  const [room, name] = parts.slice(-2);
  return room !== undefined && name !== undefined && room !== 'payment' && room !== 'Device'
    ? `${room}/${name}`
    : (name ?? room ?? call.path);
}

export function errorCodeOf({ answer }: Pick<PlayCall, 'answer'>): number | undefined {
  const code = answer !== null && typeof answer === 'object' ? (answer as { errorCode?: unknown }).errorCode : undefined;
  return typeof code === 'number' ? code : undefined;
}

/** Only errorCode 50 is a decline, by the device or its bank; all other refusals began nothing. */
export function outcomeOf({ state, errorCode }: Pick<PlaySale, 'state' | 'errorCode'>): PlaySale['state'] | 'notBegun' {
  return state === 'refused' && errorCode !== 50 ? 'notBegun' : state;
}

/** An answer that says no: nothing is wrong with it. */
export function isNo({ what }: Pick<Message, 'what'>): boolean {
  return /\b(refused|declined|busy|expired|cancelled)\b|^errorCode (?!0$)/i.test(what);
}

export interface OnLine {
  out?: Message;
  back?: Message;
  /** The last one that never arrived. */
  lost?: Message;
  hasCarried: boolean;
}

/** What stands on each line: the last message each way; where one was lost, that one and what belongs to it stay. */
export function onLines(messages: readonly Message[]): Map<LineName, OnLine> {
  const lines = new Map<LineName, OnLine>();
  for (const name of new Set(messages.map(({ line }) => line))) {
    const own = messages.filter(({ line }) => line === name);
    const lost = own.findLast(({ fate }) => fate === 'lost');
    // Callbacks that were not taken are tried again on the same line: there the last one counts.
    const relevant = lost && name !== 'tell' ? own.filter(({ about, number }) => about === lost.about && number <= lost.number) : own;
    const last = (direction: Message['direction']) => relevant.findLast((message) => message.direction === direction);
    const [out, back] = [last('out'), last('back')];
    lines.set(name, {
      ...(out ? { out } : {}),
      ...(back ? { back } : {}),
      ...(lost ? { lost } : {}),
      hasCarried: own.some(({ fate }) => fate !== 'lost'),
    });
  }
  return lines;
}
