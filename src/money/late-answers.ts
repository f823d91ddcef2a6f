// Answers for which no call waits any more: they end an open operation, and confirm or contradict a settled one. A report of money about an id
// that the operations of the device do not have is kept for an operator [D295].
// If the process dies before the commit, the operation is still open, and Recall asks the device.
import type { Database } from '../database/database.ts';
import { keptStatement } from '../database/kept-statement.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { createAnswersInTurn } from '../ledger/answers-in-turn.ts';
import type { UnmatchedReports } from '../ledger/unmatched.ts';
import type { AnswerMessage } from '../link/wire-schemas.ts';
import type { Id } from './case.ts';
import type { Notes } from './notes.ts';
import type { Run } from './run.ts';
import { reportEvent } from './send.ts';

export interface LateAnswers {
  take(deviceId: Id, answer: AnswerMessage): Promise<void>;
}

interface Deps {
  clock: Clock;
  logger: Logger;
  database: Pick<Database, 'queries'>;
  run: Run;
  notes: Pick<Notes, 'accepted' | 'wasAccepted'>;
  unmatched: Pick<UnmatchedReports, 'keepAnswer'>;
}

const ownerOf = keptStatement((queries, { id }: { id: Id }) =>
  queries.selectFrom('commands').select(['device_id', 'accepted_at']).where('id', '=', id).compile(),
);

export function createLateAnswers({ clock, logger, database, run, notes, unmatched }: Deps): LateAnswers {
  const inTurn = createAnswersInTurn({ clock, logger });

  async function look(deviceId: Id, answer: AnswerMessage): Promise<void> {
    const { id, outcome, report } = answer;
    const [row] = await ownerOf(database.queries, { id });
    if (row?.device_id !== deviceId) return unmatched.keepAnswer({ id, deviceId, outcome, report });
    if (outcome !== 'accepted') {
      const event = reportEvent(id, 'late-answer', { ...answer, outcome });
      await run({ ...event, wasAccepted: notes.wasAccepted(id) });
    } else if (row.accepted_at === null) notes.accepted(id);
  }

  return { take: (deviceId, answer) => inTurn(deviceId, answer, () => look(deviceId, answer)) };
}
