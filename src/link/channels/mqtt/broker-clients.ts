// The devices that are connected to the embedded broker, and which of them listen for commands. At most one connection a device: a second
// one replaces the first, whose end is told before anything that the second one says.
import type { Aedes, Client } from 'aedes';
import { mqttTopics } from '../../protocol.ts';

export interface BrokerClients {
  /** The device's connection, whether it listens or not. */
  of(deviceId: string): Client | undefined;
  isListening(client: Client): boolean;
  /** undefined for a client that has not logged in, whatever it calls itself. */
  deviceIdOf(client: Client): string | undefined;
  watch(aedes: Aedes): void;
  clear(): void;
}

/** MQTT answers a subscription with the level that it grants, or with this and above for a refusal. */
const firstRefusal = 128;

export function createBrokerClients(onGone: (deviceId: string) => void): BrokerClients {
  // Kept beside aedes's own list, which loses a client whose predecessor of the same id is still closing.
  const connected = new Map<string, Client>();
  const listening = new WeakSet<Client>();

  return {
    of: (deviceId) => connected.get(deviceId),
    isListening: (client) => listening.has(client),
    deviceIdOf: (client) => (connected.get(client.id) === client ? client.id : undefined),

    watch(aedes) {
      aedes.on('client', (client) => {
        if (connected.has(client.id)) onGone(client.id);
        connected.set(client.id, client);
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
