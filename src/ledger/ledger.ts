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

import { releaseKey, sweepKeys } from '../access/idempotency.ts';
import type { Database } from '../database/database.ts';
import { isDatabaseDown } from '../database/errors.ts';
import { type Cancel, type Clock, every } from '../kernel/clock.ts';
import { deviceOffline } from '../kernel/error-codes.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Random } from '../kernel/random.ts';
import type { Link } from '../link/link.ts';
import { type Command, isOpen } from './command.ts';
import { type CommandEvent, listEvents } from './event-store.ts';
import { type CommandCall, type CommandPlan, type CommandRequest, createFirstCommits } from './first-commit.ts';
import { CommandsInFlight } from './in-flight.ts';
import { createKeyedCalls, type KeyedCalls } from './keyed-calls.ts';
import { createLateCommits } from './late-commits.ts';
import { createReception, type Reception } from './reception.ts';
import { createRecovery } from './recovery.ts';
import { createRepeats, type Earlier } from './repeats.ts';
import { createReview, type Review } from './review.ts';
import { busyWith, tooManyWait } from './rules.ts';
import { type CommandKind, type CommandKinds, createSettlements } from './settlement.ts';
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
/** A repeat of a request whose outcome is unknown waits this long for the device to tell. */
const askAgainForMs = 5_000;
/** The answer may be on its way into the database when answerBy comes. */
const followGraceMs = 1_000;
const defaultJoiners = 20;

export function createLedger(deps: Deps): Ledger {
  const { database, link, clock, logger } = deps;
  const kinds: CommandKinds = {};
  const timeline = createTimeline(deps);
  const settlements = createSettlements({ ...deps, timeline, kinds });
  const reception = createReception(deps);
  const firstCommits = createFirstCommits({ ...deps, reception });
  const lateCommits = createLateCommits({ ...deps, settlements });
  const inFlight = new CommandsInFlight({ ...deps, timeline, settlements, reception, firstCommits, lateCommits });
  const recovery = createRecovery({ ...deps, timeline, settlements, inFlight });
  const { findByKey, keepKey } = createKeyedCalls(deps);
  const repeats = createRepeats({ ...deps, reception, findByKey });
  const following = createFollowing(deps);
  let stopSweep: Cancel = () => {};

  async function run(call: CommandCall, plan: () => Promise<CommandPlan>): Promise<Ran> {
    const earlier = await repeats.find(call);
    if (earlier) return join(earlier, call);
    const request: CommandRequest = { ...call, ...(await plan()) };
    const holder = await store.findHolder(database.queries, request.deviceId);
    if (holder && holder.id !== request.mayPass) return joinOrBusy(request, holder);
    if ((await link.locate(request.deviceId, request.preferredChannel)) === undefined) throw deviceOffline();
    const command = await inFlight.run(request);
    if (!command) return joinOrBusy(request, await store.findHolder(database.queries, request.deviceId));
    await dropKeyOfNever(command, request);
    return { command, isRepeated: false };
  }

  /** Another command was faster. It may be the very one that this request repeats, begun since that was looked for. */
  async function joinOrBusy(request: CommandCall, holder: Command | undefined): Promise<Ran> {
    const winner = await repeats.find(request);
    if (winner) return join(winner, request);
    throw busyWith(holder);
  }

  /** The answer of an earlier command is this request's too, and its Idempotency-Key stands for it from now on. */
  async function join(earlier: Earlier, request: CommandCall): Promise<Ran> {
    const { command, isByContent: isRepeated } = earlier;
    if (isOpen(command) && following.followersOf(command.id) >= (deps.joinersPerCommand ?? defaultJoiners)) throw tooManyWait(command);
    await keepKey(request, command.id);
    const followed = await followEarlier(command, request.recipient);
    // `expired`: it went out once more under a new id, in the transaction that ended this one. Unable to see that one, we know nothing.
    const again = await store.lastIssueOf(database.queries, followed).catch(unlessDown);
    if (again === 'hidden') return { command, isRepeated };
    if (again.id !== followed.id) return join({ command: again, isByContent: isRepeated }, request);
    await dropKeyOfNever(followed, request);
    return { command: followed, isRepeated };
  }

  async function followEarlier(command: Command, waiting?: Waiting): Promise<Command> {
    if (command.state === 'unknown' && !inFlight.has(command.id)) {
      recovery.recall(command).catch((error: unknown) => logger.warn({ err: error, commandId: command.id }, 'Recall for a repeat failed'));
      return following.follow(command, clock.now() + askAgainForMs, waiting);
    }
    const leftMs = command.answerByMs - command.issuedAtMs + followGraceMs;
    return following.follow(command, clock.now() + leftMs, waiting);
  }

  /** Only outcomes of what was sent are kept under a key [D13]. Left behind by a failure, it is taken over by the next attempt. */
  async function dropKeyOfNever(command: Command, { merchantId, idempotency }: CommandCall): Promise<void> {
    if (command.state !== 'never' || !idempotency) return;
    await releaseKey(database.queries, merchantId, idempotency.key, command.id).catch((error: unknown) =>
      logger.warn({ err: error, commandId: command.id }, 'the Idempotency-Key of a command that never began could not be released'),
    );
  }

  const sweep = () =>
    sweepKeys(database.queries).catch((error: unknown) => logger.warn({ err: error }, 'old Idempotency-Keys could not be removed'));

  return {
    start() {
      recovery.start();
      stopSweep = every(clock, sweepKeysEveryMs, sweep);
    },
    async stop() {
      recovery.stop();
      await inFlight.ended();
      stopSweep();
      lateCommits.stop();
      following.stop();
      await reception.stop();
      await settlements.stop();
      await timeline.flush();
    },
    define(more) {
      Object.assign(kinds, more satisfies Record<string, CommandKind>);
    },
    reception,
    run,
    follow: following.follow,
    findByKey,
    keepKey,
    lookAgain: async (command) => (command.state === 'unknown' && !inFlight.has(command.id) ? followEarlier(command) : command),
    async askDevice(command, actor) {
      timeline.add({ commandId: command.id, atMs: clock.now(), step: 'asked by person', detail: `${actor}: asked` });
      return inFlight.has(command.id) ? command : recovery.recheck(command);
    },
    moduleOf: ({ name }) => kinds[name]?.module ?? 'POS',
    find: (commandId) => store.findCommand(database.queries, commandId),
    async timelineOf(commandId) {
      await timeline.flush();
      return listEvents(database.queries, commandId);
    },
    ...createReview({ ...deps, kinds, settlements, timeline }),
    stats: () => ({ inFlight: inFlight.count, contradictions: settlements.contradictions() }),
  };
}

function unlessDown(error: unknown): 'hidden' {
  if (isDatabaseDown(error)) return 'hidden';
  throw error;
}
