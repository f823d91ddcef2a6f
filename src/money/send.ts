// From the committed row, over the wire, to the committed outcome: the operations that this gateway is executing.
// Once a command may have been published, any failure of the gateway is answered 3 [D59]: the outcome is kept in memory and committed when
// the database is back. If the process dies before that, the row is open, and Recall asks the device.
import type { Recipient } from '../http/recipient.ts';
import { growingPauseMs } from '../kernel/backoff.ts';
import { maskReport } from '../kernel/card-mask.ts';
import { maskCardNumbers } from '../kernel/card-numbers.ts';
import type { Cancel, Clock } from '../kernel/clock.ts';
import { boundReport } from '../kernel/device-texts.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Timeline } from '../ledger/timeline.ts';
import type { UnmatchedReports } from '../ledger/unmatched.ts';
import type { Deadlines } from '../link/carrying/deadlines.ts';
import type { CarryResult } from '../link/carrying/delivery.ts';
import type { ChannelName } from '../link/channel.ts';
import type { Link } from '../link/link.ts';
import type { JsonObject, LedgerCommandName } from '../link/protocol.ts';
import type { Ending, Id, Op, Source } from './case.ts';
import type { DeviceEvent, Event, ReportEvent } from './event.ts';
import type { Notes } from './notes.ts';
import type { Ran, Run } from './run.ts';

const pauses = { firstMs: 500, maxMs: 30_000 };
/** Pauses before the reads of a row whose commit is not certain, a minute together. */
const readBackPausesMs = [500, 1_500, 3_000, 5_000, 10_000, 20_000, 20_000];

export interface Sent {
  op: Op;
  deadlines: Deadlines;
  channel: ChannelName;
  recipient?: Pick<Recipient, 'hasLeft' | 'onLeft'> | undefined;
}

export interface Sending {
  /** Sends a committed operation and commits its end. Undefined: its end could not be committed yet. */
  send(sent: Sent): Promise<Ran | undefined>;
  has(id: Id): boolean;
  readonly count: number;
  /** Whether an operation was committed is not known, and nothing was sent: if its row is found, it is settled as not sent. */
  readBack(id: Id): void;
  /** Resolves after the last commits of what is under way. */
  ended(): Promise<void>;
  stop(): void;
}

interface Deps {
  link: Pick<Link, 'carry'>;
  clock: Clock;
  logger: Logger;
  timeline: Pick<Timeline, 'add'>;
  notes: Pick<Notes, 'accepted' | 'wasAccepted' | 'whileEnding' | 'ended' | 'missed'>;
  run: Run;
  unmatched: Pick<UnmatchedReports, 'keepAnswer'>;
}

export function createSending({ link, clock, logger, timeline, notes, run, unmatched }: Deps): Sending {
  const ids = new Set<Id>();
  const underWay = new Set<Promise<unknown>>();
  const cancels = new Set<Cancel>();

  function tryAfter(pauseMs: number, action: () => Promise<unknown>, failures: number): void {
    const cancel = clock.after(pauseMs, () => {
      cancels.delete(cancel);
      action().catch(() => tryAfter(growingPauseMs(failures + 1, pauses), action, failures + 1));
    });
    cancels.add(cancel);
  }

  async function carry({ op, deadlines, channel, recipient }: Sent): Promise<DeviceEvent | Event> {
    // While this process stood still, the caller may have repeated the request at another gateway, which answered it. Checked in the same
    // turn of the event loop in which the command is sent [D117].
    if (recipient?.hasLeft()) return { type: 'NotSent', id: op.id, reason: 'The caller disconnected before the command was sent.' };
    recipient?.onLeft(() => notes.missed(op.id));
    const result = await link.carry({
      id: op.id,
      deviceId: op.deviceId,
      name: op.kind as LedgerCommandName,
      args: op.args ?? {},
      deadlines,
      preferredChannel: channel,
      journalId: op.journalId ?? undefined,
      onAccepted: () => notes.accepted(op.id),
      onStep: ({ atMs, step, channel: by, detail }) => timeline.add({ commandId: op.id, atMs, step, channel: by, detail }),
    });
    return eventOf(op.id, result);
  }

  async function conclude({ id, deviceId, amountBani }: Op, event: Event): Promise<Ran | undefined> {
    const commit = async () => {
      const ran = await run(event.type === 'Report' ? { ...event, wasAccepted: event.wasAccepted || notes.wasAccepted(id) } : event);
      // The database has lost the row since: for the ledger its outcome stays open.
      if (event.type === 'Report' && !ran.case.ops[id])
        await unmatched.keepAnswer({ id, deviceId, outcome: event.outcome, report: event.report }, amountBani);
      // An acceptance beside a `never` contradicts it, so it must still be written.
      if (ran.case.ops[id]?.state !== 'never') notes.ended(id);
      return ran;
    };
    const end = () => notes.whileEnding(id, commit);
    try {
      return await end();
    } catch (error) {
      logger.error({ err: error, commandId: id, event: event.type }, 'an outcome could not be committed; the commit will be retried');
      tryAfter(growingPauseMs(1, pauses), end, 1);
      // This request did nothing.
      if (event.type === 'NotSent') throw error;
      return undefined;
    }
  }

  async function noted<Result>(work: Promise<Result>): Promise<Result> {
    underWay.add(work);
    try {
      return await work;
    } finally {
      underWay.delete(work);
    }
  }

  function lookFor(id: Id, [pauseMs, ...later]: readonly number[]): void {
    if (pauseMs === undefined) return;
    const look = async () => {
      const ran = await run({ type: 'NotSent', id, reason: 'The database failed before it could be sent.' });
      if (!ran.case.ops[id]) lookFor(id, later);
    };
    tryAfter(pauseMs, look, 1);
  }

  return {
    async send(sent) {
      const { id } = sent.op;
      ids.add(id);
      try {
        return await noted(carry(sent).then((event) => conclude(sent.op, event)));
      } finally {
        ids.delete(id);
      }
    },
    has: (id) => ids.has(id),
    get count() {
      return ids.size;
    },
    readBack(id) {
      logger.warn({ commandId: id }, 'it is not known whether a command was committed; nothing was sent, and its row will be read back');
      lookFor(id, readBackPausesMs);
    },
    async ended() {
      await Promise.allSettled(underWay);
    },
    stop() {
      for (const cancel of cancels) cancel();
    },
  };
}

function eventOf(id: Id, result: CarryResult): Event {
  switch (result.kind) {
    case 'ended':
      return { ...reportEvent(id, result.by, result), wasAccepted: result.wasAccepted };
    case 'not-sent':
      return { type: 'NotSent', id, reason: result.reason };
    case 'silent':
    case 'timeout':
      return { type: 'Deadline', id, isContactLost: true };
  }
}

interface Said {
  outcome: Ending;
  report?: JsonObject | undefined;
  reason?: string | undefined;
  journalId?: string | undefined;
}

/** What a device says, masked and bounded before any rule sees it. */
export function reportEvent(id: Id, source: Source, { outcome, report, reason, journalId }: Said): ReportEvent {
  return {
    ...{ type: 'Report', id, outcome, source, journalId },
    report: report === undefined ? undefined : boundReport(maskReport(report) as JsonObject),
    reason: reason === undefined ? undefined : maskCardNumbers(reason),
  };
}
