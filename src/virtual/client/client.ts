// A device's protocol client, reusable by authors of devices: connects the protocol core to its channels. It sends presence on each channel
// when it connects and twice a minute. An answer is sent on the channel of its command, or on any live one.
import { type Cancel, every } from '../../kernel/clock.ts';
import type { Connector, DeviceChannel } from './connector.ts';
import { Device, type DeviceDeps } from './device.ts';

export interface DeviceClientDeps extends Omit<DeviceDeps, 'send'> {
  /** In order of preference. */
  connectors: readonly Connector[];
  presenceEveryMs?: number;
}

export type DeviceClient = ReturnType<typeof createDeviceClient>;

export function createDeviceClient(deps: DeviceClientDeps) {
  const { connectors, presenceEveryMs = 30_000 } = deps;
  const device = new Device({ ...deps, send });
  let stopPresence: Cancel = () => {};

  function send(...[answer, replyTo, first]: Parameters<DeviceDeps['send']>): boolean {
    const live = connectors.filter((connector) => connector.isConnected);
    const inOrder = [
      ...live.filter((connector) => connector.channel === first),
      ...live.filter((connector) => connector.channel !== first),
    ];
    return inOrder.some((connector) => connector.sendAnswer(answer, replyTo));
  }

  function connect(connector: Connector): void {
    connector.start({
      connected() {
        connector.sendPresence(device.presence());
        device.channelUp();
      },
      disconnected() {},
      command: (bytes) => device.receive(bytes, connector.channel),
    });
  }

  function announce(): void {
    for (const connector of connectors) if (connector.isConnected) connector.sendPresence(device.presence());
  }

  return {
    device,
    /** Recovers commands that a power cut interrupted, and connects every channel that is on. */
    start(isOn: (channel: DeviceChannel) => boolean = () => true): void {
      device.recover().catch(deps.onFailure);
      for (const connector of connectors) if (isOn(connector.channel)) connect(connector);
      stopPresence = every(deps.clock, presenceEveryMs, announce);
    },
    isConnected: (channel: DeviceChannel) => connectors.some((connector) => connector.channel === channel && connector.isConnected),
    /** Connects or cuts one channel. */
    setChannel(channel: DeviceChannel, isOn: boolean): void {
      for (const connector of connectors) {
        if (connector.channel !== channel) continue;
        if (isOn) connect(connector);
        else connector.drop();
      }
    },
    /** Sends presence now on every live channel. */
    announce,
    async stop(): Promise<void> {
      stopPresence();
      await Promise.all(connectors.map((connector) => connector.stop()));
      device.halt();
    },
    /** Simulates a power cut: no offline presence, and this client does nothing any more. */
    drop(): void {
      stopPresence();
      device.halt();
      for (const connector of connectors) connector.drop();
    },
  };
}
