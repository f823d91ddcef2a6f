// The interface of the devices room: registry, pairing, credentials. Each change is one transaction with its audit entry. A device that
// loses its access is disconnected at once, on other instances by a wake-up. If a broker has its own logins, secrets are changed together
// with them (secret-changes.ts).

import { deviceAccessTopic } from '../access/merchant-device.ts';
import { newDeviceSecret } from '../access/secrets.ts';
import type { Shared } from '../database/shared-deps.ts';
import type { DeviceCaller } from '../kernel/callers.ts';
import type { Cancel } from '../kernel/clock.ts';
import { createGuessLimit } from '../kernel/guess-limit.ts';
import type { DeviceLogins } from '../link/brokers/mosquitto-logins.ts';
import { createCredentials } from './credentials.ts';
import {
  type ChannelAddresses,
  connectionGuide,
  exchangeCode,
  findByCode,
  issueCode,
  type PairedDevice,
  type PairingCode,
} from './pairing.ts';
import { type Bank, insertDevice, listDevices, type NewDeviceRequest, renameDevice, replaceSecret, setDisabled } from './registry.ts';
import { createSecretChanges } from './secret-changes.ts';

// A code has 40 bits and is valid for minutes: at this rate of wrong codes, guessing one takes thousands of years. Right codes are not
// counted, because an installer pairs all devices of a shop in a row.
const wrongCodes = {
  perAddress: { burst: 10, perS: 10 / 60 },
  inAll: { burst: 300, perS: 5 },
  maxWaiting: 200,
  sentence: 'Too many wrong pairing codes were tried; try again in a minute.',
};
const defaultPairingLifetimeMs = 15 * 60_000;
const defaultMaxDevices = 1_000;

export interface DevicesDeps extends Pick<Shared, 'database' | 'clock' | 'random'> {
  banks: readonly Bank[];
  /** Called at each pairing: ports may be known only after the start. */
  addresses: () => ChannelAddresses;
  pairingLifetimeMs?: number;
  /** Devices of one merchant, disabled ones too. */
  maxDevices?: number;
  /** The logins of an external broker that has its own. */
  logins?: DeviceLogins | undefined;
}

export type Pairing = PairedDevice & ReturnType<typeof connectionGuide>;

export interface Devices {
  readonly banks: readonly Bank[];
  register(actor: string, request: NewDeviceRequest): Promise<{ id: string } & PairingCode>;
  list(merchantId?: string): ReturnType<typeof listDevices>;
  rename(actor: string, deviceId: string, name: string): Promise<void>;
  disable(actor: string, deviceId: string): Promise<void>;
  enable(actor: string, deviceId: string): Promise<void>;
  newSecret(actor: string, deviceId: string): Promise<{ secret: string }>;
  newPairingCode(actor: string, deviceId: string): Promise<PairingCode>;
  /** `address`: the caller's, for the limit on guesses. */
  pair(code: string, address: string): Promise<Pairing>;
  /** For broker logins, the built-in queue and HTTP Basic [D10]. */
  checkSecret(deviceId: string, secret: string): Promise<DeviceCaller | undefined>;
  /** Registered and not disabled: for requests of a connected device at an external broker. */
  mayStay(deviceId: string): Promise<boolean>;
  /** Called on every instance when a device was disabled or got a new secret: the instance with its connection closes it. */
  onCutOff(listener: (deviceId: string) => void): Cancel;
  stop(): void;
}

export function createDevices(deps: DevicesDeps): Devices {
  const { database, clock, random, banks, pairingLifetimeMs = defaultPairingLifetimeMs, maxDevices = defaultMaxDevices } = deps;
  const credentials = createCredentials(database, clock);
  const guesses = createGuessLimit({ clock, ...wrongCodes });
  const cutOffListeners = new Set<(deviceId: string) => void>();

  // The detail is the device to disconnect; empty if access was only granted.
  const stopListening = database.onWake(deviceAccessTopic, (deviceId) => {
    credentials.forget();
    if (deviceId !== '') for (const listener of cutOffListeners) listener(deviceId);
  });

  function changed(deviceToCutOff = ''): void {
    credentials.forget();
    database.wake(deviceAccessTopic, deviceToCutOff);
  }
  const secretChanges = deps.logins && createSecretChanges({ database, logins: deps.logins, onCommit: changed });

  return {
    banks,
    register: (actor, request) =>
      database.transaction(async (queries) => {
        const id = await insertDevice(queries, { engine: database.engine, random, banks, maxDevices }, actor, request);
        return { id, ...(await issueCode(queries, random, actor, id, pairingLifetimeMs)) };
      }),
    list: (merchantId) => listDevices(database.queries, merchantId),
    rename: (actor, deviceId, name) => database.transaction((queries) => renameDevice(queries, actor, deviceId, name)),
    async disable(actor, deviceId) {
      await database.transaction((queries) => setDisabled(queries, actor, deviceId, true));
      changed(deviceId);
      await secretChanges?.follow(deviceId);
    },
    async enable(actor, deviceId) {
      await database.transaction((queries) => setDisabled(queries, actor, deviceId, false));
      changed();
      await secretChanges?.follow(deviceId);
    },
    async newSecret(actor, deviceId) {
      const secret = newDeviceSecret(random);
      if (secretChanges) {
        await secretChanges.replace(actor, deviceId, secret);
      } else {
        await database.transaction((queries) => replaceSecret(queries, actor, deviceId, secret));
        changed(deviceId);
      }
      return { secret };
    },
    newPairingCode: (actor, deviceId) => database.transaction((queries) => issueCode(queries, random, actor, deviceId, pairingLifetimeMs)),
    async pair(code, address) {
      const secret = newDeviceSecret(random);
      // If the device was paired before, its old secret ends and its connection is closed.
      const exchange = async () => {
        const exchanged = await database.transaction((queries) => exchangeCode(queries, secret, code));
        changed(exchanged.deviceId);
        return exchanged;
      };
      // A slow broker must not delay the next caller that tries a code.
      const paired = secretChanges
        ? await secretChanges.pair(await guesses.attempt(address, () => findByCode(database.queries, code)), code, secret)
        : await guesses.attempt(address, exchange);
      return { ...paired, ...connectionGuide(paired.deviceId, deps.addresses()) };
    },
    checkSecret: credentials.check,
    mayStay: credentials.mayStay,
    onCutOff(listener) {
      cutOffListeners.add(listener);
      return () => cutOffListeners.delete(listener);
    },
    stop: stopListening,
  };
}
