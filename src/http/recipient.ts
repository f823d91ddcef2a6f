// The caller that waits for an answer, and whether the answer was delivered: the ledger records undelivered outcomes [D58].
// Only TCP is observed: a caller behind a proxy that keeps its connection, or behind a cut cable, counts as connected.
import type { FastifyReply } from 'fastify';

export type Recipient = ReturnType<typeof recipientOf>;

export function recipientOf({ raw }: FastifyReply) {
  let hasLeft = raw.destroyed && !raw.writableFinished;
  const listeners: (() => void)[] = [];
  const received = new Promise<boolean>((resolve) => {
    if (hasLeft) resolve(false);
    raw.once('finish', () => resolve(true));
    raw.once('close', () => {
      if (raw.writableFinished || hasLeft) return;
      hasLeft = true;
      resolve(false);
      for (const listener of listeners) listener();
    });
  });
  // The end of the stream is read a turn or two before the connection closes; Node sends no answer after it.
  const hasEndedStream = () => raw.socket?.readableEnded === true && !raw.writableFinished;
  return {
    /** Whether the caller hung up before the whole answer was written out. */
    hasLeft: () => hasLeft || hasEndedStream(),
    /** Calls the listener when the caller hangs up; at once if that has happened. */
    onLeft(listener: () => void): void {
      if (hasLeft) listener();
      else listeners.push(listener);
    },
    /** Resolves to true when the whole answer was written to a connected caller, to false when the caller left before that. Never rejects. */
    received,
  };
}
