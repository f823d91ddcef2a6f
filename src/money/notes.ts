// What is written late, in the background, so that no answer waits for it: that a device has accepted a command, and whether a caller has an
// outcome [D58]. What this gateway has gathered belongs to its facts at once.
//
// If the process dies before a note is written
//   an acceptance ... the effect is that of a lost message: Recall gets "running" or the outcome
//   a delivery ...... the outcome counts as not received: a repeat gets the stored outcome, and nothing is executed
// If the database is down, notes are kept and written again later; above `maxWaiting` the oldest are dropped.

import type { Recipient } from '../http/recipient.ts';
import { growingPauseMs } from '../kernel/backoff.ts';
import { BoundedMap } from '../kernel/bounded-map.ts';
import type { Cancel, Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Id, Op } from './case.ts';
import type { Event } from './event.ts';
import { isOpen } from './rules/facts.ts';

/** Longer than a quick command takes: its settlement includes the acceptance, so nothing is left to write. */
const gatherMs = 250;
const maxWaiting = 10_000;
const maxAtOnce = 32;
const pauses = { firstMs: 500, maxMs: 30_000 };

export interface Notes {
  accepted(id: Id): void;
  wasAccepted(id: Id): boolean;
  /**
   * Meanwhile no acceptance of the operation is written, because its end includes it. Such a note would wait for the end, and fail with the
   * whole batch in which it is.
   */
  whileEnding<Result>(id: Id, end: () => Promise<Result>): Promise<Result>;
  /** The operation has ended, which includes its acceptance. */
  ended(id: Id): void;
  received(id: Id): void;
  missed(id: Id): void;
  /** An answer about the operation is being sent. Without a recipient it counts as received. */
  answered(op: Op, recipient: Pick<Recipient, 'received'> | undefined): void;
  /** Adds what is not written yet to a row that was loaded for a call. */
  overlay(op: Op, now: number): void;
  /** Writes what is left, once. */
  stop(): Promise<void>;
}

interface Deps {
  clock: Clock;
  logger: Logger;
  commit(event: Event): Promise<unknown>;
}

export function createNotes({ clock, logger, commit }: Deps): Notes {
  const acceptances = new BoundedMap<Id, number>(maxWaiting);
  const deliveries = new BoundedMap<Id, 'received' | 'missed'>(maxWaiting);
  const ending = new Set<Id>();
  let writing: Promise<void> | undefined;
  let timer: Cancel | undefined;
  let failures = 0;
  let isStopped = false;

  function* due(): Generator<Event> {
    const now = clock.elapsed();
    for (const [id, was] of deliveries) yield { type: 'Delivery', id, was };
    for (const [id, since] of acceptances) if (!ending.has(id) && (isStopped || since + gatherMs <= now)) yield { type: 'Accepted', id };
  }

  async function writeOne(event: Event): Promise<void> {
    await commit(event);
    if (event.type === 'Accepted') acceptances.delete(event.id);
    if (event.type === 'Delivery' && deliveries.get(event.id) === event.was) deliveries.delete(event.id);
  }

  async function writeAll(): Promise<void> {
    try {
      for (let batch = [...take(due())]; batch.length > 0; batch = [...take(due())]) await Promise.all(batch.map(writeOne));
      failures = 0;
    } catch (error) {
      failures += 1;
      const waiting = acceptances.size + deliveries.size;
      logger.warn({ err: error, waiting }, 'notes about acceptances and received outcomes could not be written; the write will be retried');
    }
    if (acceptances.size + deliveries.size > 0) later(failures > 0 ? growingPauseMs(failures, pauses) : gatherMs);
  }

  function write(): void {
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
  }

  function later(ms: number): void {
    if (isStopped) return;
    timer ??= clock.after(ms, () => {
      timer = undefined;
      write();
    });
  }

  function deliver(id: Id, was: 'received' | 'missed'): void {
    if (deliveries.get(id) === 'received') return;
    deliveries.delete(id);
    deliveries.set(id, was);
    if (failures === 0) write();
    else later(pauses.firstMs);
  }

  return {
    accepted(id) {
      if (!acceptances.has(id)) acceptances.set(id, clock.elapsed());
      later(gatherMs);
    },
    wasAccepted: (id) => acceptances.has(id),
    async whileEnding(id, end) {
      ending.add(id);
      try {
        return await end();
      } finally {
        ending.delete(id);
      }
    },
    ended: (id) => void acceptances.delete(id),
    received: (id) => deliver(id, 'received'),
    missed: (id) => deliver(id, 'missed'),
    answered(op, recipient) {
      if (op.requestHash === null || op.receivedAt !== null) return;
      if (isOpen(op) || op.standing === 'Disputed') deliver(op.id, 'missed');
      else if (!recipient) deliver(op.id, 'received');
      else void recipient.received.then((isReceived) => deliver(op.id, isReceived ? 'received' : 'missed'));
    },
    overlay(op, now) {
      const was = deliveries.get(op.id);
      const isUnclear = isOpen(op) || op.state === 'disputed';
      if (was === 'missed') op.missedAt = isUnclear ? now : (op.missedAt ?? now);
      if (was === 'received' && !isUnclear) op.receivedAt ??= now;
    },
    async stop() {
      isStopped = true;
      timer?.();
      await writing;
      await writeAll();
    },
  };
}

function* take(events: Generator<Event>): Generator<Event> {
  let count = 0;
  for (const event of events) {
    yield event;
    count += 1;
    if (count === maxAtOnce) return;
  }
}
