// What no call waits for: devices are asked about open operations of this gateway and of dead ones, when a question is due and as soon as a
// device is back, and about decisions of operators that they have not confirmed; late answers are taken; deadlines pass. Sweeps select ids
// only (sweeps.ts), and each id becomes one event.
// If the process dies, nothing is lost: what is due stays due for the next start, or for another gateway.
import type { Database } from '../database/database.ts';
import { DatabaseBusy, isDatabaseDown } from '../database/errors.ts';
import { type Cancel, type Clock, every } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { PutAside } from '../kernel/put-aside.ts';
import { restrainLogger } from '../kernel/restrained-logger.ts';
import type { Link } from '../link/link.ts';
import type { Id } from './case.ts';
import type { LateAnswers } from './late-answers.ts';
import type { Asked, Recall } from './recall.ts';
import { createReturns } from './returns.ts';
import { overdueAfterMs } from './rules/reports.ts';
import type { Run } from './run.ts';
import type { Sending } from './send.ts';
import * as sweeps from './sweeps.ts';

const sweepEveryMs = 2_000;
/** A call ends at answerBy of its operation; this leaves enough time for its commit. */
const abandonedAfterMs = 5_000;
const maxPerSweep = 50;
/** Back-off for an event that failed, so that the next sweeps handle the others. */
const pauses = { firstMs: 5_000, maxMs: 5 * 60_000 };

/** In whole steps, because the limit is part of the statement's text, and each text is planned and cached separately. */
const roomFor = (others: number) => maxPerSweep * (1 + Math.ceil(others / maxPerSweep));

export interface Recovery {
  start(): void;
  stop(): void;
}

export interface RecoveryDeps {
  database: Database;
  link: Pick<Link, 'onLateAnswer' | 'onSeen'> & { presence: Pick<Link['presence'], 'isLiveAnywhere' | 'journalOf'> };
  clock: Clock;
  logger: Logger;
  instanceId: string;
  run: Run;
  recall: Recall;
  lateAnswers: LateAnswers;
  /** What a call on this instance is executing: its device is not asked about it. */
  sending: Pick<Sending, 'has' | 'count'>;
}

/** One event after the other; what fails is put aside, so that it blocks no other. */
function createSweptEvents({ clock, logger, run, sending }: Pick<RecoveryDeps, 'clock' | 'logger' | 'run' | 'sending'>) {
  const aside = new PutAside(clock, pauses);
  const restrained = restrainLogger(logger, clock);
  return {
    get aside() {
      return aside.count;
    },
    async runEach(type: 'Deadline' | 'Overdue', found: readonly { id: Id }[]): Promise<void> {
      const ids = found.map(({ id }) => id).filter((id) => !sending.has(id) && !aside.has(id));
      for (const id of ids.slice(0, maxPerSweep)) {
        try {
          await run({ type, id });
        } catch (error) {
          const retryMs = aside.add(id);
          const isDown = isDatabaseDown(error);
          if (!isDown || error instanceof DatabaseBusy)
            restrained.error({ err: error, commandId: id, retryMs }, `the event ${type} of a command failed and will be retried`);
          // The next one would wait as long for the database. If only this row is locked, the back-off lets the others go first next time.
          if (isDown) throw error;
        }
      }
    },
  };
}

export function createRecovery(deps: RecoveryDeps): Recovery {
  const { database, link, clock, logger, instanceId, recall, lateAnswers, sending } = deps;
  const { queries } = database;
  const own = { instanceId };
  const events = createSweptEvents(deps);
  const cancels: Cancel[] = [];
  let isStopped = false;

  /** What is executed here looks due, too, and must not crowd out the others. */
  async function askDue(): Promise<void> {
    const due = await sweeps.dueForRecall(queries, own, roomFor(sending.count));
    askAll(due.filter(({ id }) => !sending.has(id)).slice(0, maxPerSweep), false);
  }

  function askAll(ops: readonly Asked[], isDeviceBack: boolean): void {
    for (const op of ops) {
      if (isStopped || sending.has(op.id)) continue;
      recall
        .ask(op, isDeviceBack)
        .catch((error: unknown) => logger.warn({ err: error, commandId: op.id }, 'Recall failed and will be retried'));
    }
  }

  const endAbandoned = async () =>
    events.runEach(
      'Deadline',
      await sweeps.abandoned(queries, { ...own, graceMs: abandonedAfterMs }, roomFor(events.aside + sending.count)),
    );
  const reviewOverdue = async () =>
    events.runEach('Overdue', await sweeps.overdue(queries, { graceMs: overdueAfterMs }, roomFor(events.aside)));

  /** A device that was connected but silent at the decision may answer later [D143]. An offline one is asked when it is back. */
  async function askAboutDueDecisions(): Promise<void> {
    for (const op of await sweeps.dueDecisions(queries, own, maxPerSweep)) {
      const isOurs = await sweeps.takeDecision(queries, { ...own, id: op.id });
      if (isOurs && link.presence.isLiveAnywhere(op.deviceId)) void compare([op]);
    }
  }

  async function compare(decided: readonly Asked[]): Promise<void> {
    for (const op of decided) {
      if (isStopped) return;
      await recall
        .compare(op)
        .catch((error: unknown) =>
          logger.warn({ err: error, commandId: op.id }, 'a device could not be asked about a decision of an operator'),
        );
    }
  }

  const returns = createReturns({
    logger,
    leftBy: (devices) => sweeps.leftBy(database, own, devices),
    askOpen: (ops) => askAll(ops, true),
    async askAboutDecisions(deviceId) {
      const journalId = link.presence.journalOf(deviceId, undefined) ?? '';
      await compare(await sweeps.decisionsOf(queries, { ...own, deviceId, journalId }));
    },
  });

  /** Each step runs even if another fails. If the database is down, all fail, which is logged once. */
  async function sweep(): Promise<void> {
    let wasDown = false;
    for (const step of [askDue, endAbandoned, reviewOverdue, askAboutDueDecisions]) {
      try {
        await step();
      } catch (error) {
        const isDown = isDatabaseDown(error);
        if (!(isDown && wasDown)) logger.warn({ err: error }, 'the sweep for open commands failed and will be retried');
        wasDown ||= isDown;
      }
    }
  }

  return {
    start() {
      cancels.push(
        every(clock, sweepEveryMs, sweep),
        link.onLateAnswer((deviceId, answer) => {
          lateAnswers
            .take(deviceId, answer)
            .catch((error: unknown) =>
              logger.warn({ err: error, commandId: answer.id }, 'a late answer could not be recorded; Recall will ask again'),
            );
        }),
        link.onSeen((deviceId) => {
          if (!isStopped) returns.isBack(deviceId);
        }),
      );
      void sweep();
    },
    stop() {
      isStopped = true;
      returns.stop();
      for (const cancel of cancels) cancel();
    },
  };
}
