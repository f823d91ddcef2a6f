// What an event would be answered now: the decision of run.ts without its commit. Nothing is written, sent, waited for or asked.
//
//   const { answer, effects } = await createDryRun(load)(event);     // the effects of the real event, not performed
import type { Calls } from './calls.ts';
import type { Case, Id } from './case.ts';
import type { Answer, Event, Need } from './event.ts';
import type { Load } from './load.ts';
import { done } from './rules/answers.ts';
import { decide } from './rules/decide.ts';
import { presenceOf } from './rules/facts.ts';
import type { Run } from './run.ts';

export function createDryRun(load: Load): Run {
  return async (event) => {
    const { case: facts } = await load(event);
    let decided = decide(facts, event);
    if (decided.needs) decided = decide(facts, { ...event, hasWaited: true, answered: answeredBy(facts, decided.needs) } as Event);
    const { answer, effects, next, added } = decided;
    return { answer, effects, case: next ?? facts, added };
  };
}

/** The journal that got the operation is asked, and answers if it is connected. */
function answeredBy(c: Case, need: Need): readonly Id[] | undefined {
  if (need.type !== 'confirmation') return undefined;
  return need.ids.filter((id) => {
    const op = c.ops[id];
    const presence = op && presenceOf(c, op.merchantId, op.deviceId);
    return presence?.isOnline === true && presence.journalId === op?.journalId;
  });
}

/** Calls of a dry run: one that would begin an operation is answered 0. */
export const dryCalls = (run: Run): Pick<Calls, 'call'> => ({
  async call(event) {
    const { answer, effects } = await run(event);
    if (effects.some(({ type }) => type === 'send' || type === 'sendAbort')) return done({});
    return answer as Answer;
  },
});
