// Authorization of devices on an outside broker: a device has access to its own topics and queues only.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type BrokerQuestion, decideResource, decideTopic, decideUser, decideVhost, mosquittoAcl } from '../../src/link/broker-auth.ts';
import { deviceId, otherDeviceId } from './link-bench.ts';

const base = { username: deviceId, vhost: '/' };
/** The fields that RabbitMQ sends about an MQTT connection: with a client id. */
const overMqtt = (clientId = deviceId) => ({ resource: { client_id: clientId }, topic: { 'variable_map.client_id': clientId } });
const overAmqp = { resource: {}, topic: {} };
const resource = (kind: string, name: string, { resource: over }: { resource: BrokerQuestion } = overAmqp) =>
  ['configure', 'write', 'read'].filter((permission) => decideResource({ ...base, ...over, resource: kind, name, permission }) === 'allow');
const topic = (name: string, routingKey: string, { topic: over }: { topic: BrokerQuestion } = overAmqp) =>
  ['write', 'read', 'configure'].filter(
    (permission) => decideTopic({ ...base, ...over, resource: 'topic', name, permission, routing_key: routingKey }) === 'allow',
  );

describe('authorization for RabbitMQ', () => {
  it('user: checks the secret, and that an MQTT client id equals the user name', async () => {
    const check = async (id: string, secret: string) => id === deviceId && secret === 's';
    expect(await decideUser({ username: deviceId, password: 's' }, check)).toBe('allow');
    expect(await decideUser({ username: deviceId, password: 's', client_id: deviceId, vhost: '/' }, check)).toBe('allow');
    expect(await decideUser({ username: deviceId, password: 's', client_id: otherDeviceId }, check)).toBe('deny');
    expect(await decideUser({ username: deviceId, password: 'x' }, check)).toBe('deny');
    expect(await decideUser({ username: deviceId }, async () => true)).toBe('deny');
    expect(await decideUser({ username: deviceId, password: '' }, async () => true)).toBe('deny');
    expect(await decideUser({ username: 'guest', password: 'guest' }, async () => true)).toBe('deny');
    // An AMQP client has no client id.
    expect(await decideUser({ username: deviceId, password: 's', client_id: '' }, check)).toBe('allow');
  });

  it('vhost: allows the configured one only', () => {
    expect(decideVhost(base)).toBe('allow');
    expect(decideVhost({ ...base, vhost: 'other' })).toBe('deny');
    expect(decideVhost({ username: 'tillgate', vhost: '/' })).toBe('deny');
    expect(decideVhost({ ...base, vhost: 'till' }, 'till')).toBe('allow');
  });

  it('queues: allows those of the device, and those of the MQTT plugin under its client id', () => {
    expect(resource('queue', `tillgate.device.${deviceId}`)).toEqual(['configure', 'read']);
    expect(resource('queue', `mqtt-subscription-${deviceId}qos0`, overMqtt())).toEqual(['configure', 'write', 'read']);
    expect(resource('queue', `mqtt-subscription-${deviceId}qos1`, overMqtt())).toEqual(['configure', 'write', 'read']);
    for (const foreign of [
      `tillgate.device.${otherDeviceId}`,
      `mqtt-subscription-${otherDeviceId}qos0`,
      `mqtt-subscription-${deviceId}`,
      'x',
      '',
    ]) {
      expect(resource('queue', foreign), foreign).toEqual([]);
      expect(resource('queue', foreign, overMqtt()), foreign).toEqual([]);
    }
  });

  it('exchanges: allows writing to the answers exchange, reading and writing the MQTT exchange, and never the default one', () => {
    expect(resource('exchange', 'tillgate.answers')).toEqual(['write']);
    expect(resource('exchange', 'amq.topic', overMqtt())).toEqual(['write', 'read']);
    for (const foreign of ['amq.default', '', 'amq.direct', 'amq.fanout', 'elsewhere'])
      expect(resource('exchange', foreign, overMqtt()), foreign).toEqual([]);
    expect(resource('topic', 'amq.topic', overMqtt())).toEqual([]);
  });

  it('routing keys: allows those of the device only', () => {
    expect(topic('tillgate.answers', `${deviceId}.presence`)).toEqual(['write']);
    expect(topic('tillgate.answers', `${deviceId}.gateway-1`)).toEqual(['write']);
    for (const foreign of [
      `${otherDeviceId}.presence`,
      `${deviceId}.`,
      `${deviceId}.a.b`,
      deviceId,
      '#',
      `${deviceId}.#`,
      `x${deviceId}.presence`,
    ]) {
      expect(topic('tillgate.answers', foreign), foreign).toEqual([]);
    }
    const own = `tillgate.devices.${deviceId}`;
    expect(topic('amq.topic', `${own}.commands`, overMqtt())).toEqual(['read']);
    expect(topic('amq.topic', `${own}.presence`, overMqtt())).toEqual(['write']);
    expect(topic('amq.topic', `${own}.answers.gateway-1`, overMqtt())).toEqual(['write']);
    for (const foreign of [
      '#',
      'tillgate.devices.*.commands',
      `tillgate.devices.${otherDeviceId}.commands`,
      `${own}.#`,
      `${own}.answers.*`,
      `${own}.answers.a.b`,
    ]) {
      expect(topic('amq.topic', foreign, overMqtt()), foreign).toEqual([]);
    }
    expect(topic('amq.direct', `${own}.commands`, overMqtt())).toEqual([]);
  });

  it('MQTT resources: allows them to the MQTT connection of the device only, because AMQP could forward messages unchecked', () => {
    for (const connection of [overAmqp, overMqtt(''), overMqtt(otherDeviceId)]) {
      expect(resource('queue', `mqtt-subscription-${deviceId}qos0`, connection)).toEqual([]);
      expect(resource('queue', `mqtt-subscription-${deviceId}qos1`, connection)).toEqual([]);
      expect(resource('exchange', 'amq.topic', connection)).toEqual([]);
      for (const own of ['commands', 'presence', 'answers.gateway-1']) {
        expect(topic('amq.topic', `tillgate.devices.${deviceId}.${own}`, connection), own).toEqual([]);
      }
    }
  });

  it('denies everything in another vhost and to a user that is not a device', () => {
    const question = { resource: 'queue', name: `tillgate.device.${deviceId}`, permission: 'read' };
    expect(decideResource({ ...question, username: deviceId, vhost: 'other' })).toBe('deny');
    expect(decideResource({ ...question, username: 'admin', vhost: '/' })).toBe('deny');
    expect(
      decideTopic({
        username: deviceId,
        vhost: 'other',
        name: 'tillgate.answers',
        permission: 'write',
        routing_key: `${deviceId}.presence`,
      }),
    ).toBe('deny');
  });
});

it('ships the Mosquitto ACL that the generator writes', () => {
  const shipped = readFileSync(new URL('../../deploy/mosquitto.acl', import.meta.url), 'utf8');
  expect(shipped.split('\n').slice(1).join('\n')).toBe(mosquittoAcl(['gateway-a', 'gateway-b']));
});
