// Exports over real sockets: an unread one takes no slot of other users, and ends when its user is removed.
import { connect, type Socket } from 'node:net';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { seedDevice } from '../../support/fixtures.ts';
import { until } from '../../support/until.ts';
import { openBrowser } from '../browser.ts';
import { openCabinet, type RunningCabinet } from '../running-cabinet.ts';

/** More than the buffers of both sockets hold. */
const rows = 120_000;

async function seedRows({ database }: RunningCabinet, merchantId: string, deviceId: string): Promise<void> {
  await sql`
    insert into commands (instance_id, name, mode, is_payment, closes_day, args, state, issued_at, answer_by, recalls, id, merchant_id, device_id, settled_at, settled_by)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
    select 'x', 'CloseDay', 'POS', 0, 1, '{}', 'refused', ${Date.now()} - i * 1000, 1, 0, printf('%08x-0000-4000-8000-000000000000', i),
      ${merchantId}, ${deviceId}, ${Date.now()}, 'answer' from n`.execute(database.queries);
}

async function settle(cabinet: RunningCabinet, wanted: { email: string; merchantId: string }) {
  const invited = await cabinet.post('/users', { name: 'Somebody', role: 'viewer', ...wanted });
  const browser = openBrowser(cabinet.url);
  const token = String(invited['link']).split('#')[1];
  const used = await browser.post('/links/use', { token, password: 'bread and butter' });
  return Object.assign(browser, { id: (used['user'] as { id: string }).id });
}

/** Starts an export and does not read it. */
async function beginUnread(url: string, cookie: string | undefined): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(`GET /tillgate/cabinet/api/commands.csv HTTP/1.1\r\nHost: localhost\r\nCookie: tillgate_session=${cookie}\r\n\r\n`);
  await new Promise((resolve) => socket.once('data', resolve));
  return socket.pause();
}

it('an unread export leaves slots for others, and reads no more rows for a removed user', async () => {
  const cabinet = await openCabinet('sqlite');
  const { queries } = cabinet.database;
  const [shop, bakery] = [await cabinet.post('/merchants', { name: 'Shop' }), await cabinet.post('/merchants', { name: 'Bakery' })];
  const device = await seedDevice(queries, String(shop.id), { name: 'NAME BEFORE' });
  await seedRows(cabinet, String(shop.id), device.id);
  const [eve, ana, bea] = [
    await settle(cabinet, { email: 'eve@shop.md', merchantId: String(shop.id) }),
    await settle(cabinet, { email: 'ana@shop.md', merchantId: String(shop.id) }),
    await settle(cabinet, { email: 'bea@bakery.md', merchantId: String(bakery.id) }),
  ];
  const socket = await beginUnread(cabinet.url, eve.cookie);
  const statusFor = async ({ cookie }: { cookie: string | undefined }) => {
    const answer = await fetch(`${cabinet.url}/cabinet/api/invoices.csv`, { headers: { cookie: `tillgate_session=${cookie}` } });
    await answer.text();
    return answer.status;
  };
  expect([await statusFor(eve), await statusFor(ana), await statusFor(bea)]).toEqual([429, 200, 200]);

  const olga = { authorization: 'Bearer canary-admin-token-of-the-cabinet' };
  await fetch(`${cabinet.url}/cabinet/api/users/${eve.id}`, { method: 'DELETE', headers: olga });
  await queries.updateTable('devices').set({ name: 'NAME AFTER' }).where('id', '=', device.id).execute();
  let [text, isClosed] = ['', false];
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  // Rows in transfer are lost as well.
  socket.once('error', () => {});
  socket.once('close', () => {
    isClosed = true;
  });
  socket.resume();
  await until(() => isClosed || text.includes('NAME AFTER'), 30_000);
  expect(text).not.toContain('NAME AFTER');
  socket.destroy();
  await cabinet.close();
}, 60_000);
