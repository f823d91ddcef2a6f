// Creates the work of a kind of device from its opened stores.
import type { DeviceKind } from '../../link/protocol.ts';
import type { FiscalMemory } from '../books/fiscal-memory.ts';
import { moldovanVat, type VatTable } from '../books/vat.ts';
import type { DeviceWork } from '../client/device-work.ts';
import { defaultTiming, type Timing } from './counter.ts';
import { createRegister, type RegisterDeps } from './register.ts';
import { createTerminal, type TerminalDeps } from './terminal.ts';

const firmware = 'tillgate-virtual-1';

export interface WorkDeps extends Omit<TerminalDeps, 'timing' | 'firmware'>, Pick<RegisterDeps, 'deviceId' | 'deviceName'> {
  kind: DeviceKind;
  memory: FiscalMemory;
  timing: Partial<Timing> | undefined;
  vat: VatTable | undefined;
  limitShiftTo24h: boolean | undefined;
}

export function createWork({ kind, timing, vat = moldovanVat, limitShiftTo24h = false, ...deps }: WorkDeps): DeviceWork {
  const shared = { ...deps, firmware, timing: { ...defaultTiming, ...timing } };
  return kind === 'terminal' ? createTerminal(shared) : createRegister({ ...shared, vat, limitShiftTo24h });
}
