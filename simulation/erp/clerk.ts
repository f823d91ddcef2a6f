// Behaviour of every till: draw, pause, repeat until the answer is clear, and query the status where possible [D64].
import type { Random } from '../../src/kernel/random.ts';
import { operationStatus } from '../../src/ledger/operation-status.ts';
import type { Shop } from '../shop.ts';
import type { Answer, Asked, Call, Caller } from './caller.ts';
import { type Asking, createConfirmation } from './confirmation.ts';

export interface Counts {
  sales: number;
  paid: number;
  printed: number;
  invoices: number;
  invoicesPaid: number;
  refused: number;
  givenUp: number;
  /** A till that gave up without a clear answer: the gateway has to settle it alone. */
  left: number;
  repeated: number;
  statusAsked: number;
  /** Cash movements that met another request under their key. */
  underOneKey: number;
}

export interface Clerk {
  readonly shop: Shop;
  readonly random: Random;
  readonly counts: Counts;
  readonly caller: Caller;
  /** The shop closes: running sales are finished, no new ones start. */
  isClosing(): boolean;
  chance(rate: number): boolean;
  between(from: number, to: number): number;
  pick<Item>(items: readonly Item[]): Item;
  pause(ms: number): Promise<void>;
  /** An amount that may cause a fault of a device; with `isUnique` no other sale of the day has it. */
  amountBani(isUnique: boolean): number;
  /** Sends the same request until it is answered by one of `ends`; undefined if the till gives up or gets no clear answer. */
  insist(name: string, ends: readonly number[], call: Call, how?: Insistence): Promise<Answer | undefined>;
}

export interface Insistence {
  /** How often the till does not wait for the outcome. */
  leaveRate?: number;
  /** A repeat is recognised by its content only. */
  isUnnamed?: boolean;
  /** How often a till does not rely on a 0 that an operator has decided, and waits for the device; the others hand over the goods. */
  doubtRate?: number;
  asked?: Asked | undefined;
}

/** Amounts with these last digits cause faults of a virtual device; most do not. Without `busyForEver`. */
const magicEndings = [61, 62, 63, 64, 65, 66, 67, 68, 69, 71, 73, 74, 75];
const busyForEver = 72;

/** An equivalent amount with which no device is busy for ever. */
export function sparingBusy(bani: number): number {
  return bani % 100 === busyForEver ? bani - 1 : bani;
}

/** How often a till does not wait for an operation that locks nothing: only the gateway will ask again. */
export const oftenLeft = 0.3;
/** These mean that the outcome is unknown, or that this request did nothing. */
const unclear: readonly number[] = [2, 3, 30, 31, 41];
const maxTries = 2_000;
/**
 * A request without number and key is recognised for ten minutes [D58]: a till without an answer for that long asks a person and does not
 * repeat it.
 */
const unnamedForMs = 9 * 60_000;
/** After a calm of this length every call has an answer. */
const maxCalmMs = 75 * 60_000;
/**
 * After this time a till that was answered 3 queries the outcome before it tries again: otherwise it would retry for ever what its device
 * refuses every time after five minutes.
 */
const asksFirstAfterMs = 20 * 60_000;

