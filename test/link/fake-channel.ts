// A channel in memory under the control of a test: it can be down, lose a send or leave it unclear. The test plays the devices.
import {
  type Channel,
  ChannelDown,
  type ChannelListener,
  type ChannelName,
  DeviceNotOnChannel,
  SendUnclear,
} from '../../src/link/channel.ts';
import type { AnswerMessage, CommandMessage, PresenceMessage } from '../../src/link/wire-schemas.ts';

/** `returned`: as `absent`, but the device is reported as gone just before the send is rejected. */
export type SendFate = 'ok' | 'down' | 'absent' | 'returned' | 'unclear' | 'hang';

export interface FakeChannel extends Channel {
  readonly sends: { deviceId: string; command: CommandMessage; expiresInMs: number; fate: SendFate }[];
  fate: SendFate;
  /** Complete the hanging sends, oldest first: with this error, or as sent. */
  readonly hanging: ((error?: Error) => void)[];
  /** Devices whose connection the gateway has ended. */
  readonly disconnected: string[];
  /** Called for every command that reaches the device. */
  onArrival: (deviceId: string, command: CommandMessage) => void;
  says: {
    answer(deviceId: string, answer: AnswerMessage): void;
    presence(deviceId: string, presence: PresenceMessage): void;
    gone(deviceId: string): void;
  };
  /** Offers a message as if received from the wire; `read` is what the channel does with it. */
  offers(deviceId: string, kind: 'answer' | 'presence', text: string, read: (listener: ChannelListener) => void): void;
  break(): void;
  mend(): void;
}

export function createFakeChannel(name: ChannelName, options: { tellsAbsence?: boolean } = {}): FakeChannel {
  let listener: ChannelListener | undefined;
  let isConnected = false;
  const heard = () => {
    if (!listener) throw new Error('The channel was not started.');
    return listener;
  };
  const channel: FakeChannel = {
    name,
    tellsAbsence: options.tellsAbsence ?? name === 'queue',
    get isConnected() {
      return isConnected;
    },
    sends: [],
    fate: 'ok',
    hanging: [],
    disconnected: [],
    onArrival() {},
    disconnectDevice: (deviceId) => void channel.disconnected.push(deviceId),
    async start(given) {
      listener = given;
      channel.mend();
    },
    async stop() {
      listener = undefined;
      isConnected = false;
    },
    async send(deviceId, command, expiresInMs) {
      const { fate } = channel;
      channel.sends.push({ deviceId, command, expiresInMs, fate });
      if (fate === 'down' || !isConnected) throw new ChannelDown(name);
      if (fate === 'absent') throw new DeviceNotOnChannel(name);
      if (fate === 'returned') {
        await Promise.resolve();
        heard().gone(name, deviceId);
        throw new DeviceNotOnChannel(name);
      }
      if (fate === 'unclear') throw new SendUnclear(name);
      if (fate === 'hang')
        return new Promise((resolve, reject) => {
          channel.hanging.push((error) => (error === undefined ? resolve() : reject(error)));
        });
      channel.onArrival(deviceId, command);
    },
    says: {
      answer: (deviceId, answer) => heard().answer(name, deviceId, answer),
      presence: (deviceId, presence) => heard().presence(name, deviceId, presence),
      gone: (deviceId) => heard().gone(name, deviceId),
    },
    offers: (deviceId, kind, text, read) => heard().offer(name, deviceId, { kind, bytes: Buffer.from(text), read: () => read(heard()) }),
    break() {
      isConnected = false;
      heard().down(name);
    },
    mend() {
      isConnected = true;
      heard().up(name);
    },
  };
  return channel;
}
