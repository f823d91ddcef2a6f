// The sandbox's devices. A restarted sandbox reuses the ids and secrets in sandbox.json; a device whose secret is lost or no longer valid
// gets a new one.

import type { Devices } from '../devices/devices.ts';
import type { DeviceKind } from '../link/protocol.ts';

export interface WantedDevice {
  kind: DeviceKind;
  name: string;
  bank?: string;
  pointOfSalesCode?: string;
}

export interface DemoDevice extends WantedDevice {
  id: string;
  secret: string;
}

const actor = 'sandbox';

/** Safe to call at every start; `remembered`: sandbox.json of an earlier start. */
export async function ensureDemoDevices(
  devices: Devices,
  merchantId: string,
  wanted: readonly WantedDevice[],
  remembered: readonly { id: string; secret: string }[] = [],
): Promise<DemoDevice[]> {
  const registered = await devices.list(merchantId);
  const ready: DemoDevice[] = [];
  for (const want of wanted) {
    const known = registered.find((one) => one.kind === want.kind && one.name === want.name && one.bank === (want.bank ?? null));
    const id = known?.id ?? (await devices.register(actor, { merchantId, ...want })).id;
    const old = remembered.find((one) => one.id === id)?.secret;
    const isStillRight = old !== undefined && (await devices.checkSecret(id, old)) !== undefined;
    ready.push({ ...want, id, secret: isStillRight ? old : (await devices.newSecret(actor, id)).secret });
  }
  return ready;
}