export function createClerk(shop: Shop, random: Random, caller: Caller, counts: Counts, isClosing: () => boolean): Clerk {
  const chance = (rate: number) => random.fraction() < rate;
  const between = (from: number, to: number) => Math.floor(from + random.fraction() * (to - from));
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random.fraction() * items.length)] as Item;
  const pause = (ms: number) => new Promise<void>((resolve) => shop.clock.after(ms, resolve));
  const used = new Set<number>();

  function amountBani(isUnique: boolean): number {
    for (;;) {
      const bani = between(1, isUnique ? 20_000 : 500) * 100 + (chance(0.25) ? pick(magicEndings) : between(0, 60));
      if (isUnique && used.has(bani)) continue;
      used.add(bani);
      return bani;
    }
  }

  /** Queries the outcome, without side effects; the answer counts like the call's own. */
  async function askStatus(name: string, oid: string): Promise<Answer> {
    counts.statusAsked += 1;
    const modules = new Set(['POS', 'Fiscal'] as const);
    return caller.ask(`status of ${name}`, (life, { recipient }) =>
      operationStatus(life, { merchantId: shop.merchantId, modules, oid, recipient }),
    );
  }

  const insistAgain = ({ name, ends, call, how }: Asking) => insistOnEnd(name, ends, call, how);
  const confirm = createConfirmation({ shop, caller, pause, between, chance, askStatus, insistAgain });

  async function insist(name: string, ends: readonly number[], call: Call, how: Insistence = {}): Promise<Answer | undefined> {
    const answer = await insistOnEnd(name, ends, call, how);
    const { oid } = answer ?? {};
    const isDecided = answer?.code === 0 && oid !== undefined && shop.earlyOperator.isCalledDone(oid);
    return isDecided && chance(how.doubtRate ?? 0.5) ? confirm({ name, ends, call, how }, answer, oid) : answer;
  }

  async function insistOnEnd(name: string, ends: readonly number[], call: Call, how: Insistence): Promise<Answer | undefined> {
    const { leaveRate = 0, isUnnamed = false, asked } = how;
    let silentSinceMs: number | undefined;
    let answer: Answer | undefined;
    let calmSinceMs: number | undefined;
    let disputedOid: string | undefined;
    for (let tries = 0; tries < maxTries; tries += 1) {
      if (shop.state.isCalm) calmSinceMs ??= shop.clock.elapsed();
      const calmMs = shop.clock.elapsed() - (calmSinceMs ?? shop.clock.elapsed());
      if (calmMs > maxCalmMs) break;
      if (calmMs > asksFirstAfterMs && answer?.code === 3 && answer.oid !== undefined) {
        const ended = await askStatus(name, answer.oid);
        if (ended.code !== undefined && ends.includes(ended.code)) return ended;
      }
      // An equal request is disputed: its resolution decides, as the answer says [D143]. A repeat would charge again.
      if (isUnnamed && answer?.code === 31 && answer.oid !== undefined && wasDisputed(answer.oid)) disputedOid ??= answer.oid;
      if (disputedOid !== undefined) {
        const resolved = await askStatus(name, disputedOid);
        if (resolved.code !== undefined && (ends.includes(resolved.code) || resolved.code === 22)) return resolved;
        await pause(between(2_000, 15_000));
        continue;
      }
      if (answer?.code !== undefined) silentSinceMs = undefined;
      silentSinceMs ??= shop.clock.elapsed();
      // The till disconnects in time as well: a call that waited longer at a gateway would not be recognised either.
      const leftMs = isUnnamed ? silentSinceMs + unnamedForMs - shop.clock.elapsed() : Number.POSITIVE_INFINITY;
      if (leftMs <= 0) {
        counts.left += 1;
        return undefined;
      }
      answer = await caller.ask(name, call, { asked, silent: answer?.code === undefined ? answer?.gateway : undefined, atMostMs: leftMs });
      if (leaveRate > 0 && (answer.code === 3 || answer.code === undefined) && chance(leaveRate)) {
        counts.left += 1;
        return undefined;
      }
      if (answer.code === 3 && answer.oid !== undefined && chance(0.3)) answer = await askStatus(name, answer.oid);
      if (answer.isRepeated) counts.repeated += 1;
      if (answer.code !== undefined && ends.includes(answer.code)) return answer;
      // It was disputed, and an operator has resolved it as executed: it is not done again [D143].
      if (answer.code === 22 && answer.oid !== undefined && (wasDisputed(answer.oid) || wasClosedByDecision(answer.oid))) return answer;
      if (answer.code !== undefined && !unclear.includes(answer.code)) {
        shop.violated(`${name} was answered ${answer.code}, which it cannot be`);
        return undefined;
      }
      // The device is busy: let it work.
      await pause(answer.code === 31 ? between(2_000, 15_000) : between(500, Math.min(60_000, 2_000 * (tries + 1))));
    }
    counts.givenUp += 1;
    shop.violated(`${name} was given up after ${maxCalmMs / 60_000} minutes of calm; the last answer was ${answer?.code ?? 'none'}`);
    return undefined;
  }

  /** Decided as done without its number, so its document is closed [D308]. */
  function wasClosedByDecision(commandId: string): boolean {
    const isClosed = shop.storage.peek(`select 1 from commands where id = ? and document_state = 'closed'`, [commandId]).length > 0;
    return isClosed && shop.earlyOperator.wasCalledDone(commandId);
  }

  function wasDisputed(commandId: string): boolean {
    return shop.storage.peek('select 1 from commands where id = ? and disputed_from is not null', [commandId]).length > 0;
  }

  return { shop, random, counts, caller, isClosing, chance, between, pick, pause, amountBani, insist };
}
