// A person may have been wrong about an earlier try, settled as not done while its device was away: the device, which is there now, is asked
// before the same goes out to it again [D129]. If it says that it did it, the insert is refused with the reason; nothing goes out
// while it says nothing. Asking writes no more than the answer says, so dying in the middle changes nothing.
import type { Database } from '../../database/database.ts';
import type { Link } from '../../link/link.ts';
import { notConfirmedYet } from '../answers.ts';
import type { Command } from '../command.ts';
import { lastDecisionOn } from '../device-lock.ts';
import type { Recall } from '../settling/recall.ts';
import { unconfirmedDecisions } from '../tried-before.ts';
import type { CommandRequest } from './call.ts';

export interface Hearing {
  /** Returns until when all that was decided has been asked about: the insert lets nothing pass that was decided later. */
  hearOut(request: CommandRequest): Promise<number | undefined>;
}

interface Deps {
  database: Pick<Database, 'queries'>;
  link: { presence: Pick<Link['presence'], 'journalOf'> };
  recall: Pick<Recall, 'hear'>;
}

export function createHearing({ database, link, recall }: Deps): Hearing {
  const underWay = new Map<string, Promise<boolean>>();

  /** Many calls at once are one question. */
  function hear(decided: Command): Promise<boolean> {
    const hearing = recall.hear(decided).finally(() => underWay.delete(decided.id));
    underWay.set(decided.id, hearing);
    return hearing;
  }

  /** A device that has begun another journal since cannot tell, and one that keeps none any more need not answer: the person's word stands. */
  async function hasAnswered(decided: Command, { deviceId, journalId }: CommandRequest): Promise<boolean> {
    const journalNow = link.presence.journalOf(deviceId, journalId);
    const isAnother = decided.journalId !== null && journalNow !== decided.journalId;
    if (isAnother && journalNow !== undefined) return true;
    return (await (underWay.get(decided.id) ?? hear(decided))) || isAnother;
  }

  return {
    async hearOut(request) {
      const decidedAtMs = await lastDecisionOn(database.queries, request.deviceId);
      if (decidedAtMs === undefined) return undefined;
      for (let sinceMs = 0; ; ) {
        const decided = await unconfirmedDecisions(database.queries, request, sinceMs);
        for (const command of decided) if (!(await hasAnswered(command, request))) throw notConfirmedYet();
        const last = decided.at(-1);
        if (!last) return decidedAtMs;
        sinceMs = last.settledAtMs ?? 0;
      }
    },
  };
}
