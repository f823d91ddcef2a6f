// Devices on the embedded broker: one connection each, reported as gone before its successor sends, subscribed to its own commands.
import { EventEmitter } from 'node:events';
import type { Aedes, Client } from 'aedes';
import { beforeEach, describe, expect, it } from 'vitest';
import { type BrokerClients, createBrokerClients } from '../../../../src/link/channels/mqtt/broker-clients.ts';
import { mqttTopics } from '../../../../src/link/protocol.ts';

let closed: Client[];
const aClient = (id: string) => {
  const client = { id, close: () => void closed.push(client) } as unknown as Client;
  return client;
};
let aedes: EventEmitter;
let clients: BrokerClients;
let gone: string[];
beforeEach(() => {
  aedes = new EventEmitter();
  gone = [];
  closed = [];
  clients = createBrokerClients((deviceId) => gone.push(deviceId));
  clients.watch(aedes as unknown as Aedes);
});

describe('the clients of the broker', () => {
  it('are one per device: a second replaces the first, which is reported as gone at once and only once', () => {
    const [first, second] = [aClient('a'), aClient('a')];
    aedes.emit('client', first);
    expect([clients.of('a'), clients.deviceIdOf(first), gone]).toEqual([first, 'a', []]);
    aedes.emit('client', second);
    expect([clients.of('a'), clients.deviceIdOf(first), clients.deviceIdOf(second), gone]).toEqual([second, undefined, 'a', ['a']]);
    aedes.emit('clientDisconnect', first);
    expect([clients.of('a'), gone]).toEqual([second, ['a']]);
    aedes.emit('clientDisconnect', second);
    expect([clients.of('a'), gone]).toEqual([undefined, ['a', 'a']]);
  });

  it('count as subscribed once the subscription to their commands is granted, until they unsubscribe', () => {
    const client = aClient('a');
    aedes.emit('client', client);
    aedes.emit('subscribe', [{ topic: mqttTopics.commands('b'), qos: 0 }], client);
    aedes.emit('subscribe', [{ topic: mqttTopics.commands('a'), qos: 128 }], client);
    aedes.emit('subscribe', [{ topic: mqttTopics.commands('a'), qos: 0 }], null);
    expect(clients.isListening(client)).toBe(false);
    aedes.emit(
      'subscribe',
      [
        { topic: 'else', qos: 128 },
        { topic: mqttTopics.commands('a'), qos: 127 },
      ],
      client,
    );
    expect(clients.isListening(client)).toBe(true);
    aedes.emit('unsubscribe', [mqttTopics.commands('b')], client);
    aedes.emit('unsubscribe', [mqttTopics.commands('a')], null);
    expect(clients.isListening(client)).toBe(true);
    aedes.emit('unsubscribe', [mqttTopics.commands('a')], client);
    expect(clients.isListening(client)).toBe(false);
  });

  it('are disconnected by device id', () => {
    const [client, other] = [aClient('a'), aClient('b')];
    for (const each of [client, other]) {
      clients.loggingIn(each);
      aedes.emit('client', each);
    }
    clients.cutOff('a');
    clients.cutOff('nobody');
    expect([closed, clients.isCutOff(client), clients.isCutOff(other)]).toEqual([[client], true, false]);
  });

  it('that are disconnected during their login are closed after it; later and other clients are not', () => {
    const [overtaken, other, later] = [aClient('a'), aClient('b'), aClient('a')];
    for (const each of [overtaken, other]) clients.loggingIn(each);
    clients.cutOff('a');
    expect(closed).toEqual([]);
    for (const each of [overtaken, other]) aedes.emit('client', each);
    expect([closed, clients.isCutOff(overtaken), clients.isCutOff(other)]).toEqual([[overtaken], true, false]);
    aedes.emit('clientDisconnect', overtaken);
    clients.loggingIn(later);
    aedes.emit('client', later);
    expect([closed, gone, clients.of('a')]).toEqual([[overtaken], ['a'], later]);
  });

  it('are removed without a report when the broker closes', () => {
    aedes.emit('client', aClient('a'));
    clients.clear();
    expect([clients.of('a'), gone]).toEqual([undefined, []]);
  });
});
