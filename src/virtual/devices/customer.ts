// The customer in front of a device: automatic, who pays quickly, or a person. The device does not know which.
// Invariants: each wait ends with at most one act, and no act follows after it was cancelled. A person who does nothing for two minutes, before
// the card or between card and PIN, counts as gone.
import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Bani } from '../../kernel/money.ts';

export type CustomerAct = 'pays' | 'cancels' | 'wrong-pin' | 'declined' | 'leaves';

export interface Meeting {
  commandId: string;
  amountBani: Bani;
  /** Time that the automatic customer takes. */
  quickMs: number;
}

/** Acts of a person in front of the device. */
export type PersonAct = 'presentCard' | 'pin' | 'wrongPin' | 'decline' | 'cancel';

/** Automatic, and can be switched to a person. */
export type Customer = ReturnType<typeof createCustomer>;

export interface CustomerDeps {
  clock: Clock;
  /** The card is in: the device asks for the PIN. */
  onCard(meeting: Meeting): void;
}

const patienceMs = 120_000;

const actsOf: Record<Exclude<PersonAct, 'presentCard'>, CustomerAct> = {
  pin: 'pays',
  wrongPin: 'wrong-pin',
  decline: 'declined',
  cancel: 'cancels',
};

export function createCustomer({ clock, onCard }: CustomerDeps) {
  const listeners = new Set<() => void>();
  let isByHand = false;
  let waiting: { meeting: Meeting; isCardIn: boolean; end(act: CustomerAct): void } | undefined;
  let cancelPatience: Cancel = () => {};

  function onChange(): void {
    for (const listener of listeners) listener();
  }

  function wait(patient: NonNullable<typeof waiting>): void {
    cancelPatience();
    waiting = patient;
    cancelPatience = clock.after(patienceMs, () => patient.end('leaves'));
    onChange();
  }

  function leave(): void {
    cancelPatience();
    if (waiting === undefined) return;
    waiting = undefined;
    onChange();
  }

  return {
    get isByHand(): boolean {
      return isByHand;
    },
    /** `acted` is called once, unless the returned function was called before. */
    meet(meeting: Meeting, acted: (act: CustomerAct) => void): Cancel {
      if (!isByHand) return clock.after(meeting.quickMs, () => acted('pays'));
      let isOver = false;
      const end = (act: CustomerAct) => {
        if (isOver) return;
        isOver = true;
        leave();
        acted(act);
      };
      wait({ meeting, isCardIn: false, end });
      return () => {
        if (isOver) return;
        isOver = true;
        leave();
      };
    },
    /** A waiting customer pays when it is switched back. */
    setByHand(byHand: boolean): void {
      if (byHand === isByHand) return;
      isByHand = byHand;
      if (!byHand) waiting?.end('pays');
      onChange();
    },
    /** Calls the listener when the customer or the awaited act changes. */
    listen: (listener: () => void) => void listeners.add(listener),
    /** The act that the device waits for from a person. */
    waitsFor(): 'card' | 'pin' | undefined {
      if (waiting === undefined) return undefined;
      return waiting.isCardIn ? 'pin' : 'card';
    },
    /** False: the device does not wait for this act. */
    act(act: PersonAct): boolean {
      if (waiting === undefined) return false;
      if (act === 'presentCard') {
        if (waiting.isCardIn) return false;
        wait({ ...waiting, isCardIn: true });
        onCard(waiting.meeting);
        return true;
      }
      // A PIN or a decline is possible only after the card.
      if (act !== 'cancel' && !waiting.isCardIn) return false;
      waiting.end(actsOf[act]);
      return true;
    },
  };
}
