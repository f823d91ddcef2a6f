// Answers for which no call waits any more: they settle an open command, and confirm or contradict a settled one.
// A duplicate that comes while the first copy is being committed settles nothing twice: the update is guarded.
// If the process dies before the commit, the command is still open and Recall asks the device.
// A report of money about an id that the device's commands do not have is kept for an operator (unmatched.ts).
import type { Database } from '../../database/database.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { restrainLogger } from '../../kernel/restrained-logger.ts';
import type { AnswerMessage } from '../../link/wire-schemas.ts';
import { findCommand } from '../store.ts';
import type { UnmatchedReports } from '../unmatched.ts';
import { findingOfAnswer } from './findings.ts';
import type { Settlements } from './settlement.ts';

/** A device has one open command at a time; one that sends more answers at once is broken and must not load the database. */
const maxAtOnce = 20;

export interface LateAnswers {
  /** While too many answers of this device are being processed, a further one is only logged. */
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
  const underWay = new Map<string, number>();

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
      const count = underWay.get(deviceId) ?? 0;
      if (count >= maxAtOnce) {
        const { id, outcome } = answer;
        return restrained.error({ deviceId, commandId: id, outcome }, 'a device sent too many answers at once; one was not looked at');
      }
      underWay.set(deviceId, count + 1);
      try {
        await look(deviceId, answer);
      } finally {
        const left = (underWay.get(deviceId) ?? 1) - 1;
        if (left === 0) underWay.delete(deviceId);
        else underWay.set(deviceId, left);
      }
    },
  };
}
