// The parts of the ledger, assembled. Every operation that moves money or changes a fiscal memory goes through `run`: it is committed
// before it is sent, and settled exactly once. If the caller disconnects, the command continues, and a repeat finds it.
//
// If the process dies
//   before the insert commits ........ nothing was sent or stored
//   between insert and publish ....... the row is `sent`; Recall gets the answer `never`
//   after the publish ................ Recall is repeated until it gets the outcome
//   after the answer was committed ... a repeat gets the stored answer
//
// If the database fails [D59]
//   before or at the insert .......... 2: nothing was sent. If the result of the insert is unclear, the row is read back for a minute and
//                                      settled as `never`
//   after the publish ................ 3: the outcome is kept in memory and committed when the database is back; a repeat gets it

import { type AuditEntry, writeAudit } from '../access/audit.ts';
import { sweepKeys } from '../access/idempotency.ts';
import { createMerchantDevices, type MerchantDevice } from '../access/merchant-device.ts';
import type { Database } from '../database/database.ts';
import { type Cancel, type Clock, every } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { type Operation, operationOf } from '../kernel/operations.ts';
import type { Random } from '../kernel/random.ts';
import type { Link } from '../link/link.ts';
import { createFirstCommits } from './calls/first-commit.ts';
import { CommandsInFlight } from './calls/in-flight.ts';
import { createKeyedCalls, type KeyedCalls } from './calls/keyed-calls.ts';
import { createOutcomeDelivery, type OutcomeDelivery } from './calls/outcome-delivery.ts';
import { createRepeats } from './calls/repeats.ts';
import { createRunOrJoin, type RunOrJoin } from './calls/run-or-join.ts';
import { createOutcomeWaits, type OutcomeWaits } from './calls/wait-for-outcome.ts';
import type { Command } from './command.ts';
import type { CommandEvent } from './command-event.ts';
import type { CommandKinds } from './command-kind.ts';
import { createInsertGroup } from './insert-batch.ts';
import { createSettleGroup } from './settle-batch.ts';
import { createLateAnswers } from './settling/late-answers.ts';
import { createLateCommits } from './settling/late-commits.ts';
import { declareHardwareLost, type LostHardware, type Released, waitingDecisions } from './settling/lost-hardware.ts';
import { createRecall } from './settling/recall.ts';
import { Recovery } from './settling/recovery.ts';
import { createReview, type Decision, type Review } from './settling/review.ts';
import { createSettlements } from './settling/settlement.ts';
import { findCommand } from './store.ts';
import { createTimeline, listEvents } from './timeline.ts';
import { createUnmatchedReports } from './unmatched.ts';

