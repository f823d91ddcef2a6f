// A virtual device: its hardware, its power switch and its faults.
// The stores survive a crash, the instance does not: after a short time a new one starts from the stored state.
import type { JsonObject, LedgerCommandName } from '../../link/protocol.ts';
import type { DeviceChannel } from '../client/connector.ts';
import type { Ending } from '../client/device-work.ts';
import type { Faults } from '../mishaps/faults.ts';
import { type BodyDeps, openBody } from './body.ts';
import { Power } from './power.ts';

export interface VirtualDeviceDeps extends BodyDeps {
  restartAfterMs?: number;
}

/** A command started at the device, not by a gateway. */
export interface LocalCommand {
  id: string;
  name: LedgerCommandName;
  args: JsonObject;
  withinMs?: number;
}

export type VirtualDevice = Awaited<ReturnType<typeof createVirtualDevice>>;

const localWithinMs = 5 * 60_000;

export async function createVirtualDevice(deps: VirtualDeviceDeps) {
  const { kind, deviceId, logger } = deps;
  const body = await openBody(deps);
  const { screen, bank, customer, mishaps } = body;
  const power = new Power({
    deviceId,
    clock: deps.clock,
    logger,
    screen,
    restartAfterMs: deps.restartAfterMs ?? 1_000,
    boot: () => body.boot({ crash: () => power.crash() }),
    start: (client) => client.start((channel) => body.faults[channel]),
  });

  function setFaults(change: Partial<Faults>): void {
    const before = body.faults;
    body.faults = { ...before, ...change };
    for (const channel of ['mqtt', 'queue'] as const) {
      if (before[channel] !== body.faults[channel]) power.client?.setChannel(channel, body.faults[channel]);
    }
    if (before.noJournal !== body.faults.noJournal) void power.crash();
  }

  await power.boot();
  return {
    kind,
    deviceId,
    name: deps.name,
    screen,
    bank,
    customer,
    mishaps,
    /** Of the running instance. */
    journal: () => body.journal,
    /** Of a register; that of a terminal stays empty. */
    fiscalMemory: () => body.fiscalMemory,
    isOn: () => power.client !== undefined,
    isConnected: (channel: DeviceChannel) => power.client?.isConnected(channel) ?? false,
    faults: () => body.faults,
    setFaults,
    /** Cuts the power; the device restarts after `restartAfterMs`. Resolves when it runs again. */
    crash: () => power.crash(),
    /** Switches the device off or on. */
    setPower: (isOn: boolean) => power.switch(isOn),
    /** Inserts a new paper roll. */
    newRoll: () => body.newRoll(),
    /** Runs a local command to its ending, across crashes. A known id is not run again. */
    perform: (command: LocalCommand) => performThroughCrashes(power, command),
    async stop(): Promise<void> {
      await power.stop();
      await Promise.all(Object.values(deps.stores).map((store) => store.close()));
    },
  };
}

async function performThroughCrashes(power: Power, { withinMs = localWithinMs, ...command }: LocalCommand): Promise<Ending> {
  for (;;) {
    await power.restarted();
    if (!power.client) throw new Error('The device is switched off.');
    const ending = await Promise.race([power.client.device.runLocal({ ...command, withinMs }), power.lost()]);
    if (ending) return ending;
  }
}
