// The entry of every call into the ledger: it joins the command that it repeats, runs a new one, or is answered that the device is busy.
// If the caller disconnects or this process dies, the command continues, and a repeat of the call joins it.
import type { Database } from '../../database/database.ts';
import { isDatabaseDown } from '../../database/errors.ts';
import type { Clock } from '../../kernel/clock.ts';
import { deviceOffline, GatewayError } from '../../kernel/error-codes.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Link } from '../../link/link.ts';
import { busyWith, tooManyWait } from '../answers.ts';
import { type Command, isOpen, namesOf } from '../command.ts';
import { findHolder } from '../device-lock.ts';
import type { Recall } from '../settling/recall.ts';
import * as store from '../store.ts';
import type { Timeline } from '../timeline.ts';
import type { CommandCall, CommandPlan, CommandRequest } from './call.ts';
import { createConfirmation } from './confirmation.ts';
import type { CommandsInFlight } from './in-flight.ts';
import type { KeyedCalls } from './keyed-calls.ts';
import type { Earlier, Repeats } from './repeats.ts';
import type { OutcomeWaits, WaitingCaller } from './wait-for-outcome.ts';

/** A repeat of a request whose outcome is unknown waits this long for the device's report. */
const askAgainForMs = 5_000;
/** At answerBy, the device's answer may be in the middle of its commit. */
const graceMs = 1_000;
const defaultJoiners = 20;

export interface Ran {
  command: Command;
  /** An earlier request began it. */
  isEarlier: boolean;
  /** It was recognised by its content alone [D58]. */
  isRepeated: boolean;
}

export interface RunOrJoin {
  /**
   * Waits for the command that the call repeats, or runs the one that `plan` makes. `plan` is called only without an earlier command, so
   * that an earlier operation is found before the device's state is checked [D60]. Returns the command settled, or still open when its
   * deadline passed or its outcome could not be written.
   */
  run(call: CommandCall, plan: () => Promise<CommandPlan>): Promise<Ran>;
  /**
   * The short path: straight to the insert, which rejects every repeat [D103]. Undefined: nothing was written, and the caller takes the
   * long path to find out why. Not taken if the device is offline: locating it takes time, and a repeat would wait meanwhile.
   */
  runAtOnce(call: CommandCall, plan: () => Promise<CommandPlan>): Promise<Ran | undefined>;
  /** The current command. If its outcome is unknown, the device is asked once more and gets a moment to report; nothing is started. */
  lookAgain(command: Command): Promise<Command>;
}

interface Deps {
  database: Database;
  link: Pick<Link, 'locate' | 'presence'>;
  clock: Clock;
  logger: Logger;
  timeline: Pick<Timeline, 'addCounted'>;
  repeats: Repeats;
  keyedCalls: KeyedCalls;
  inFlight: Pick<CommandsInFlight, 'run' | 'has'>;
  recall: Pick<Recall, 'ask' | 'confirm'>;
  outcomeWaits: OutcomeWaits;
  /** Calls that may wait together for one command [D62]. */
  joinersPerCommand?: number;
}

