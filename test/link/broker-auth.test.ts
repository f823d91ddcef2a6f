// What devices may do on an outside broker: their own, and nothing else.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decideResource, decideTopic, decideUser, decideVhost, mosquittoAcl } from '../../src/link/broker-auth.ts';
import { deviceId, otherDeviceId } from './link-bench.ts';

const base = { username: deviceId, vhost: '/' };
const resource = (kind: string, name: string) =>
  ['configure', 'write', 'read'].filter((permission) => decideResource({ ...base, resource: kind, name, permission }) === 'allow');
const topic = (name: string, routingKey: string) =>
  ['write', 'read', 'configure'].filter(
    (permission) => decideTopic({ ...base, resource: 'topic', name, permission, routing_key: routingKey }) === 'allow',
  );

describe('RabbitMQ asks', () => {
  it('user: the secret decides; an MQTT client id must be the user', async () => {
    const check = async (id: string, secret: string) => id === deviceId && secret === 's';
    expect(await decideUser({ username: deviceId, password: 's' }, check)).toBe('allow');
    expect(await decideUser({ username: deviceId, password: 's', client_id: deviceId, vhost: '/' }, check)).toBe('allow');
    expect(await decideUser({ username: deviceId, password: 's', client_id: otherDeviceId }, check)).toBe('deny');
    expect(await decideUser({ username: deviceId, password: 'x' }, check)).toBe('deny');
    expect(await decideUser({ username: deviceId }, async () => true)).toBe('deny');
    expect(await decideUser({ username: deviceId, password: '' }, async () => true)).toBe('deny');
    expect(await decideUser({ username: 'guest', password: 'guest' }, async () => true)).toBe('deny');
    // An AMQP client has none.
    expect(await decideUser({ username: deviceId, password: 's', client_id: '' }, check)).toBe('allow');
  });

  it('vhost: the one', () => {
    expect(decideVhost(base)).toBe('allow');
    expect(decideVhost({ ...base, vhost: 'other' })).toBe('deny');
    expect(decideVhost({ username: 'tillgate', vhost: '/' })).toBe('deny');
    expect(decideVhost({ ...base, vhost: 'till' }, 'till')).toBe('allow');
  });

  it('queues: its own, and those of the MQTT plugin under its own client id', () => {
    expect(resource('queue', `tillgate.device.${deviceId}`)).toEqual(['configure', 'read']);
    expect(resource('queue', `mqtt-subscription-${deviceId}qos0`)).toEqual(['configure', 'write', 'read']);
    expect(resource('queue', `mqtt-subscription-${deviceId}qos1`)).toEqual(['configure', 'write', 'read']);
    for (const foreign of [
      `tillgate.device.${otherDeviceId}`,
      `mqtt-subscription-${otherDeviceId}qos0`,
      `mqtt-subscription-${deviceId}`,
      'x',
      '',
    ]) {
      expect(resource('queue', foreign), foreign).toEqual([]);
    }
  });

  it('exchanges: answers to write, MQTT’s to write and read, the default one never', () => {
    expect(resource('exchange', 'tillgate.answers')).toEqual(['write']);
    expect(resource('exchange', 'amq.topic')).toEqual(['write', 'read']);
    for (const foreign of ['amq.default', '', 'amq.direct', 'amq.fanout', 'elsewhere'])
      expect(resource('exchange', foreign), foreign).toEqual([]);
    expect(resource('topic', 'amq.topic')).toEqual([]);
  });

  it('routing keys: its own', () => {
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
    expect(topic('amq.topic', `${own}.commands`)).toEqual(['read']);
    expect(topic('amq.topic', `${own}.presence`)).toEqual(['write']);
    expect(topic('amq.topic', `${own}.answers.gateway-1`)).toEqual(['write']);
    for (const foreign of [
      '#',
      'tillgate.devices.*.commands',
      `tillgate.devices.${otherDeviceId}.commands`,
      `${own}.#`,
      `${own}.answers.*`,
      `${own}.answers.a.b`,
    ]) {
      expect(topic('amq.topic', foreign), foreign).toEqual([]);
    }
    expect(topic('amq.direct', `${own}.commands`)).toEqual([]);
  });

  it('nothing is allowed in another vhost or to a user that is no device', () => {
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

it('the shipped Mosquitto ACL is the generated one', () => {
  const shipped = readFileSync(new URL('../../deploy/mosquitto.acl', import.meta.url), 'utf8');
  expect(shipped.split('\n').slice(1).join('\n')).toBe(mosquittoAcl(['gateway-a', 'gateway-b']));
});
