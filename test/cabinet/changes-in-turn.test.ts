// Changes of a merchant's users wait for each other before they take a connection to the database.
import { describe, expect, it } from 'vitest';
import { takeChangesInTurn } from '../../src/cabinet/changes-in-turn.ts';
import { adminViewer, setViewer } from '../../src/http/viewer.ts';
import { createTestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';
import { openCabinet } from './running-cabinet.ts';

describe('changes', () => {
  it('of one merchant run one at a time, and twenty wait; those of others, of operators and reads do not', async () => {
    const server = createTestServer({
      basePath: '',
      findCaller: async () => undefined,
      findDevice: async () => undefined,
      isAdminToken: () => false,
    });
    const running: { who: string; end: () => void }[] = [];
    const handler = (request: { headers: Record<string, unknown> }) =>
      new Promise((resolve) => running.push({ who: String(request.headers['x-who']), end: () => resolve({ errorCode: 0 }) }));
    server.routes((app) => {
      takeChangesInTurn(app);
      app.addHook('preHandler', async (request) => {
        const who = String(request.headers['x-who']);
        setViewer(request, who === 'operator' ? adminViewer : { ...adminViewer, role: 'merchant', merchantId: who });
      });
      app.post('/change', { config: { access: { kind: 'open' } } }, handler);
      app.delete('/another', { config: { access: { kind: 'open' } } }, handler);
      app.get('/read', { config: { access: { kind: 'open' } } }, handler);
    });
    const { url } = await server.listen();
    const codes: Record<string, number> = {};
    const call = (who: string, method: string, path: string) =>
      fetch(`${url}${path}`, { method, headers: { 'x-who': who } }).then(async (response) => {
        const { errorCode } = (await response.json()) as { errorCode: number };
        codes[`${who} ${errorCode}`] = (codes[`${who} ${errorCode}`] ?? 0) + 1;
      });
    const calls = Array.from({ length: 30 }, (_, at) => (at % 2 === 0 ? call('m1', 'POST', '/change') : call('m1', 'DELETE', '/another')));
    calls.push(
      call('m2', 'POST', '/change'),
      call('operator', 'POST', '/change'),
      call('operator', 'POST', '/change'),
      call('m1', 'GET', '/read'),
    );
    await until(() => running.length >= 5 && codes['m1 41'] === 9);
    expect(running.map(({ who }) => who).sort()).toEqual(['m1', 'm1', 'm2', 'operator', 'operator']);
    expect(codes).toEqual({ 'm1 41': 9 });
    for (let ended = 0; ended < 25; ended += 1) {
      await until(() => running.length > ended);
      running[ended]?.end();
    }
    await Promise.all(calls);
    expect(codes).toEqual({ 'm1 41': 9, 'm1 0': 22, 'm2 0': 1, 'operator 0': 2 });
    await server.stop(0);
  });

  it('of keys, devices, users and secrets are those that wait, and no step that waits for a device or an ERP', async () => {
    const cabinet = await openCabinet('sqlite');
    const waiting = cabinet.routes
      .filter(({ handler }) => handler.name === 'inTurn')
      .map(({ method, url }) => `${method} ${url.split('/api')[1]}`);
    await cabinet.close();
    expect(waiting).toMatchInlineSnapshot(`
      [
        "POST /merchants",
        "POST /merchants/:id/share",
        "POST /keys",
        "POST /keys/:id/revoke",
        "POST /keys/:id/rotate",
        "POST /devices",
        "POST /devices/:id/rename",
        "POST /devices/:id/disable",
        "POST /devices/:id/hardware-lost",
        "POST /devices/:id/enable",
        "POST /devices/:id/secret",
        "POST /devices/:id/pairing",
        "POST /users",
        "POST /users/first-operator",
        "PATCH /users/:id",
        "DELETE /users/:id",
        "POST /users/:id/link",
        "POST /me/password",
        "POST /me/totp",
        "POST /me/totp/confirm",
        "DELETE /me/totp",
        "POST /merchants/:id/secret",
      ]
    `);
  });
});
