// RabbitMQ's questions over HTTP: plain `allow` or `deny`, by GET and by form.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Office, openOffice } from '../cabinet/running-cabinet.ts';
import { seedDevice, seedMerchant } from '../support/fixtures.ts';

describe('broker authentication', () => {
  let office: Office;
  let device: { id: string; secret: string };
  beforeEach(async () => {
    office = await openOffice('sqlite');
    device = await seedDevice(office.database.queries, (await seedMerchant(office.database.queries)).id);
  });
  afterEach(() => office.close());

  async function ask(name: string, fields: Record<string, string>): Promise<string> {
    const form = new URLSearchParams(fields);
    const posted = await fetch(`${office.url}/broker/rabbitmq/${name}`, { method: 'POST', body: form });
    const got = await fetch(`${office.url}/broker/rabbitmq/${name}?${form}`);
    const answer = await posted.text();
    expect(posted.headers.get('content-type')).toMatch(/^text\/plain/);
    expect([posted.status, got.status]).toEqual([200, 200]);
    expect(await got.text()).toBe(answer);
    return answer;
  }

  it('lets a device log in with its own secret only, and writes no secret into the log', async () => {
    expect(await ask('user', { username: device.id, password: device.secret })).toBe('allow');
    expect(await ask('user', { username: device.id, password: 'wrong' })).toBe('deny');
    expect(await ask('user', { username: device.id })).toBe('deny');
    expect(await ask('user', { username: 'guest', password: 'guest' })).toBe('deny');
    expect(await ask('user', {})).toBe('deny');
    expect(await ask('user', { username: device.id, password: device.secret, client_id: 'another' })).toBe('deny');
    expect(JSON.stringify(office.logger.lines)).not.toContain(device.secret);
  });

  it('opens its own queue and topics and nothing else', async () => {
    const other = '3b241101-e2bb-4255-8caf-4136c566a962';
    const about = { username: device.id, vhost: '/' };
    expect(await ask('vhost', about)).toBe('allow');
    expect(await ask('vhost', { ...about, vhost: 'bank' })).toBe('deny');
    const queue = { ...about, resource: 'queue', permission: 'read' };
    expect(await ask('resource', { ...queue, name: `tillgate.device.${device.id}` })).toBe('allow');
    expect(await ask('resource', { ...queue, name: `tillgate.device.${other}` })).toBe('deny');
    const topic = { ...about, resource: 'topic', name: 'tillgate.answers', permission: 'write' };
    expect(await ask('topic', { ...topic, routing_key: `${device.id}.presence` })).toBe('allow');
    expect(await ask('topic', { ...topic, routing_key: `${other}.presence` })).toBe('deny');
  });

  it('denies a disabled device, or one nobody registered, whatever it asks', async () => {
    const questions = (username: string) =>
      Promise.all([
        ask('user', { username, password: device.secret }),
        ask('vhost', { username, vhost: '/' }),
        ask('resource', { username, vhost: '/', resource: 'queue', permission: 'read', name: `tillgate.device.${username}` }),
        ask('topic', { username, vhost: '/', name: 'tillgate.answers', permission: 'write', routing_key: `${username}.presence` }),
      ]);
    expect(new Set(await questions(device.id))).toEqual(new Set(['allow']));
    await office.devices.disable('test', device.id);
    expect(new Set(await questions(device.id))).toEqual(new Set(['deny']));
    expect(new Set(await questions('3b241101-e2bb-4255-8caf-4136c566a962'))).toEqual(new Set(['deny']));
  });

  it('reads forms here and nowhere else', async () => {
    const response = await fetch(`${office.url}/pairing`, { method: 'POST', body: new URLSearchParams({ code: 'x' }) });
    expect(response.status).toBe(415);
  });
});
