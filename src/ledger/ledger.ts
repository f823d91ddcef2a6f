// The ledger: whatever moves money or changes a fiscal memory goes through `run`, is committed before it is sent and settled
// exactly once. Whoever asked may hang up or die: the command goes on, and a repeat finds it.
//
// If the process dies
//   before the insert commits ........ nothing was sent, nothing is there
//   between insert and publish ....... the row is `sent`; Recall hears `never`
//   after the publish ................ Recall hears the outcome, or asks until it does
//   after the answer was committed ... a repeat gets the stored answer
//
// If the database fails [D59]
//   before or at the insert .......... 2: this request sent nothing. An unclear insert is read back for a minute and ended as `never`
//   after the publish ................ 3, whatever failed: the outcome is kept here, committed when the database is back, and a repeat gets it
import type { Database } from '../database/database.ts';
import { isDatabaseDown } from '../database/errors.ts';
import { maskCardNumbers } from '../kernel/card-mask.ts';
import { type Cancel, type Clock, every } from '../kernel/clock.ts';
import { deviceOffline } from '../kernel/error-codes.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Random } from '../kernel/random.ts';
import type { CarryEnded, CarryResult } from '../link/delivery.ts';
import { type Fence, isStartOver } from '../link/fence.ts';
import type { Link } from '../link/link.ts';
import { type Command, isOpen } from './command.ts';
import { type CommandEvent, listEvents } from './event-store.ts';
import { type CommandCall, type CommandPlan, type CommandRequest, createBeginnings } from './first-commit.ts';
import { releaseKey, sweepKeys } from './idempotency.ts';
import { createKeyedCalls, type KeyedCalls } from './keyed-calls.ts';
import { createReception, type Reception } from './reception.ts';
import { createRecovery } from './recovery.ts';
import { createRepeats, type Earlier } from './repeats.ts';
import { createReview, type Review } from './review.ts';
import { busyWith, judge, tooManyWait } from './rules.ts';
import { type CommandKind, type CommandKinds, commandsTopic, createSettlements } from './settlement.ts';
import * as store from './store.ts';
import { createTimeline } from './timeline.ts';
import { createFollowing, type Waiting } from './wait-for-outcome.ts';

export interface Ran {
  command: Command;
  /** It was recognised by its content alone [D58]. */
  isRepeated: boolean;
}

export interface Ledger extends KeyedCalls, Review {
  /** Who has heard which outcome [D58]. */
  readonly reception: Pick<Reception, 'answered' | 'shown' | 'known'>;
  start(): void;
  /** After the link has stopped: leaves open commands to the next start or to another instance. */
  stop(): Promise<void>;
  /** Slices say what their commands add; call it before start. */
  define(kinds: CommandKinds): void;
  /**
   * Follows the command that the call repeats, or runs the one that `plan` makes: asked only when there is none, so that whatever was
   * done is found before the device is looked at [D60]. Returns it settled, or still open when its time ran out
   * or its outcome could not be written.
   */
  run(call: CommandCall, plan: () => Promise<CommandPlan>): Promise<Ran>;
  /** Waits until the command is settled or `untilMs` (gateway clock) has come, and returns it as it stands. */
  follow(command: Command, untilMs: number): Promise<Command>;
  find(commandId: string): Promise<Command | undefined>;
  /** How the command stands now. If its outcome is unknown, the device is asked once more and given a moment; nothing is started. */
  lookAgain(command: Command): Promise<Command>;
  /** A person wants to hear what the device says about a command, settled or not. It settles what was open and shows what contradicts; else nothing changes. */
  askDevice(command: Command, actor: string): Promise<Command>;
  moduleOf(command: Command): CommandKind['module'];
  timelineOf(commandId: string): Promise<CommandEvent[]>;
  stats(): { inFlight: number; contradictions: number };
}

