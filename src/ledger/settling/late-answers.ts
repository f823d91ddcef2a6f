// Answers for which no call waits any more: they settle an open command, and confirm or contradict a settled one.
// A duplicate that comes while the first copy is being committed settles nothing twice: the update is guarded.
// If the process dies before the commit, the command is still open and Recall asks the device.
// A report of money about an id that the device's commands do not have is kept for an operator (unmatched.ts).
import type { Database } from '../../database/database.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { AnswerMessage } from '../../link/wire-schemas.ts';
import { createAnswersInTurn } from '../answers-in-turn.ts';
import { findCommand } from '../store.ts';
import type { UnmatchedReports } from '../unmatched.ts';
import { findingOfAnswer } from './findings.ts';
import type { Settlements } from './settlement.ts';

export interface LateAnswers {
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
  const inTurn = createAnswersInTurn({ clock, logger });

  async function look(deviceId: string, answer: AnswerMessage): Promise<void> {
    const command = await findCommand(database.queries, answer.id);
    if (command?.deviceId !== deviceId) {
      const { id, outcome, report } = answer;
      return unmatched.keepAnswer({ id, deviceId, outcome, report });
    }
    if (answer.outcome !== 'accepted') await settlements.apply(command, findingOfAnswer(answer), 'late-answer');
    else if (command.acceptedAtMs === null) settlements.accepted(command.id);
  }

  return { settle: (deviceId, answer) => inTurn(deviceId, answer, () => look(deviceId, answer)) };
}
