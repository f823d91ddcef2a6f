// Checks that a device's final answer that reached a gateway is in the ledger a moment later, however late it arrived
// and whether or not a call still waits for it. Recall would find it later, but until then the device is locked.
// Checked only without faults: a gateway that freezes, starts or loses the database may take longer.
import type { AnswerMessage } from '../src/link/wire-schemas.ts';
import type { EventClock } from './event-clock.ts';
import type { SharedStorage } from './shared-storage.ts';

export interface AnswerWatch {
  /** A gateway has received this answer. */
  received(gateway: number, answer: AnswerMessage): void;
  /** A fault of a gateway or the database: during it and for a while after it no deadline is checked. */
  disturbed(lastsMs?: number): void;
}

interface Deps {
  clock: EventClock;
  storage: Pick<SharedStorage, 'peek'>;
  violated(sentence: string): void;
}

const withinMs = 1_000;
/** Until delayed writes are done: the server ends an idle transaction after 5 s. */
const quietForMs = 12_000;

export function createAnswerWatch({ clock, storage, violated }: Deps): AnswerWatch {
  let disturbedUntilMs = Number.NEGATIVE_INFINITY;

  return {
    disturbed(lastsMs = 0) {
      disturbedUntilMs = Math.max(disturbedUntilMs, clock.elapsed() + lastsMs);
    },
    received(gateway, { id, outcome }) {
      if (outcome !== 'done' && outcome !== 'refused') return;
      const heardAtMs = clock.elapsed();
      if (heardAtMs - disturbedUntilMs < quietForMs) return;
      clock.after(withinMs, () => {
        if (disturbedUntilMs >= heardAtMs) return;
        const [row] = storage.peek(`select name, state from commands where id = ? and state in ('sent', 'unknown')`, [id]);
        if (row) violated(`${row['name']} ${id} was answered ${outcome} to gateway ${gateway}, and a moment later it is ${row['state']}`);
      });
    },
  };
}
