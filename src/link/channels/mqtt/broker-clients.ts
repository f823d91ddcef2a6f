// The devices connected to the embedded broker, and which of them have subscribed to commands. At most one connection per device: a second
// one replaces the first, whose end is reported before any message of the second. If a device is cut off while its login is being checked,
// it is cut off again right after login: the check may have read the state before the change.
import type { Aedes, Client } from 'aedes';
import { mqttTopics } from '../../protocol.ts';

export type BrokerClients = ReturnType<typeof createBrokerClients>;

/** SUBACK codes from here on are refusals. */
const firstRefusal = 128;

export function createBrokerClients(onGone: (deviceId: string) => void) {
  // Not aedes's own list, which loses a client while its predecessor with the same id is still closing.
  const connected = new Map<string, Client>();
  const listening = new WeakSet<Client>();
  const ended = new WeakSet<Client>();
  /** Number of all cut-offs; each device that was cut off has the number of its last one. */
  let cutOffs = 0;
  const lastCutOff = new Map<string, number>();
  const cutOffsAtLogin = new WeakMap<Client, number>();

  function end(client: Client | undefined): void {
    if (client === undefined) return;
    ended.add(client);
    client.close();
  }

  return {
    /** The device's connection, subscribed or not. */
    of: (deviceId: string) => connected.get(deviceId),
    isListening: (client: Client) => listening.has(client),
    /** undefined for a client that has not logged in, whatever its client id. */
    deviceIdOf: (client: Client) => (connected.get(client.id) === client ? client.id : undefined),

    /** The check of its login begins. */
    loggingIn: (client: Client) => void cutOffsAtLogin.set(client, cutOffs),
    cutOff(deviceId: string): void {
      cutOffs += 1;
      lastCutOff.set(deviceId, cutOffs);
      end(connected.get(deviceId));
    },
    /** All further messages of the client are ignored, including its will. */
    isCutOff: (client: Client) => ended.has(client),

    watch(aedes: Aedes): void {
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
