// Who waits for the answer to a request, and whether it reached him: the ledger must know which outcomes no caller has received [D58].
// As far as TCP can tell: a caller behind a proxy that keeps its connection, or behind a cable that was cut, counts as connected.
import type { FastifyReply } from 'fastify';

export interface Recipient {
  /** Whether he hung up before the whole answer was written out. */
  hasLeft(): boolean;
  /** Called when he hangs up; at once if he has. */
  onLeft(listener: () => void): void;
  /** True once the whole answer was written out to a caller still connected, false once he has left without it. Never rejects. */
  readonly received: Promise<boolean>;
}

export function recipientOf({ raw }: FastifyReply): Recipient {
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
  // His last word is read a turn or two before the connection is closed over it; Node answers nobody who has said it.
  const hasSaidGoodbye = () => raw.socket?.readableEnded === true && !raw.writableFinished;
  return {
    hasLeft: () => hasLeft || hasSaidGoodbye(),
    onLeft(listener) {
      if (hasLeft) listener();
      else listeners.push(listener);
    },
    received,
  };
}
