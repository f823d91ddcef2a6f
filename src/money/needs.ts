// What a decision asks for before it is made: the answer of a device about an earlier attempt [D129], or whether a caller has an outcome [D58].
// Nothing is started, and only what devices report is written.
import { type Clock, sleep } from '../kernel/clock.ts';
import type { Id, Op } from './case.ts';
import type { Need } from './event.ts';
import type { Recall } from './recall.ts';
import type { Run } from './run.ts';

/** An answer and the note about it are written within milliseconds; a caller that reads slowly takes longer. */
const deliveryPausesMs = [20, 40, 80, 160, 300, 400, 500, 500];

interface Deps {
  clock: Clock;
  run: Run;
  recall: Pick<Recall, 'compare'>;
}

/** Of a confirmation: the operations whose own journal has answered, whatever it said. */
export function createNeeds({ clock, run, recall }: Deps): (need: Need) => Promise<readonly Id[] | undefined> {
  const find = async (id: Id): Promise<Op | undefined> => (await run({ type: 'Outcome', id })).case.ops[id];

  /** Better answered twice than charged twice: a repeat waits until it is known whether the answer arrived. */
  async function waitForDelivery(id: Id): Promise<void> {
    for (const pauseMs of deliveryPausesMs) {
      await sleep(clock, pauseMs);
      const op = await find(id);
      if (!op || op.receivedAt !== null || op.missedAt !== null) return;
    }
  }

  async function confirm(id: Id): Promise<Id[]> {
    const op = await find(id);
    return op && (await recall.compare(op)).isOwn ? [id] : [];
  }

  return async (need) => {
    if (need.type === 'confirmation') return (await Promise.all(need.ids.map(confirm))).flat();
    await waitForDelivery(need.id);
    return undefined;
  };
}
