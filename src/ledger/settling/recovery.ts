// Settles open commands in the background. Devices are asked about the commands of this instance and of dead ones when a Recall is due, and
// as soon as the device reconnects; late answers are applied; a command that stays unknown for too long goes on the review list.
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
/** A call ends at answerBy of its command; this leaves enough time for its commit. */
const abandonedAfterMs = 5_000;
const reviewAfterMs = 15 * 60_000;
const maxPerSweep = 50;
const maxReturned = 500;
/** Journals may have dropped older commands. */
const decidedSinceMs = 7 * 24 * 60 * 60_000;
/** The pause between two Recalls about a decision equals the decision's age, within these bounds. */
const decisionPauses = { firstMs: 10_000, maxMs: 60 * 60_000 };
/** Back-off for a command that could not be marked `unknown`, so that the next sweeps handle the others. */
const pauses = { firstMs: 5_000, maxMs: 5 * 60_000 };

interface Deps {
  database: Database;
  link: Pick<Link, 'onLateAnswer' | 'onSeen'> & { presence: Pick<Link['presence'], 'isLiveAnywhere' | 'journalOf'> };
  clock: Clock;
  logger: Logger;
  instanceId: string;
  settlements: Pick<Settlements, 'becomeUnknown'>;
  timeline: Timeline;
  recall: Pick<Recall, 'ask' | 'recheck' | 'confirm'>;
  lateAnswers: LateAnswers;
  /** Commands that a call on this instance is executing: no Recall for them. */
  inFlight: { has(commandId: string): boolean; readonly count: number };
}

export class Recovery {
  readonly #deps: Deps;
  readonly #cancels: Cancel[] = [];
  /** Abandoned commands in back-off. */
  readonly #aside: PutAside;
  readonly #restrained: Logger;
  /** Devices that are being asked about decisions of operators, and whether they have reconnected since. */
  readonly #decisionRounds = new Map<string, boolean>();
  /** Devices that reconnected and were not asked yet; bounded by the number of registered devices. */
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

  /** Each step runs even if another fails. If the database is down, all fail, which is logged once. */
  async #sweep(): Promise<void> {
    let wasDown = false;
    for (const step of [() => this.#askDue(), () => this.#endAbandoned(), () => this.#reviewOverdue(), () => this.#askDueDecisions()]) {
      try {
        await step();
      } catch (error) {
        const isDown = isDatabaseDown(error);
        if (!(isDown && wasDown)) this.#deps.logger.warn({ err: error }, 'the sweep for open commands failed and will be retried');
        wasDown ||= isDown;
      }
    }
  }

  async #askDue(): Promise<void> {
    const { database, instanceId, inFlight } = this.#deps;
    // Commands in flight here look due too: the limit grows by their number, so that they do not crowd out orphaned ones.
    // In whole steps, because the limit is part of the statement's text, and each text is planned and cached separately.
    const limit = maxPerSweep * (1 + Math.ceil(inFlight.count / maxPerSweep));
    const due = await sweeps.dueForRecall(database.queries, instanceId, deadAfterMs, limit);
    const ids = due.filter((id) => !inFlight.has(id)).slice(0, maxPerSweep);
    // Most were in flight at the time of the query and have been settled since.
    const open = (await store.findCommands(database.queries, ids)).filter(isOpen);
    this.#askAll(open, false);
  }

  /**
   * Commands past answerBy that no call executes any more become `unknown`; waiting callers and completion notices get that.
   * A command whose update fails is put in back-off, so that it does not block the others.
   */
  async #endAbandoned(): Promise<void> {
    const { database, instanceId, inFlight } = this.#deps;
    // As above: the limit grows by the number of commands in back-off.
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
      // The next command would wait as long for the database. If only this row is locked, the back-off lets the others go first next time.
      if (isDatabaseDown(error)) throw error;
      const facts = { err: error, ...namesOf(command), retryMs };
      this.#restrained.error(facts, 'a command past its deadline could not be marked unknown; it will be retried');
    }
  }

  async #reviewOverdue(): Promise<void> {
    const { database, logger, timeline } = this.#deps;
    for (const commandId of await reviews.putOverdueOnReview(database.queries, reviewAfterMs)) {
      logger.warn({ commandId }, 'the outcome of a command is still unknown; it is now on the review list');
      timeline.add({ commandId, step: 'review' });
    }
  }

  /** After a broker's restart, thousands of devices reconnect together: one statement at a time for many, so that payments do not queue. */
  async #askReturned(): Promise<void> {
    if (this.#isAskingReturned) return;
    this.#isAskingReturned = true;
    for (let ids = this.#takeReturned(); ids.length > 0; ids = this.#takeReturned()) {
      try {
        await this.#askAfterReturn(ids);
      } catch (error) {
        this.#deps.logger.warn({ err: error, devices: ids.length }, 'the query for open commands of reconnected devices failed');
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
        logger.warn({ err: error, deviceId }, 'the query for unconfirmed decisions of a device failed'),
      );
    }
  }

  /** A device that was connected but silent at the decision may answer later [D143]. An offline device is asked when it reconnects. */
  async #askDueDecisions(): Promise<void> {
    const { database, instanceId, link } = this.#deps;
    const due = await sweeps.dueDecisions(database.queries, instanceId, deadAfterMs, decidedSinceMs, maxPerSweep);
    for (const command of due) {
      const isOurs = await sweeps.takeDueDecision(database.queries, command, instanceId, decisionPauses);
      if (isOurs && link.presence.isLiveAnywhere(command.deviceId)) void this.#askAbout([command]);
    }
  }

  /** An operator may have decided wrongly while the device was offline; that should be known before the same is sent again [D129]. */
  async #askAboutDecisions(deviceId: string): Promise<void> {
    const rounds = this.#decisionRounds;
    // One round at a time per device, and one more for all its reconnects meanwhile: earlier questions may be lost.
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
    const { database, instanceId, link } = this.#deps;
    const carrier = { instanceId, deadAfterMs };
    const device = { deviceId, journalId: link.presence.journalOf(deviceId, undefined) };
    return sweeps.decisionsToConfirm(database.queries, carrier, device, decidedSinceMs);
  }

  async #askAbout(decided: readonly Command[]): Promise<void> {
    const { recall, logger } = this.#deps;
    for (const command of decided) {
      if (this.#isStopped) return;
      const asked = command.journalId === null ? recall.confirm(command) : recall.recheck(command);
      await asked.catch((error: unknown) =>
        logger.warn({ err: error, ...namesOf(command) }, 'a device could not be asked about a decision of an operator'),
      );
    }
  }

  #askAll(commands: Command[], isDeviceBack: boolean): void {
    const { recall, inFlight, logger } = this.#deps;
    for (const command of commands) {
      if (inFlight.has(command.id) || this.#isStopped) continue;
      recall
        .ask(command, isDeviceBack)
        .catch((error: unknown) => logger.warn({ err: error, ...namesOf(command) }, 'Recall failed and will be retried'));
    }
  }
}
