// The port between the protocol core and a kind of device: the core keeps the promises, the work knows customer, bank and printer.
import type { DeviceKind, EndingOutcome, JsonObject, LedgerCommandName } from '../../link/protocol.ts';
import type { JournalEntry } from './journal.ts';
import type { Task } from './task.ts';

/** How a ledger command ends. */
export interface Ending {
  outcome: EndingOutcome;
  report?: JsonObject;
  reason?: string;
}

export function refused(reason: string): Ending {
  return { outcome: 'refused', reason };
}

/** What presence and Status tell about the device's body. */
export interface DeviceFacts {
  battery: number;
  paper: string;
  signal: number;
  bank?: string;
  firmware: string;
  /** Of presence: what it can do beyond the first form of the protocol. */
  features?: string[];
}

/** What kind of device it is: does the work of a ledger command, and knows afterwards whether it was done. */
export interface DeviceWork {
  readonly kind: DeviceKind;
  readonly commands: ReadonlySet<LedgerCommandName>;
  facts(): DeviceFacts;
  /** A no that can be said before anything is taken on: wrong arguments, or busy with something of its own. */
  judge(name: LedgerCommandName, args: JsonObject): Ending | undefined;
  /** Does it. Must call task.begin() and get true before it touches the bank or the fiscal memory. */
  execute(task: Task): Promise<Ending>;
  /** After a power cut, of a command that was begun: asks the bank or the fiscal memory how it ended. */
  recover(entry: JournalEntry): Promise<Ending>;
  /** What LastTransaction adds for this kind of device. */
  lastDocument?(): JsonObject;
}
