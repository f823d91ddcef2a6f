// A caller whose connection a test holds in its hand.
import type { Recipient } from '../../src/http/recipient.ts';

export interface FakeRecipient extends Recipient {
  /** He hangs up before the answer is written out. */
  leave(): void;
  /** The whole answer was written out to him. */
  receive(): void;
}

export function createFakeRecipient(): FakeRecipient {
  let hasLeft = false;
  const listeners: (() => void)[] = [];
  const { promise: received, resolve } = Promise.withResolvers<boolean>();
  return {
    hasLeft: () => hasLeft,
    onLeft(listener) {
      if (hasLeft) listener();
      else listeners.push(listener);
    },
    received,
    leave() {
      hasLeft = true;
      resolve(false);
      for (const listener of listeners) listener();
    },
    receive: () => resolve(true),
  };
}
