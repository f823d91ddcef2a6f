// The ledger, put together: whatever moves money or changes a fiscal memory goes through `run`, is committed before it is sent and settled
// exactly once. The caller may disconnect or die: the command goes on, and a repeat finds it.
//
// If the process dies
//   before the insert commits ........ nothing was sent, nothing is there
//   between insert and publish ....... the row is `sent`; Recall is answered `never`
//   after the publish ................ Recall is answered with the outcome, or asks until it is
//   after the answer was committed ... a repeat gets the stored answer
//
// If the database fails [D59]
//   before or at the insert .......... 2: this request sent nothing. An unclear insert is read back for a minute and ended as `never`
//   after the publish ................ 3, whatever failed: the outcome is kept here, committed when the database is back, and a repeat gets it

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
import { createRecall } from './settling/recall.ts';
import { Recovery } from './settling/recovery.ts';
import { createReview, type Review } from './settling/review.ts';
import { createSettlements } from './settling/settlement.ts';
import { findCommand } from './store.ts';
import { createTimeline, listEvents } from './timeline.ts';

export interface Ledger extends RunOrJoin, Review, Pick<KeyedCalls, 'findByKey' | 'keepKey'>, Pick<OutcomeWaits, 'waitFor'> {
  /** Which callers have received which outcome [D58]. */
  readonly outcomeDelivery: Pick<OutcomeDelivery, 'answered' | 'sent' | 'inferred'>;
  start(): void;
  /** After the link has stopped: leaves open commands to the next start or to another instance. */
  stop(): Promise<void>;
  /** Slices say what their commands add; call it before start. */
  define(kinds: CommandKinds): void;
  /** The merchant's device, ready for commands; 30 otherwise. One that is connected here is believed from memory for seconds [D38]. */
  ownDevice(merchantId: string, deviceId: string): Promise<MerchantDevice>;
  find(commandId: string): Promise<Command | undefined>;
  /** A person asks the device about a command, settled or not. It settles what was open and shows what contradicts; else nothing changes. */
  askDevice(command: Command, actor: string): Promise<Command>;
  /** Which module a key must open to ask about the command. */
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
      timeline.add({ commandId: command.id, step: 'asked by person', detail: `${actor}: asked` });
      return inFlight.has(command.id) ? command : recall.recheck(command);
    },
    moduleOf: ({ name }) => operationOf(name).mode,
    find: (commandId) => findCommand(database.queries, commandId),
    async timelineOf(commandId) {
      await timeline.flush();
      return listEvents(database.queries, commandId);
    },
    ...createReview({ ...deps, kinds, settlements, recall, timeline }),
    stats: () => ({ inFlight: inFlight.count, contradictions: settlements.contradictions() }),
  };
}

/** From the ground up: each part sees only those above it in this list. */
function createParts(deps: Deps, kinds: CommandKinds) {
  const timeline = createTimeline(deps);
  const settlements = createSettlements({ ...deps, timeline, kinds, settleGroup: createSettleGroup(deps.database) });
  const outcomeDelivery = createOutcomeDelivery(deps);
  const firstCommits = createFirstCommits({ ...deps, outcomeDelivery, insertGroup: createInsertGroup(deps.database) });
  const lateCommits = createLateCommits({ ...deps, settlements });
  const inFlight = new CommandsInFlight({ ...deps, timeline, settlements, outcomeDelivery, firstCommits, lateCommits });
  const recall = createRecall({ ...deps, timeline, settlements });
  const lateAnswers = createLateAnswers({ ...deps, settlements });
  const recovery = new Recovery({ ...deps, timeline, settlements, recall, lateAnswers, inFlight });
  const keyedCalls = createKeyedCalls(deps);
  const repeats = createRepeats({ ...deps, outcomeDelivery, findByKey: keyedCalls.findByKey });
  const outcomeWaits = createOutcomeWaits(deps);
  const runOrJoin = createRunOrJoin({ ...deps, timeline, repeats, keyedCalls, inFlight, recall, outcomeWaits });
  return { timeline, settlements, outcomeDelivery, lateCommits, inFlight, recall, recovery, keyedCalls, outcomeWaits, runOrJoin };
}