export function createRunOrJoin(deps: Deps): RunOrJoin {
  const { database, link, clock, logger, timeline, repeats, keyedCalls, inFlight, recall, outcomeWaits } = deps;
  const { joinersPerCommand = defaultJoiners } = deps;
  const confirmation = createConfirmation(deps);

  async function run(call: CommandCall, plan: () => Promise<CommandPlan>): Promise<Ran> {
    return recheckBeforeRefusal(call, (await tryAtOnce(call, plan)) ?? (await joinOrBegin(call, plan)));
  }

  async function runAtOnce(call: CommandCall, plan: () => Promise<CommandPlan>): Promise<Ran | undefined> {
    const ran = await tryAtOnce(call, plan);
    return ran && recheckBeforeRefusal(call, ran);
  }

  /**
   * A refusal is valid only for its own command. If this process stalled since, another call of the same name may have begun and charged:
   * from a caller that switched to another gateway, or from a proxy that sent the request twice. Then that command's outcome is the answer,
   * as for any repeat; if waiting for it fails, its state as read. Only the key is written here, so a crash changes nothing.
   */
  async function recheckBeforeRefusal(call: CommandCall, ran: Ran): Promise<Ran> {
    const { id, state } = ran.command;
    if (state !== 'never' && state !== 'refused') return ran;
    await keyedCalls.dropKeyOfNever(call, ran.command);
    const since = await repeats.findNamed(call).catch(rethrowRefusal(logger, ran.command));
    if (!since || since.command.id === id) return ran;
    const joined = await join(since, call).catch(logAndIgnore(logger, since.command, 'Waiting for a later call of the same name failed'));
    return recheckBeforeRefusal(call, joined ?? { command: since.command, isEarlier: true, isRepeated: false });
  }

  async function joinOrBegin(call: CommandCall, plan: () => Promise<CommandPlan>): Promise<Ran> {
    const earlier = await repeats.find(call);
    if (earlier) return join(earlier, call);
    try {
      return await begin({ ...call, ...(await plan()) });
    } catch (error) {
      if (!(error instanceof GatewayError) || isDatabaseDown(error)) throw error;
      // For every refusal: the command that this call repeats may have begun, and even ended, since the search. Then it is the answer.
      const winner = await repeats.find(call);
      if (!winner) throw error;
      return await join(winner, call);
    }
  }

  async function tryAtOnce(call: CommandCall, plan: () => Promise<CommandPlan>): Promise<Ran | undefined> {
    if (!call.insertRejectsDuplicates || !link.presence.isLiveAnywhere(call.deviceId)) return undefined;
    const planned = await plan().catch(undefinedIfRefused);
    if (!planned || planned.guard) return undefined;
    const command = await inFlight.run({ ...call, ...planned, isFirstTry: true });
    return command && { command, isEarlier: false, isRepeated: false };
  }

  async function begin(request: CommandRequest): Promise<Ran> {
    const holder = await findHolder(database.queries, request.deviceId);
    if (holder && (request.beside === undefined || holder.id !== request.targetId)) throw busyWith(holder);
    if ((await link.locate(request.deviceId, request.preferredChannel)) === undefined) throw deviceOffline();
    const command = await inFlight.run({ ...request, confirmedUntilMs: await confirmation.confirmWithDevice(request) });
    if (!command) throw busyWith(await findHolder(database.queries, request.deviceId));
    return { command, isEarlier: false, isRepeated: false };
  }

  /** The request gets the answer of the earlier command, and its Idempotency-Key belongs to that command from now on. */
  async function join(earlier: Earlier, request: CommandCall): Promise<Ran> {
    const atMs = clock.now();
    const ran = await answerOfEarlier(earlier, request);
    const { id: commandId, state, outcome } = ran.command;
    // State and outcome determine the answer, so the timeline need not store it.
    const detail = [earlier.by, state, outcome ?? '-', clock.now() - atMs].join(' ');
    timeline.addCounted({ commandId, atMs, step: 'asked again', detail });
    return ran;
  }

  async function answerOfEarlier({ command, by }: Earlier, request: CommandCall): Promise<Ran> {
    const isRepeated = by === 'content';
    if (isOpen(command) && outcomeWaits.countOf(command.id) >= joinersPerCommand) throw tooManyWait(command);
    // A command found by its key has that key already; by now the key may belong to a later command and must not be moved back.
    if (by !== 'key') await keyedCalls.keepKey(request, command.id);
    const latest = await waitFor(command, request.recipient);
    // `expired`: the settling transaction issued the command again under a new id. If that row cannot be read, the outcome is not known.
    const again = await store.lastIssueOf(database.queries, latest).catch(hiddenIfDatabaseDown);
    if (again === 'hidden') return { command, isEarlier: true, isRepeated };
    if (again.id !== latest.id) return answerOfEarlier({ command: again, by: by === 'key' ? 'number' : by }, request);
    return { command: latest, isEarlier: true, isRepeated };
  }

  async function waitFor(command: Command, caller?: WaitingCaller): Promise<Command> {
    if (isUnknownAndIdle(command)) {
      recall.ask(command).catch(logAndIgnore(logger, command, 'Recall for a repeat failed'));
      return outcomeWaits.waitFor(command, askAgainForMs, caller);
    }
    return outcomeWaits.waitFor(command, command.answerByMs - command.issuedAtMs + graceMs, caller);
  }

  /** No call on this instance executes it, so the device may be asked from here. */
  function isUnknownAndIdle({ id, state }: Command): boolean {
    return state === 'unknown' && !inFlight.has(id);
  }

  return { run, runAtOnce, lookAgain: async (command) => (isUnknownAndIdle(command) ? waitFor(command) : command) };
}

function logAndIgnore(logger: Logger, command: Command, sentence: string): (error: unknown) => undefined {
  return (error) => {
    logger.warn({ err: error, ...namesOf(command) }, sentence);
    return undefined;
  };
}

/** A refusal by the search itself (paid and closed since, another amount) is the call's answer; other errors are logged. */
function rethrowRefusal(logger: Logger, command: Command): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof GatewayError && !isDatabaseDown(error)) throw error;
    return logAndIgnore(logger, command, 'Looking for a later call of the same name failed')(error);
  };
}

function undefinedIfRefused(error: unknown): undefined {
  if (!(error instanceof GatewayError) || isDatabaseDown(error)) throw error;
}

function hiddenIfDatabaseDown(error: unknown): 'hidden' {
  if (isDatabaseDown(error)) return 'hidden';
  throw error;
}
