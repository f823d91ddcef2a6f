// The Abort to a terminal: a request to stop a payment, which has its own row already [D315]. The payment's own answer decides, and may come
// before the terminal's answer to the Abort, or instead of it.
// If the process dies, the row is open, and the settlement of the payment ends it.
import type { Recipient } from '../http/recipient.ts';
import { type Clock, sleep } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Link } from '../link/link.ts';
import type { Op } from './case.ts';
import type { Effect, Event } from './event.ts';
import type { Ran, Run } from './run.ts';
import type { Waits } from './waits.ts';

const abortTimeoutMs = 60_000;
/** If the terminal refuses the Abort, it may have just ended the payment: its answer is on the way. */
const finalAnswerMs = 2_000;

interface Deps {
  clock: Clock;
  logger: Logger;
  link: Pick<Link, 'ask' | 'presence'>;
  run: Run;
  waits: Pick<Waits, 'waitFor'>;
}

type SendAbort = Extract<Effect, { type: 'sendAbort' }>;

/** Resolves when the request has ended, or when its outcome is not known in time; rejects if nothing was sent. */
export function createStop({ clock, logger, link, run, waits }: Deps) {
  return async ({ targetId, deviceId }: SendAbort, { id }: Op, recipient: Recipient | undefined): Promise<void> => {
    // If this cannot be written, the settlement of the payment ends the request.
    const end = (event: Event): Promise<Ran | undefined> =>
      run(event).catch((error: unknown) => {
        logger.error({ err: error, commandId: id }, 'an abort could not be ended');
        return undefined;
      });
    const settling = waits.waitFor(id, 'sent', abortTimeoutMs, recipient);
    const channel = link.presence.of(deviceId)?.liveOn[0] ?? 'mqtt';
    const asking = link.ask(deviceId, { name: 'Abort', args: { target: targetId }, timeoutMs: abortTimeoutMs, preferredChannel: channel });
    const word = await Promise.race([asking, settling.then(() => undefined)]).catch(async (error: unknown) => {
      // Its caller learns that nothing was sent: a refusal of the payment must not cancel its invoice later.
      const ended = await end({ type: 'NotSent', id, reason: 'The Abort could not be sent.' });
      if (ended?.case.ops[id]?.state === 'never') throw error;
      return ended ? undefined : 'not written';
    });
    if (word === 'not written') return;
    if (word?.outcome !== 'refused' && word?.outcome !== 'unsupported') {
      await settling;
      return;
    }
    // It may have refused because it was just ending the payment.
    await Promise.race([settling, sleep(clock, finalAnswerMs)]);
    await end({ type: 'AbortRefused', id });
  };
}
