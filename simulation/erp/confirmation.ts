// A till that was answered 0 by an operator's decision, and does not rely on it [D143]: it waits until the device has confirmed it, or has
// denied it and the dispute is resolved. It queries the outcome, or repeats a request with a number or key: once the first is resolved as
// not executed, that is a new attempt.
import type { Shop } from '../shop.ts';
import type { Answer, Asked, Call, Caller } from './caller.ts';

/** An operation that a till wants confirmed. */
export interface Asking {
  name: string;
  ends: readonly number[];
  call: Call;
  how: { isUnnamed?: boolean; asked?: Asked | undefined };
}

interface Deps {
  shop: Shop;
  caller: Caller;
  pause(ms: number): Promise<void>;
  between(from: number, to: number): number;
  chance(rate: number): boolean;
  askStatus(name: string, oid: string): Promise<Answer>;
  insistAgain(asking: Asking): Promise<Answer | undefined>;
}

/**
 * Devices are asked again when a decision has doubled its age [D189], and are offline for seven minutes at most; a longer silence needs a
 * person.
 */
const confirmedWithinMs = 40 * 60_000;

export function createConfirmation({ shop, caller, pause, between, chance, askStatus, insistAgain }: Deps) {
  const isDisputed = (commandId: string) =>
    shop.storage.peek(`select 1 from commands where id = ? and state = 'disputed'`, [commandId]).length > 0;

  return async (asking: Asking, decided: Answer, oid: string): Promise<Answer | undefined> => {
    const { name, ends, call, how } = asking;
    const untilMs = shop.clock.elapsed() + confirmedWithinMs;
    /** A repeat that was not answered may have begun a new attempt, about which the OID of the first says nothing. */
    let isUnanswered = false;
    while (shop.clock.elapsed() < untilMs) {
      await pause(between(2_000, 30_000));
      const wasDisputed = isDisputed(oid);
      const isRepeat: boolean = isUnanswered || (how.isUnnamed !== true && chance(0.4));
      const now: Answer = isRepeat ? await caller.ask(name, call, { asked: how.asked }) : await askStatus(name, oid);
      if (isRepeat) isUnanswered = now.code === undefined;
      if (now.code === 0 && wasDisputed && isDisputed(oid)) shop.violated(`${name} was answered 0, and ${oid} is disputed`);
      const isEnd = now.code !== undefined && ends.includes(now.code);
      if (now.oid !== undefined && now.oid !== oid) return isEnd ? now : insistAgain(asking);
      if (isEnd && !shop.earlyOperator.isCalledDone(oid)) return now;
    }
    return decided;
  };
}
