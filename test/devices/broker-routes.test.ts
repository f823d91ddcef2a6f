// RabbitMQ's questions over HTTP: plain `allow` or `deny`, by GET and by form.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { registerBrokerRoutes } from '../../src/devices/broker-routes.ts';
import { open } from '../../src/http/authentication.ts';
import { describeApi } from '../../src/http/openapi.ts';
import { adminToken, brokerTokens, openCabinet, type RunningCabinet } from '../cabinet/running-cabinet.ts';
import { seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createTestServer } from '../support/test-server.ts';

describe('broker authentication', () => {
  let cabinet: RunningCabinet;
  let device: { id: string; secret: string };
  beforeEach(async () => {
    cabinet = await openCabinet('sqlite');
    device = await seedDevice(cabinet.database.queries, (await seedMerchant(cabinet.database.queries)).id);
  });
  afterEach(() => cabinet.close());

  async function ask(name: string, fields: Record<string, string>): Promise<string> {
    const form = new URLSearchParams(fields);
    const posted = await fetch(`${cabinet.url}/broker/rabbitmq/${brokerTokens[0]}/${name}`, { method: 'POST', body: form });
    const got = await fetch(`${cabinet.url}/broker/rabbitmq/${brokerTokens[0]}/${name}?${form}`);
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
    expect(JSON.stringify(cabinet.logger.lines)).not.toContain(device.secret);
  });

  it('is logged at debug when it was answered, and at info when the token was wrong', async () => {
    await ask('user', { username: device.id, password: device.secret });
    await fetch(`${cabinet.url}/broker/rabbitmq/wrong/user`);
    const requests = () => cabinet.logger.lines.filter(({ message }) => message === 'request').map(({ level }) => level);
    await expect.poll(requests).toEqual(['debug', 'debug', 'info']);
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

  it('opens MQTT’s own objects only when RabbitMQ reports that the device is an MQTT client', async () => {
    const about = { username: device.id, vhost: '/', name: 'amq.topic', permission: 'write' };
    const exchange = { ...about, resource: 'exchange' };
    expect(await ask('resource', { ...exchange, client_id: device.id })).toBe('allow');
    expect(await ask('resource', exchange)).toBe('deny');
    const topic = { ...about, resource: 'topic', routing_key: `tillgate.devices.${device.id}.presence` };
    expect(await ask('topic', { ...topic, 'variable_map.client_id': device.id })).toBe('allow');
    expect(await ask('topic', topic)).toBe('deny');
  });

  it('denies a disabled device, or an unregistered one, whatever it asks', async () => {
    const questions = (username: string) =>
      Promise.all([
        ask('user', { username, password: device.secret }),
        ask('vhost', { username, vhost: '/' }),
        ask('resource', { username, vhost: '/', resource: 'queue', permission: 'read', name: `tillgate.device.${username}` }),
        ask('topic', { username, vhost: '/', name: 'tillgate.answers', permission: 'write', routing_key: `${username}.presence` }),
      ]);
    expect(new Set(await questions(device.id))).toEqual(new Set(['allow']));
    await cabinet.devices.disable('test', device.id);
    expect(new Set(await questions(device.id))).toEqual(new Set(['deny']));
    expect(new Set(await questions('3b241101-e2bb-4255-8caf-4136c566a962'))).toEqual(new Set(['deny']));
  });

  it('answers a caller without the token as if there were no such path, whatever it sends', async () => {
    const nowhere = await fetch(`${cabinet.url}/nowhere`, { method: 'POST' });
    const question = { username: device.id, password: device.secret };
    const near = `${brokerTokens[0].slice(0, -1)}X`;
    for (const token of ['guess', near, brokerTokens[0].toLowerCase(), `${brokerTokens[0]}%00`]) {
      for (const body of [new URLSearchParams(question), 'x'.repeat(10_000)]) {
        const response = await fetch(`${cabinet.url}/broker/rabbitmq/${token}/user`, { method: 'POST', body });
        expect([response.status, await response.clone().json()]).toEqual([404, await nowhere.clone().json()]);
      }
      expect((await fetch(`${cabinet.url}/broker/rabbitmq/${token}/user?${new URLSearchParams(question)}`)).status).toBe(404);
    }
    expect((await fetch(`${cabinet.url}/broker/rabbitmq/user`, { method: 'POST', body: new URLSearchParams(question) })).status).toBe(404);
  });

  it('takes either of two tokens, so that one can be replaced without a gap', async () => {
    for (const token of brokerTokens) {
      const body = new URLSearchParams({ username: device.id, password: device.secret });
      const response = await fetch(`${cabinet.url}/broker/rabbitmq/${token}/user`, { method: 'POST', body });
      expect(await response.text()).toBe('allow');
    }
  });

  it('has the token in no log, metric or API document', async () => {
    await ask('user', { username: device.id, password: 'wrong' });
    await fetch(`${cabinet.url}/broker/rabbitmq/${brokerTokens[0]}/nothing`);
    await fetch(`${cabinet.url}/broker/rabbitmq/${brokerTokens[0]}/user`, { method: 'DELETE' });
    const metrics = await (await fetch(`${cabinet.url}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } })).text();
    const document = JSON.stringify(await describeApi(cabinet.server));
    expect(metrics).toContain('/broker/rabbitmq/:token/user');
    expect(document).not.toContain('/broker/');
    expect(metrics + document + JSON.stringify(cabinet.logger.lines)).not.toContain('Canary-broker');
  });

  it('any number of wrong secrets for a device cost one or two lookups, and its right one is always accepted', async () => {
    await ask('user', { username: device.id, password: device.secret });
    const lookUps = vi.spyOn(cabinet.database.queries, 'selectFrom');
    const answers = await Promise.all(
      Array.from({ length: 300 }, async (_, count) => {
        const body = new URLSearchParams({ username: device.id, password: count % 10 === 0 ? device.secret : `wrong ${count}` });
        return (await fetch(`${cabinet.url}/broker/rabbitmq/${brokerTokens[0]}/user`, { method: 'POST', body })).text();
      }),
    );
    expect(answers.filter((answer) => answer === 'allow')).toHaveLength(30);
    expect(answers.filter((answer) => answer === 'deny')).toHaveLength(270);
    // One a second, and the machine may be slow.
    expect(lookUps.mock.calls.length).toBeLessThan(15);
    lookUps.mockRestore();
  });

  it('reads forms here and nowhere else', async () => {
    const response = await fetch(`${cabinet.url}/pairing`, { method: 'POST', body: new URLSearchParams({ code: 'x' }) });
    expect(response.status).toBe(415);
  });

  it('is answered while anonymous callers have taken all of their slots', async () => {
    const server = createTestServer({
      ...{ basePath: '', findCaller: async () => undefined, findDevice: async () => undefined, isAdminToken: () => false },
      limits: { requestsInFlight: 1 },
    });
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let isHeld = false;
    server.routes((app) => {
      app.get('/slow', { config: { access: open }, schema: { hide: true } }, async () => {
        isHeld = true;
        await held;
      });
      registerBrokerRoutes(app, { tokens: ['a-token'], devices: { checkSecret: async () => undefined, mayStay: async () => false } });
    });
    const { url } = await server.listen();
    const stranger = fetch(`${url}/slow`);
    await expect.poll(() => isHeld).toBe(true);
    expect((await fetch(`${url}/slow`)).status).toBe(429);
    expect(await (await fetch(`${url}/broker/rabbitmq/a-token/vhost`)).text()).toBe('deny');
    release();
    expect((await stranger).status).toBe(200);
    await server.stop(0);
  });
});
