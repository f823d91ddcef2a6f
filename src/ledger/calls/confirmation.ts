// An operator may have wrongly settled an earlier attempt as not done while its device was offline. Before the same operation is sent to
// that device again, the device is asked about the earlier attempt [D129]. If the device executed it, the insert is refused with the
// reason; until the journal to which the attempt was sent answers, nothing is sent: other hardware under the same id cannot know [D304].
// Only the device's answers are written, so a crash in between changes nothing.
import type { Database } from '../../database/database.ts';
import type { Link } from '../../link/link.ts';
import { notConfirmedYet, sentToOtherHardware } from '../answers.ts';
import type { Command } from '../command.ts';
import { lastDecisionOn } from '../device-lock.ts';
import type { Recall } from '../settling/recall.ts';
import { unconfirmedDecisions } from '../tried-before.ts';
import type { CommandRequest } from './call.ts';

export interface Confirmation {
  /** Asks about every unconfirmed decision. Returns the time of the last one: the insert rejects the command if there is a later one. */
  confirmWithDevice(request: CommandRequest): Promise<number | undefined>;
}

interface Deps {
  database: Pick<Database, 'queries'>;
  link: { presence: Pick<Link['presence'], 'journalOf'> };
  recall: Pick<Recall, 'confirm'>;
}

export function createConfirmation({ database, link, recall }: Deps): Confirmation {
  const underWay = new Map<string, Promise<boolean>>();

  /** Concurrent calls share one Recall. */
  function ask(decided: Command): Promise<boolean> {
    const asking = recall.confirm(decided).finally(() => underWay.delete(decided.id));
    underWay.set(decided.id, asking);
    return asking;
  }

  async function requireAnswer(decided: Command, { deviceId, journalId }: CommandRequest): Promise<void> {
    if (await (underWay.get(decided.id) ?? ask(decided))) return;
    const isOther = (link.presence.journalOf(deviceId, journalId) ?? null) !== decided.journalId;
    throw isOther ? sentToOtherHardware() : notConfirmedYet();
  }

  return {
    async confirmWithDevice(request) {
      const decidedAtMs = await lastDecisionOn(database.queries, request.deviceId);
      if (decidedAtMs === undefined) return undefined;
      for (let sinceMs = 0; ; ) {
        const decided = await unconfirmedDecisions(database.queries, request, sinceMs);
        for (const command of decided) await requireAnswer(command, request);
        const last = decided.at(-1);
        if (!last) return decidedAtMs;
        sinceMs = last.settledAtMs ?? 0;
      }
    },
  };
}
