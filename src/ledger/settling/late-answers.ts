// Answers for which no call waits any more: they settle an open command, and confirm or contradict a settled one.
// A duplicate that comes while the first copy is being committed settles nothing twice: the update is guarded.
// If the process dies before the commit, the command is still open and Recall asks the device.
// A report of money about an id that the device's commands do not have is kept for an operator (unmatched.ts).
import type { Database } from '../../database/database.ts';
import type { Clock } from '../../kernel/clock.ts';
import { createGate, type Gate } from '../../kernel/gate.ts';
import type { Logger } from '../../kernel/logger.ts';
import { restrainLogger } from '../../kernel/restrained-logger.ts';
import type { AnswerMessage } from '../../link/wire-schemas.ts';
import { findCommand } from '../store.ts';
import { numbersOf, type UnmatchedReports } from '../unmatched.ts';
import { findingOfAnswer } from './findings.ts';
import type { Settlements } from './settlement.ts';

/** A device has one open command at a time; one that sends more answers at once is broken and must not load the database. */
const maxAtOnce = 20;
/** After a restore every one of them may be about money: as many as a device may send at once wait their turn. */
const maxWaiting = 100;

export interface LateAnswers {
  /** While too many answers of this device wait, a further one is only logged, with its numbers. */
  settle(deviceId: string, answer: AnswerMessage): Promise<void>;
}

interface Deps {
  clock: Clock;
  logger: Logger;
  database: Pick<Database, 'queries'>;
  settlements: Pick<Settlements, 'apply' | 'accepted'>;
  unmatched: Pick<UnmatchedReports, 'keepAnswer'>;
}

export function createLateAnswers({ clock, logger, database, settlements, unmatched }: Deps): LateAnswers {
  const restrained = restrainLogger(logger, clock);
  const underWay = new Map<string, { gate: Gate; count: number }>();

  async function look(deviceId: string, answer: AnswerMessage): Promise<void> {
    const command = await findCommand(database.queries, answer.id);
    if (command?.deviceId !== deviceId) {
      const { id, outcome, report } = answer;
      return unmatched.keepAnswer({ id, deviceId, outcome, report });
    }
    if (answer.outcome !== 'accepted') await settlements.apply(command, findingOfAnswer(answer), 'late-answer');
    else if (command.acceptedAtMs === null) settlements.accepted(command.id);
  }

  return {
    async settle(deviceId, answer) {
      const ofDevice = underWay.get(deviceId) ?? { gate: createGate(maxAtOnce), count: 0 };
      if (ofDevice.count >= maxAtOnce + maxWaiting) {
        const { id, outcome, report } = answer;
        const facts = { deviceId, commandId: id, outcome, ...numbersOf(report) };
        return restrained.error(facts, 'a device sent too many answers at once; one was not looked at');
      }
      ofDevice.count += 1;
      underWay.set(deviceId, ofDevice);
      try {
        await ofDevice.gate.run(() => look(deviceId, answer));
      } finally {
        ofDevice.count -= 1;
        if (ofDevice.count === 0) underWay.delete(deviceId);
      }
    },
  };
}
