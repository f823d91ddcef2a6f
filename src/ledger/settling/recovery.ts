// Settling what stayed open, in the background: this instance's commands and those of dead ones are asked about when they are due and as
// soon as their device appears again; late answers are taken; what stays unknown for too long comes on the review list.
import type { Database } from '../../database/database.ts';
import { isDatabaseDown } from '../../database/errors.ts';
import { deadAfterMs } from '../../database/instances.ts';
import { type Cancel, type Clock, every } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { PutAside } from '../../kernel/put-aside.ts';
import { restrainLogger } from '../../kernel/restrained-logger.ts';
import type { Link } from '../../link/link.ts';
import { type Command, isOpen, namesOf } from '../command.ts';
import * as reviews from '../review-store.ts';
import * as store from '../store.ts';
import * as sweeps from '../sweep-store.ts';
import type { Timeline } from '../timeline.ts';
import type { LateAnswers } from './late-answers.ts';
import type { Recall } from './recall.ts';
import type { Settlements } from './settlement.ts';

const sweepEveryMs = 2_000;
/** The call that carries a command ends with its time; this is more than its commit can take. */
const abandonedAfterMs = 5_000;
const reviewAfterMs = 15 * 60_000;
const maxPerSweep = 50;
const maxReturned = 500;
/** Older than that, journals may have forgotten it. */
const decidedSinceMs = 7 * 24 * 60 * 60_000;
/** Between two questions about a decision: as long as it is old, within these. */
const decisionPauses = { firstMs: 10_000, maxMs: 60 * 60_000 };
/** For a command that could not be ended: the next sweeps are for the others. */
const pauses = { firstMs: 5_000, maxMs: 5 * 60_000 };

interface Deps {
  database: Database;
  link: Pick<Link, 'onLateAnswer' | 'onSeen'> & { presence: Pick<Link['presence'], 'isLiveAnywhere'> };
  clock: Clock;
  logger: Logger;
  instanceId: string;
  settlements: Pick<Settlements, 'becomeUnknown'>;
  timeline: Timeline;
  recall: Pick<Recall, 'ask' | 'recheck'>;
  lateAnswers: LateAnswers;
  /** Commands that a call on this instance is carrying right now: those are not asked about from here. */
  inFlight: { has(commandId: string): boolean; readonly count: number };
}

