// The devices that are connected to the embedded broker, and which of them listen for commands. At most one connection a device: a second
// one replaces the first, whose end is reported before any message of the second. A device that is cut off while its login is being
// judged is in the moment in which it gets in cut off again: the judgement may have been made before the change that cut it off.
import type { Aedes, Client } from 'aedes';
import { mqttTopics } from '../../protocol.ts';

export interface BrokerClients {
  /** The device's connection, whether it listens or not. */
  of(deviceId: string): Client | undefined;
  isListening(client: Client): boolean;
  /** undefined for a client that has not logged in, whatever it calls itself. */
  deviceIdOf(client: Client): string | undefined;
  /** Its login begins to be judged. */
  loggingIn(client: Client): void;
  cutOff(deviceId: string): void;
  /** Nothing counts any more that comes from it, its will included. */
  isCutOff(client: Client): boolean;
  watch(aedes: Aedes): void;
  clear(): void;
}

/** MQTT answers a subscription with the level that it grants, or with this and above for a refusal. */
const firstRefusal = 128;

export function createBrokerClients(onGone: (deviceId: string) => void): BrokerClients {
  // Kept beside aedes's own list, which loses a client whose predecessor of the same id is still closing.
  const connected = new Map<string, Client>();
  const listening = new WeakSet<Client>();
  const ended = new WeakSet<Client>();
  /** Cut-offs are counted; of each device that ever was, the number of its last. */
  let cutOffs = 0;
  const lastCutOff = new Map<string, number>();
  const cutOffsAtLogin = new WeakMap<Client, number>();

  function end(client: Client | undefined): void {
    if (client === undefined) return;
    ended.add(client);
    client.close();
  }

  return {
    of: (deviceId) => connected.get(deviceId),
    isListening: (client) => listening.has(client),
    deviceIdOf: (client) => (connected.get(client.id) === client ? client.id : undefined),

    loggingIn: (client) => void cutOffsAtLogin.set(client, cutOffs),
    cutOff(deviceId) {
      cutOffs += 1;
      lastCutOff.set(deviceId, cutOffs);
      end(connected.get(deviceId));
    },
    isCutOff: (client) => ended.has(client),

    watch(aedes) {
      aedes.on('client', (client) => {
        if (connected.has(client.id)) onGone(client.id);
        connected.set(client.id, client);
        if ((lastCutOff.get(client.id) ?? 0) > (cutOffsAtLogin.get(client) ?? 0)) end(client);
      });
      aedes.on('clientDisconnect', (client) => {
        if (connected.get(client.id) !== client) return;
        connected.delete(client.id);
        onGone(client.id);
      });
      aedes.on('subscribe', (subscriptions, client) => {
        if (client && subscriptions.some(({ topic, qos }) => topic === mqttTopics.commands(client.id) && (qos as number) < firstRefusal))
          listening.add(client);
      });
      aedes.on('unsubscribe', (topics, client) => {
        if (client && topics.includes(mqttTopics.commands(client.id))) listening.delete(client);
      });
    },

    clear: () => connected.clear(),
  };
}