export interface Ledger
  extends RunOrJoin,
    Pick<Review, 'listReview'>,
    Pick<KeyedCalls, 'findByKey' | 'keepKey'>,
    Pick<OutcomeWaits, 'waitFor'> {
  /** Records which callers have received an outcome [D58]. */
  readonly outcomeDelivery: Pick<OutcomeDelivery, 'answered' | 'sent' | 'inferred'>;
  start(): void;
  /** Call it after the link has stopped. Open commands are left to the next start or to another instance. */
  stop(): Promise<void>;
  /** Registers the hooks of a slice; call it before start. */
  define(kinds: CommandKinds): void;
  /** The merchant's device, ready for commands; 30 otherwise. A connected device is cached for some seconds [D38]. */
  ownDevice(merchantId: string, deviceId: string): Promise<MerchantDevice>;
  find(commandId: string): Promise<Command | undefined>;
  /** The command that has the number of this one; see CommandKind. */
  findHolder(command: Command): Promise<Command | undefined>;
  /** An operator asks the device about a command. The answer settles an open command, or confirms or contradicts a settled one. */
  askDevice(command: Command, actor: string): Promise<Command>;
  /** An operator declares hardware lost that was connected as this device [D304]. */
  declareLost(lost: LostHardware, audit?: AuditEntry): Promise<Released>;
  /** Of each device: the journals for which decisions "not executed" wait. */
  waitingDecisions(): Promise<{ deviceId: string; journalId: string | null }[]>;
  /** An operator settles an open command, or closes the review of a settled one. `audit`: of the command's merchant, in the same commit. */
  decide(commandId: string, decision: Decision, audit?: Omit<AuditEntry, 'merchantId'>): Promise<Command>;
  /** The module that an API key must open to query the command. */
  moduleOf(command: Command): Operation['mode'];
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

export function createLedger(deps: Deps): Ledger {
  const { database, clock, logger } = deps;
  const kinds: CommandKinds = {};
  const parts = createParts(deps, kinds);
  const { timeline, settlements, outcomeDelivery, lateCommits, inFlight, recall, recovery, keyedCalls, outcomeWaits, runOrJoin } = parts;
  const review = createReview({ ...deps, kinds, settlements, recall, timeline });
  const merchantDevices = createMerchantDevices(deps);
  let stopSweep: Cancel = () => {};

  return {
    start() {
      recovery.start();
      stopSweep = every(clock, sweepKeysEveryMs, () =>
        sweepKeys(database.queries).catch((error: unknown) => logger.warn({ err: error }, 'old Idempotency-Keys could not be removed')),
      );
    },
    async stop() {
      recovery.stop();
      await inFlight.ended();
      stopSweep();
      lateCommits.stop();
      outcomeWaits.stop();
      merchantDevices.stop();
      await outcomeDelivery.stop();
      await settlements.stop();
      await timeline.flush();
    },
    ownDevice(merchantId, deviceId) {
      return merchantDevices.require(merchantId, deviceId, !deps.link.presence.isLiveAnywhere(deviceId));
    },
    define: (more) => void Object.assign(kinds, more),
    outcomeDelivery,
    ...runOrJoin,
    waitFor: outcomeWaits.waitFor,
    findByKey: keyedCalls.findByKey,
    keepKey: keyedCalls.keepKey,
    async askDevice(command, actor) {
      // Its call waits for the device's answer, and asks by itself if contact is lost.
      if (inFlight.has(command.id)) return command;
      timeline.add({ commandId: command.id, step: 'asked by person', detail: `${actor}: asked` });
      return recall.recheck(command);
    },
    declareLost: (lost, audit) => declareHardwareLost({ ...deps, timeline }, lost, async (queries) => audit && writeAudit(queries, audit)),
    waitingDecisions: () => waitingDecisions(database.pages),
    moduleOf: ({ name }) => operationOf(name).mode,
    find: (commandId) => findCommand(database.queries, commandId),
    findHolder: async (command) => kinds[command.name]?.findHolder?.(command),
    async timelineOf(commandId) {
      await timeline.flush();
      return listEvents(database.queries, commandId);
    },
    listReview: review.listReview,
    decide: (commandId, decision, audit) =>
      review.decide(commandId, decision, audit && ((queries, { merchantId }) => writeAudit(queries, { ...audit, merchantId }))),
    stats: () => ({ inFlight: inFlight.count, contradictions: settlements.contradictions() }),
  };
}

/** Each part depends only on parts above it in this list. */
function createParts(deps: Deps, kinds: CommandKinds) {
  const timeline = createTimeline(deps);
  const unmatched = createUnmatchedReports(deps);
  const settlements = createSettlements({ ...deps, timeline, kinds, unmatched, settleGroup: createSettleGroup(deps.database) });
  const outcomeDelivery = createOutcomeDelivery(deps);
  const firstCommits = createFirstCommits({ ...deps, outcomeDelivery, insertGroup: createInsertGroup(deps.database) });
  const lateCommits = createLateCommits({ ...deps, settlements });
  const inFlight = new CommandsInFlight({ ...deps, timeline, settlements, outcomeDelivery, firstCommits, lateCommits });
  const recall = createRecall({ ...deps, timeline, settlements });
  const lateAnswers = createLateAnswers({ ...deps, settlements, unmatched });
  const recovery = new Recovery({ ...deps, timeline, settlements, recall, lateAnswers, inFlight });
  const keyedCalls = createKeyedCalls(deps);
  const repeats = createRepeats({ ...deps, outcomeDelivery, findByKey: keyedCalls.findByKey });
  const outcomeWaits = createOutcomeWaits(deps);
  const runOrJoin = createRunOrJoin({ ...deps, timeline, repeats, keyedCalls, inFlight, recall, outcomeWaits });
  return { timeline, settlements, outcomeDelivery, lateCommits, inFlight, recall, recovery, keyedCalls, outcomeWaits, runOrJoin };
}