interface Deps {
  database: Database;
  link: Link;
  clock: Clock;
  random: Random;
  logger: Logger;
  instanceId: string;
  /** Calls that may wait together for one command [D62]. */
  joinersPerCommand?: number;
}

const sweepKeysEveryMs = 10 * 60_000;
/** Together a minute of looks that found nothing; those that failed do not count. */
const readBackPausesMs = [500, 1_500, 3_000, 5_000, 10_000, 20_000, 20_000];
/** A repeat of a request whose outcome is unknown waits this long for the device to tell. */
const askAgainForMs = 5_000;
/** The answer may be on its way into the database when answerBy comes. */
const followGraceMs = 1_000;
const defaultJoiners = 20;

export function createLedger(deps: Deps): Ledger {
  const { database, link, clock, random, logger } = deps;
  const kinds: CommandKinds = {};
  const inFlight = new Set<string>();
  const running = new Set<Promise<unknown>>();
  const timeline = createTimeline(deps);
  const settlements = createSettlements({ ...deps, timeline, kinds });
  const isInFlight = (commandId: string) => inFlight.has(commandId);
  const recovery = createRecovery({ ...deps, timeline, settlements, isInFlight, inFlightCount: () => inFlight.size });
  const { findByKey, keepKey } = createKeyedCalls(deps);
  const reception = createReception(deps);
  const repeats = createRepeats({ ...deps, reception, findByKey });
  const { begin, beginAgain } = createBeginnings({ ...deps, reception });
  const { follow, followersOf, stop: stopFollowing } = createFollowing(deps);
  const cancels = new Set<Cancel>([stopFollowing]);

  async function run(call: CommandCall, plan: () => Promise<CommandPlan>): Promise<Ran> {
    const earlier = await repeats.find(call);
    if (earlier) return join(earlier, call);
    const request: CommandRequest = { ...call, ...(await plan()) };
    const holder = await store.findHolder(database.queries, request.deviceId);
    if (holder && holder.id !== request.mayPass) return joinOrBusy(request, holder);
    if ((await link.locate(request.deviceId, request.first)) === undefined) throw deviceOffline();
    const id = random.uuid();
    // Before any wait for the commit: what that takes is taken from the time to begin.
    const fence = link.fence(request.deviceId, request.answerWithinMs);
    inFlight.add(id);
    try {
      const command = await begin(request, id).catch((error: unknown) => {
        if (isDatabaseDown(error)) readBack(id, error);
        throw error;
      });
      if (command === undefined) {
        inFlight.delete(id);
        return await joinOrBusy(request, await store.findHolder(database.queries, request.deviceId));
      }
      return { command: await noted(carryOut(command, request, fence)), isRepeated: false };
    } finally {
      inFlight.delete(id);
    }
  }

  /** Another command was faster. It may be the very one that this request repeats, begun since that was looked for. */
  async function joinOrBusy(request: CommandCall, holder: Command | undefined): Promise<Ran> {
    const winner = await repeats.find(request);
    if (winner) return join(winner, request);
    throw busyWith(holder);
  }

  /**
   * The commit's outcome is unknown, and nothing was published: the row is read back by its id, and ended if it is there.
   * A server may finish a commit long after its connection broke, so one look that finds nothing proves nothing.
   */
  function readBack(id: string, error: unknown): void {
    logger.warn({ err: error, commandId: id }, 'it is not known whether a command was committed; nothing was sent, and it is read back');
    const lookAgain = ([pauseMs, ...pausesMs]: readonly number[]): void => {
      if (pauseMs === undefined) return;
      commitLater(async () => {
        const command = await store.findCommand(database.queries, id);
        if (!command) return lookAgain(pausesMs);
        if (isOpen(command)) await settlements.neverSent(command, 'The database failed before it could be sent.');
      }, pauseMs);
    };
    lookAgain(readBackPausesMs);
  }

  /** Kept until it ends, so that stop() can wait for the last commits. */
  async function noted<Result>(work: Promise<Result>): Promise<Result> {
    running.add(work);
    try {
      return await work;
    } finally {
      running.delete(work);
    }
  }

  /** The answer of an earlier command is this request's too, and its Idempotency-Key stands for it from now on. */
  async function join(earlier: Earlier, request: CommandCall): Promise<Ran> {
    if (isOpen(earlier.command) && followersOf(earlier.command.id) >= (deps.joinersPerCommand ?? defaultJoiners))
      throw tooManyWait(earlier.command);
    await keepKey(request, earlier.command.id);
    const followed = await followEarlier(earlier.command, request.recipient);
    // `expired`: it went out once more under a new id, in the transaction that ended this one. Unable to see that one, we know nothing.
    const again = isIssuedAgain(followed) ? await repeats.find(request).catch(unlessDown) : undefined;
    if (again === 'hidden') return { command: earlier.command, isRepeated: earlier.isByContent };
    if (again && again.command.id !== followed.id) return join(again, request);
    await dropKeyOfNever(followed, request);
    return { command: followed, isRepeated: earlier.isByContent };
  }

  /** From here on something may have been published: then the caller hears 3, whatever of ours fails [D59]. */
  async function carryOut(first: Command, request: CommandRequest, fence: Fence): Promise<Command> {
    let command = first;
    let result: CarryResult | undefined;
    request.recipient?.onLeft(() => reception.left(command));
    try {
      result = await carry(command, request, fence);
      if (result.kind === 'ended' && mayGoOutAgain(command, result, fence)) {
        const nextFence = link.fence(request.deviceId, request.answerWithinMs);
        const again = await issueAgain(command, request, result);
        if (again) {
          command = again;
          result = await carry(command, request, nextFence);
        }
      }
      const settled = await conclude(command, result);
      await dropKeyOfNever(settled, request);
      return settled;
    } catch (error) {
      if (result?.kind === 'not-sent' && command === first) throw error;
      logger.error({ err: error, commandId: command.id }, 'a command was sent and its outcome could not be written down yet');
      return command;
    } finally {
      inFlight.delete(first.id);
      inFlight.delete(command.id);
    }
  }

  /** Only outcomes of what was sent are kept under a key [D13]. Left behind by a failure, it is taken over by the next attempt. */
  async function dropKeyOfNever(command: Command, { merchantId, idempotency }: CommandCall): Promise<void> {
    if (command.state !== 'never' || !idempotency) return;
    await releaseKey(database.queries, merchantId, idempotency.key, command.id).catch((error: unknown) =>
      logger.warn({ err: error, commandId: command.id }, 'the Idempotency-Key of a command that never began could not be released'),
    );
  }

  /** `expired` is only believed if the device had not begun; and whoever pressed the button is still there only for so long [D65]. */
  function mayGoOutAgain(command: Command, ended: CarryEnded, fence: Fence): boolean {
    return ended.outcome === 'expired' && judge(command, ended, undefined).kind === 'settle' && !isStartOver(clock, fence);
  }

  function carry(command: Command, request: CommandRequest, fence: Fence): Promise<CarryResult> {
    return link.carry({
      id: command.id,
      deviceId: command.deviceId,
      name: command.name,
      args: command.args,
      fence,
      first: request.first,
      journalId: command.journalId ?? undefined,
      onAccepted: () => settlements.accepted(command.id),
      onStep: ({ atMs, step, channel, detail }) => timeline.add({ commandId: command.id, atMs, step, channel, detail }),
    });
  }

  /** `expired` told that the clock offset was wrong; the link has corrected it, so the command goes out once more under a new id. */
  async function issueAgain(command: Command, request: CommandRequest, ended: CarryEnded): Promise<Command | undefined> {
    const id = random.uuid();
    const reason = ended.reason === undefined ? undefined : maskCardNumbers(ended.reason);
    inFlight.add(id);
    const again = await beginAgain(command, reason, request, id).catch((error: unknown) => {
      logger.error({ err: error, commandId: command.id }, 'a command that expired could not be issued again');
      // The new one was not published, and if its row is there it is ended; what is known of the first one still stands.
      if (isDatabaseDown(error)) readBack(id, error);
      return undefined;
    });
    if (!again) inFlight.delete(id);
    if (!again) return undefined;
    timeline.add({ commandId: command.id, atMs: clock.now(), step: 'settled', detail: `never by answer; issued again as ${id}` });
    timeline.add({ commandId: id, atMs: clock.now(), step: 'issued again', detail: `after ${command.id} expired by a wrong clock` });
    database.wake(commandsTopic, command.id);
    return again;
  }

  /** Commits what the link found. If that fails the outcome is kept here and tried again. */
  async function conclude(command: Command, result: CarryResult): Promise<Command> {
    const commit = () => {
      if (result.kind === 'ended') return settlements.apply(command, result, result.by);
      if (result.kind === 'not-sent') return settlements.neverSent(command, result.reason);
      return settlements.becomeUnknown(command, 0);
    };
    try {
      return await commit();
    } catch (error) {
      logger.error({ err: error, commandId: command.id, result: result.kind }, 'an outcome could not be committed; it will be tried again');
      commitLater(commit, 500);
      throw error;
    }
  }

  function commitLater(commit: () => Promise<unknown>, pauseMs: number): void {
    const cancel = clock.after(pauseMs, () => {
      cancels.delete(cancel);
      commit().catch(() => commitLater(commit, Math.min(pauseMs * 2, 30_000)));
    });
    cancels.add(cancel);
  }

  async function followEarlier(command: Command, waiting?: Waiting): Promise<Command> {
    if (command.state === 'unknown' && !inFlight.has(command.id)) {
      recovery.recall(command).catch((error: unknown) => logger.warn({ err: error, commandId: command.id }, 'Recall for a repeat failed'));
      return follow(command, clock.now() + askAgainForMs, waiting);
    }
    const leftMs = command.answerByMs - command.issuedAtMs + followGraceMs;
    return follow(command, clock.now() + leftMs, waiting);
  }

  return {
    start() {
      recovery.start();
      const sweep = () =>
        sweepKeys(database.queries).catch((error: unknown) => logger.warn({ err: error }, 'old Idempotency-Keys could not be removed'));
      cancels.add(every(clock, sweepKeysEveryMs, sweep));
    },
    async stop() {
      recovery.stop();
      await Promise.allSettled(running);
      for (const cancel of cancels) cancel();
      await reception.stop();
      await settlements.stop();
      await timeline.flush();
    },
    define(more) {
      Object.assign(kinds, more satisfies Record<string, CommandKind>);
    },
    reception,
    run,
    follow,
    findByKey,
    keepKey,
    lookAgain: async (command) => (command.state === 'unknown' && !isInFlight(command.id) ? followEarlier(command) : command),
    async askDevice(command, actor) {
      timeline.add({ commandId: command.id, atMs: clock.now(), step: 'asked by person', detail: `${actor}: asked` });
      return isInFlight(command.id) ? command : recovery.recheck(command);
    },
    moduleOf: ({ name }) => kinds[name]?.module ?? 'POS',
    find: (commandId) => store.findCommand(database.queries, commandId),
    async timelineOf(commandId) {
      await timeline.flush();
      return listEvents(database.queries, commandId);
    },
    ...createReview({ ...deps, settlements, timeline }),
    stats: () => ({ inFlight: inFlight.size, contradictions: settlements.contradictions() }),
  };
}

function unlessDown(error: unknown): 'hidden' {
  if (isDatabaseDown(error)) return 'hidden';
  throw error;
}

function isIssuedAgain(command: Command): boolean {
  return command.state === 'never' && command.outcome === 'expired';
}
