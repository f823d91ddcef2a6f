// Access to the playground: users of the demo merchant read, owners change, other merchants get 20; outside the sandbox it is 404.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertSession } from '../../src/access/people/sessions.ts';
import { insertRow } from '../../src/access/people/users.ts';
import { playgroundExample } from '../../src/cabinet/playground/example.ts';
import type { PlaygroundPort } from '../../src/cabinet/playground/port.ts';
import type { Role } from '../../src/http/viewer.ts';
import { systemRandom } from '../../src/kernel/system.ts';
import { seedDevice, seedMerchant } from '../support/fixtures.ts';
import { openCabinet, type RunningCabinet } from './running-cabinet.ts';

let cabinet: RunningCabinet;
let isThere = true;
let demo = '';
const done: string[] = [];
const sessions: Record<string, string> = {};
const devices: Record<string, string> = {};

beforeAll(async () => {
  const note = (name: string) => () => void done.push(name);
  const port = new Proxy({} as PlaygroundPort, {
    get: (_target, name) => {
      if (name === 'merchantId') return demo;
      return name === 'read' ? async () => playgroundExample : note(String(name));
    },
  });
  cabinet = await openCabinet('sqlite', { isSandbox: true, playground: () => (isThere ? port : undefined) });
  const { queries } = cabinet.database;
  demo = (await seedMerchant(queries, { name: 'Demo' })).id;
  const foreign = (await seedMerchant(queries, { name: 'Other' })).id;
  devices['own'] = (await seedDevice(queries, demo)).id;
  const people: [string, Role, string | null][] = [
    ['operator', 'operator', null],
    ['merchant', 'merchant', demo],
    ['viewer', 'viewer', demo],
    ['stranger', 'merchant', foreign],
  ];
  for (const [name, role, merchantId] of people) {
    const userId = await insertRow(queries, systemRandom, { email: `${name}@shop.md`, name, standing: { role, merchantId } });
    sessions[name] = (await insertSession(queries, systemRandom, userId, { address: '127.0.0.1', agent: 'test' })).token;
  }
});
afterAll(() => cabinet?.close());

async function call(who: string | undefined, method: string, path: string, body?: object): Promise<{ status: number; errorCode: number }> {
  const response = await fetch(`${cabinet.url}/cabinet/api/playground${path}`, {
    method,
    headers: {
      'x-tillgate-request': '1',
      ...(who === undefined ? {} : { cookie: `tillgate_session=${sessions[who]}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, ...((await response.json()) as { errorCode: number }) };
}

describe('the playground', () => {
  it('is readable by its merchant, writable by owners, and hidden from another merchant', async () => {
    for (const who of ['operator', 'merchant', 'viewer']) {
      expect(await call(who, 'GET', ''), who).toMatchObject({ status: 200, errorCode: 0, stories: expect.any(Array) });
    }
    expect(await call(undefined, 'GET', '')).toMatchObject({ status: 401 });
    expect(await call('stranger', 'GET', '')).toMatchObject({ errorCode: 20 });
    expect(await call('stranger', 'POST', '/books/empty')).toMatchObject({ errorCode: 20 });
    expect(await call('stranger', 'POST', `/devices/${devices['own']}/power`, { isOn: false })).toMatchObject({ errorCode: 20 });
    expect(await call('viewer', 'POST', '/books/empty')).toMatchObject({ status: 403 });
    expect(done).toEqual([]);
    for (const who of ['operator', 'merchant']) expect(await call(who, 'POST', '/books/empty')).toMatchObject({ errorCode: 0 });
    expect(done).toEqual(['emptyBooks', 'emptyBooks']);
  });

  it.each([
    ['/devices/ID/act', { action: 'dance' }],
    ['/devices/ID/faults', { powerCut: 'never' }],
    ['/devices/ID/channels', { via: 'pigeon', isCut: true }],
    ['/till/sale', { deviceId: 'x' }],
    ['/till/sale', { deviceId: '3b241101-e2bb-4255-8caf-4136c566a962', items: [] }],
    ['/till/sale', { deviceId: '3b241101-e2bb-4255-8caf-4136c566a962', amount: 1.005 }],
    ['/till/invoice', { expiresInS: 0 }],
    ['/stories/unheardOf', {}],
  ])('refuses %s with %o', async (path, body) => {
    const before = done.length;
    expect(await call('operator', 'POST', path.replace('ID', devices['own'] ?? ''), body)).toMatchObject({ status: 400, errorCode: 40 });
    expect(done).toHaveLength(before);
  });

  it('is 404 outside the sandbox, whatever the request', async () => {
    isThere = false;
    expect(await call('operator', 'GET', '')).toMatchObject({ status: 404 });
    expect(await call('operator', 'POST', '/till/sale', { deviceId: 'x' })).toMatchObject({ status: 404 });
    expect(await call('operator', 'POST', '/stories/lostAnswer')).toMatchObject({ status: 404 });
    isThere = true;
  });
});
