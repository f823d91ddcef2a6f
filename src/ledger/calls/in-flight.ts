// The commands that this instance is executing: from the committed row, over the wire, to the committed outcome.
// Once a command may have been published, any failure of the gateway is answered 3 [D59]: the outcome is kept in memory and committed when
// the database is back.
//
//   result of the link ... done, refused, never: settled     not-sent: `never`     silent, timeout: `unknown`, and Recall continues
//   caller left .......... before the publish: nothing is sent, `never`; after it: the command continues
//   `expired` ............ the clock offset was wrong and is corrected: issued again under a new id, if less than 10 s have passed [D65]
import type { Database } from '../../database/database.ts';
import { isDatabaseDown } from '../../database/errors.ts';
import { maskCardNumbers } from '../../kernel/card-numbers.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';
import { type Deadlines, isStartOver } from '../../link/carrying/deadlines.ts';
import type { CarryEnded, CarryResult } from '../../link/carrying/delivery.ts';
import type { Link } from '../../link/link.ts';
import { type Command, namesOf } from '../command.ts';
import { judge } from '../rules.ts';
import type { LateCommits } from '../settling/late-commits.ts';
import type { Settlements } from '../settling/settlement.ts';
import { commandsTopic } from '../settling/state-change.ts';
import type { Timeline } from '../timeline.ts';
import type { CommandRequest } from './call.ts';
import type { FirstCommits } from './first-commit.ts';
import type { OutcomeDelivery } from './outcome-delivery.ts';

interface Deps {
  database: Database;
  link: Link;
  clock: Clock;
  random: Random;
  logger: Logger;
  timeline: Timeline;
  settlements: Settlements;
  outcomeDelivery: OutcomeDelivery;
  firstCommits: FirstCommits;
  lateCommits: LateCommits;
}

export class CommandsInFlight {
  readonly #deps: Deps;
  readonly #ids = new Set<string>();
  readonly #running = new Set<Promise<unknown>>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  has(commandId: string): boolean {
    return this.#ids.has(commandId);
  }

  get count(): number {
    return this.#ids.size;
  }

  /** Commits the request's command and executes it. Undefined: another command was faster, and nothing was written or sent. */
  async run(request: CommandRequest): Promise<Command | undefined> {
    const { link, random, firstCommits } = this.#deps;
    const id = random.uuid();
    // Fixed before the commit, so that the time spent on the commit counts against startBy.
    const deadlines = link.deadlines(request.deviceId, request.answerWithinMs);
    this.#ids.add(id);
    try {
      const command = await firstCommits.begin(request, id).catch((error: unknown) => this.#unclear(id, error));
      return command && (await this.#noted(this.#carryOut(command, request, deadlines)));
    } finally {
      this.#ids.delete(id);
    }
  }

  /** Resolves after the last commits of the commands in flight. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  #unclear(commandId: string, error: unknown): never {
    if (isDatabaseDown(error)) this.#deps.lateCommits.readBack(commandId, error);
    throw error;
  }

  async #noted<Result>(work: Promise<Result>): Promise<Result> {
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }

  async #carryOut(first: Command, request: CommandRequest, deadlines: Deadlines): Promise<Command> {
    const { link, logger, outcomeDelivery } = this.#deps;
    let command = first;
    let result: CarryResult | undefined;
    request.recipient?.onLeft(() => outcomeDelivery.callerLeft(command));
    try {
      result = hasLeft(request) ?? (await this.#carry(command, request, deadlines));
      if (result.kind === 'ended' && this.#mayGoOutAgain(command, result, deadlines)) {
        const nextDeadlines = link.deadlines(request.deviceId, request.answerWithinMs);
        const again = await this.#issueAgain(command, request, result);
        if (again) {
          command = again;
          if (request.recipient?.hasLeft()) outcomeDelivery.callerLeft(again);
          result = await this.#carry(command, request, nextDeadlines);
        }
      }
      return await this.#conclude(command, result);
    } catch (error) {
      if (result?.kind === 'not-sent' && command === first) throw error;
      logger.error({ err: error, ...namesOf(command) }, 'a command was sent, and its outcome could not be committed yet');
      return command;
    } finally {
      this.#ids.delete(command.id);
    }
  }

  #carry(command: Command, request: CommandRequest, deadlines: Deadlines): Promise<CarryResult> {
    const { link, settlements, timeline } = this.#deps;
    return link.carry({
      id: command.id,
      deviceId: command.deviceId,
      name: command.name,
      args: command.args,
      deadlines,
      preferredChannel: request.preferredChannel,
      journalId: command.journalId ?? undefined,
      onAccepted: () => settlements.accepted(command.id),
      onStep: ({ atMs, step, channel, detail }) => timeline.add({ commandId: command.id, atMs, step, channel, detail }),
    });
  }

  /** `expired` counts only if the device had not begun; and the caller does not wait longer than startBy [D65]. */
  #mayGoOutAgain(command: Command, ended: CarryEnded, deadlines: Deadlines): boolean {
    return ended.outcome === 'expired' && judge(command, ended, undefined).kind === 'settle' && !isStartOver(this.#deps.clock, deadlines);
  }

  async #issueAgain(command: Command, request: CommandRequest, ended: CarryEnded): Promise<Command | undefined> {
    const { database, random, logger, timeline, firstCommits, lateCommits } = this.#deps;
    const id = random.uuid();
    const reason = ended.reason === undefined ? undefined : maskCardNumbers(ended.reason);
    this.#ids.add(id);
    const again = await firstCommits.beginAgain(command, reason, request, id).catch((error: unknown) => {
      logger.error({ err: error, ...namesOf(command) }, 'a command that expired could not be issued again');
      // The new command was not published; if its row exists, it is settled as `never`. The result of the first one still holds.
      if (isDatabaseDown(error)) lateCommits.readBack(id, error);
      return undefined;
    });
    if (!again) {
      this.#ids.delete(id);
      return undefined;
    }
    timeline.add({ commandId: command.id, step: 'settled', detail: `never by answer; issued again as ${id}` });
    timeline.add({ commandId: id, step: 'issued again', detail: `after ${command.id} expired by a wrong clock` });
    database.wake(commandsTopic, command.id);
    return again;
  }

  /** Commits the result of the link. If that fails, the result is kept and the commit is retried. */
  async #conclude(command: Command, result: CarryResult): Promise<Command> {
    const { settlements, logger, lateCommits } = this.#deps;
    const commit = () => {
      if (result.kind === 'ended') return settlements.apply(command, result, result.by);
      if (result.kind === 'not-sent') return settlements.neverSent(command, result.reason);
      return settlements.becomeUnknown(command, 0);
    };
    try {
      return await commit();
    } catch (error) {
      logger.error(
        { err: error, ...namesOf(command), result: result.kind },
        'an outcome could not be committed; the commit will be retried',
      );
      lateCommits.keepTrying(commit);
      throw error;
    }
  }
}

/**
 * Nothing is sent for a caller that has disconnected [D117]: while this process was paused, or waited for a lock, the caller may have
 * repeated the request at another gateway, which answered it. Without number or key nothing shows that the two are the same; with one, the
 * other gateway may have answered that it was not and will not be done. Checked in the same turn of the event loop in which it is sent.
 */
function hasLeft({ recipient }: CommandRequest): CarryResult | undefined {
  return recipient?.hasLeft() ? { kind: 'not-sent', reason: 'The caller disconnected before the command was sent.' } : undefined;
}