export class Recovery {
  readonly #deps: Deps;
  readonly #cancels: Cancel[] = [];
  /** Of those that no call carries any more. */
  readonly #aside: PutAside;
  readonly #restrained: Logger;
  /** Devices that are being asked about what a person decided, and whether they have come back since. */
  readonly #decisionRounds = new Map<string, boolean>();
  /** Devices that are back and not asked yet; bounded by the number of registered devices. */
  readonly #returned = new Set<string>();
  #isAskingReturned = false;
  #isStopped = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#aside = new PutAside(deps.clock, pauses);
    this.#restrained = restrainLogger(deps.logger, deps.clock);
  }

  start(): void {
    const { clock, link, logger, lateAnswers } = this.#deps;
    this.#cancels.push(
      every(clock, sweepEveryMs, () => this.#sweep()),
      link.onLateAnswer((deviceId, answer) => {
        lateAnswers
          .settle(deviceId, answer)
          .catch((error: unknown) =>
            logger.warn({ err: error, commandId: answer.id }, 'a late answer could not be recorded; Recall will ask again'),
          );
      }),
      link.onSeen((deviceId) => {
        this.#returned.add(deviceId);
        void this.#askReturned();
      }),
    );
    void this.#sweep();
  }

  stop(): void {
    this.#isStopped = true;
    for (const cancel of this.#cancels) cancel();
  }

  /** Each by itself: one that fails keeps no command from the others. A database that is away fails them all, and is logged once. */
  async #sweep(): Promise<void> {
    let isAway = false;
    for (const step of [() => this.#askDue(), () => this.#endAbandoned(), () => this.#reviewOverdue(), () => this.#askDueDecisions()]) {
      try {
        await step();
      } catch (error) {
        const isOfAll = isDatabaseDown(error);
        if (!(isOfAll && isAway)) this.#deps.logger.warn({ err: error }, 'looking for open commands failed and will be tried again');
        isAway ||= isOfAll;
      }
    }
  }

  async #askDue(): Promise<void> {
    const { database, instanceId, inFlight } = this.#deps;
    // What is in flight here also looks due; asking for that many more keeps it from standing before what was left behind.
    // In whole steps: the limit is part of the statement's text, and each text is planned and kept by itself.
    const limit = maxPerSweep * (1 + Math.ceil(inFlight.count / maxPerSweep));
    const due = await sweeps.dueForRecall(database.queries, instanceId, deadAfterMs, limit);
    const ids = due.filter((id) => !inFlight.has(id)).slice(0, maxPerSweep);
    // Most of them were in flight when they were looked for, and have been settled since.
    const open = (await store.findCommands(database.queries, ids)).filter(isOpen);
    this.#askAll(open, false);
  }

  /**
   * No call carries them any more, and their time is over: waiting callers are answered so, and so are the completion notices.
   * One that cannot be ended is put aside for a while, so that it keeps none of the others.
   */
  async #endAbandoned(): Promise<void> {
    const { database, instanceId, inFlight } = this.#deps;
    // As above: so many more that those put aside do not stand before the others.
    const limit = maxPerSweep * (1 + Math.ceil(this.#aside.count / maxPerSweep));
    const abandoned = await sweeps.abandoned(database.queries, instanceId, deadAfterMs, abandonedAfterMs, limit);
    const ours = abandoned.filter(({ id }) => !inFlight.has(id) && !this.#aside.has(id));
    for (const command of ours.slice(0, maxPerSweep)) await this.#end(command);
  }

  async #end(command: Command): Promise<void> {
    try {
      await this.#deps.settlements.becomeUnknown(command, 0);
    } catch (error) {
      const retryMs = this.#aside.add(command.id);
      // The next one would wait for it as long again. If it was this row alone, that another transaction holds, the others come before it next time.
      if (isDatabaseDown(error)) throw error;
      const facts = { err: error, ...namesOf(command), retryMs };
      this.#restrained.error(facts, 'a command whose time is over could not be ended; the others are, and it is tried again');
    }
  }

  async #reviewOverdue(): Promise<void> {
    const { database, logger, timeline } = this.#deps;
    for (const commandId of await reviews.putOverdueOnReview(database.queries, reviewAfterMs)) {
      logger.warn({ commandId }, 'the outcome of a command is still unknown; it is on the review list now');
      timeline.add({ commandId, step: 'review' });
    }
  }

  /** After a broker's restart thousands come back together: one statement at a time for many of them, so that payments do not queue behind. */
  async #askReturned(): Promise<void> {
    if (this.#isAskingReturned) return;
    this.#isAskingReturned = true;
    for (let ids = this.#takeReturned(); ids.length > 0; ids = this.#takeReturned()) {
      try {
        await this.#askAfterReturn(ids);
      } catch (error) {
        this.#deps.logger.warn({ err: error, devices: ids.length }, 'looking for open commands of devices that are back failed');
      }
    }
    this.#isAskingReturned = false;
  }

  #takeReturned(): string[] {
    const ids = this.#isStopped ? [] : [...this.#returned.values().take(maxReturned)];
    for (const id of ids) this.#returned.delete(id);
    return ids;
  }

  async #askAfterReturn(deviceIds: readonly string[]): Promise<void> {
    const { database, instanceId, logger } = this.#deps;
    const { open, withDecisions } = await sweeps.leftOpenBy(database, instanceId, deviceIds);
    this.#askAll(open, true);
    for (const deviceId of withDecisions) {
      this.#askAboutDecisions(deviceId).catch((error: unknown) =>
        logger.warn({ err: error, deviceId }, 'looking for what a person decided about a device failed'),
      );
    }
  }

  /** A device that was connected and silent when a person decided may answer later [D143]. One that is away is asked when it is seen again. */
  async #askDueDecisions(): Promise<void> {
    const { database, instanceId, link } = this.#deps;
    const due = await sweeps.dueDecisions(database.queries, instanceId, deadAfterMs, decidedSinceMs, maxPerSweep);
    for (const command of due) {
      const isOurs = await sweeps.takeDueDecision(database.queries, command, instanceId, decisionPauses);
      if (isOurs && link.presence.isLiveAnywhere(command.deviceId)) void this.#askAbout([command]);
    }
  }

  /** A person may have been wrong about what the device did while it was away: better known before the same is sent again [D129]. */
  async #askAboutDecisions(deviceId: string): Promise<void> {
    const rounds = this.#decisionRounds;
    // One that comes and goes is asked by one round at a time, and once more for all its returns meanwhile: what was asked before may be lost.
    const isUnderWay = rounds.has(deviceId);
    rounds.set(deviceId, isUnderWay);
    if (isUnderWay) return;
    try {
      do {
        rounds.set(deviceId, false);
        await this.#askAbout(await this.#decisionsToConfirm(deviceId));
      } while (rounds.get(deviceId) === true);
    } finally {
      rounds.delete(deviceId);
    }
  }

  #decisionsToConfirm(deviceId: string): Promise<Command[]> {
    const { database, instanceId } = this.#deps;
    return sweeps.decisionsToConfirm(database.queries, instanceId, deadAfterMs, deviceId, decidedSinceMs);
  }

  async #askAbout(decided: readonly Command[]): Promise<void> {
    const { recall, logger } = this.#deps;
    for (const command of decided) {
      if (this.#isStopped) return;
      await recall
        .recheck(command)
        .catch((error: unknown) =>
          logger.warn({ err: error, ...namesOf(command) }, 'a device could not be asked about what a person decided'),
        );
    }
  }

  #askAll(commands: Command[], isDeviceBack: boolean): void {
    const { recall, inFlight, logger } = this.#deps;
    for (const command of commands) {
      if (inFlight.has(command.id) || this.#isStopped) continue;
      recall
        .ask(command, isDeviceBack)
        .catch((error: unknown) => logger.warn({ err: error, ...namesOf(command) }, 'Recall failed and will be tried again'));
    }
  }
}
