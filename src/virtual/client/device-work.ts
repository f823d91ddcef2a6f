// The interface between the protocol core and a kind of device: the core implements the promises, the work handles customer, bank and
// printer.
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

/** Hardware state in presence and Status. */
export interface DeviceFacts {
  battery: number;
  paper: string;
  signal: number;
  bank?: string;
  firmware: string;
  /** Features in presence: extensions of the first protocol. */
  features?: string[];
}

/** The work of one kind of device: executes ledger commands, and can find out afterwards whether one was done. */
export interface DeviceWork {
  readonly kind: DeviceKind;
  readonly commands: ReadonlySet<LedgerCommandName>;
  facts(): DeviceFacts;
  /** An immediate refusal before the command is accepted: wrong arguments, or the device is busy. */
  judge(name: LedgerCommandName, args: JsonObject): Ending | undefined;
  /** Executes the command. Must call task.begin() and get true before it uses the bank or the fiscal memory. */
  execute(task: Task): Promise<Ending>;
  /** After a power cut, for a command that had begun: finds the outcome at the bank or in the fiscal memory. */
  recover(entry: JournalEntry): Promise<Ending>;
  /** Additional fields of LastTransaction for this kind of device. */
  lastDocument?(): JsonObject;
}
